# SPDX-License-Identifier: Apache-2.0
"""Debug files from debuginfod servers: elfutils' own, and ones that misbehave."""
import contextlib
import http.server
import os
import pathlib
import shutil
import socket
import subprocess
import threading
import time
import urllib.request

import pytest

from tool import build_id, compile_c, lines, symbol, unhex
from waiting import wait_for


@pytest.fixture
def bare(prog, tmp_path):
    """A stripped copy, and the debug file in a folder of its own."""
    (tmp_path / "dbg").mkdir()
    subprocess.run(["objcopy", "--only-keep-debug", prog, tmp_path / "dbg/p.debug"], check=True)
    subprocess.run(["strip", "-o", tmp_path / "bare", prog], check=True)
    return tmp_path / "bare"


def hex_id(path):
    return build_id(path).removeprefix("gnu:")


def ask(bare, prog, tmp_path, *options, env=None):
    """Frames at the start of a function with an inlined call, the run, and its seconds."""
    before = time.monotonic()
    clean = {k: "" for k in os.environ if k.startswith("DEBUGINFOD_")}
    run = unhex("lookup", bare, hex(symbol(prog, "outer")[0]), "--json", *options,
                env={**clean, "XDG_CACHE_HOME": str(tmp_path / "cache"), **(env or {})})
    return lines(run)[0]["frames"], run, time.monotonic() - before


def found(frames):
    """They are those of the debug file."""
    return frames[0]["function"] == "outer" and frames[0]["line"] > 0


def kept(bare, tmp_path):
    return tmp_path / "cache/debuginfod_client" / hex_id(bare) / "debuginfo"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def scanned(server, url):
    """Its URL when it has looked through its files; "ended" when it will not."""
    if server.poll() is not None:
        return "ended"
    with contextlib.suppress(OSError):
        text = urllib.request.urlopen(url + "/metrics", timeout=5).read().decode()
        if 'thread_work_total{role="traverse"}' in text and 'scanned_bytes_total' in text and \
                'thread_busy{role="scan"} 0' in text:
            return url
    return None


@contextlib.contextmanager
def debuginfod(folder, tmp_path):
    """elfutils' server over the files of a folder."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("DEBUGINFOD_")}
    with open(tmp_path / "server.log", "wb") as log:
        url = None
        while url is None:  # the port may be taken by somebody else in between
            port = free_port()
            server = subprocess.Popen(
                ["debuginfod", "-p", str(port), "-d", ":memory:", "-F", "-c", "1", folder],
                stdout=log, stderr=log, env=env)
            try:
                url = wait_for(lambda: scanned(server, f"http://127.0.0.1:{port}"), 300)
                if url == "ended":
                    url = None
                else:
                    yield url
            finally:
                server.terminate()
                server.wait(60)


class Answers(http.server.BaseHTTPRequestHandler):
    """One answer to everything; counts the questions."""

    def do_GET(self):
        self.server.requested.append(self.path)
        self.server.headers_seen.append(dict(self.headers))
        status, headers, body = self.server.answer
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@contextlib.contextmanager
def server_of(status=200, headers=None, body=b""):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        server.answer, server.requested, server.headers_seen = (status, headers or {}, body), [], []
        server.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


def test_no_server_is_queried_unless_configured(prog, bare, tmp_path):
    with server_of(body=(tmp_path / "dbg/p.debug").read_bytes()) as server:
        frames, _, _ = ask(bare, prog, tmp_path)
        assert not server.requested
        assert [f["function"] for f in frames] == ["<no name>"]
        assert not (tmp_path / "cache").exists()
        frames, _, _ = ask(bare, prog, tmp_path, env={"DEBUGINFOD_URLS": server.url})
        assert server.requested == [f"/buildid/{hex_id(bare)}/debuginfo"]
        assert found(frames)


def test_without_a_home_the_cache_is_one_that_nobody_else_can_write_to(prog, bare, tmp_path):
    folder = pathlib.Path(f"/tmp/unhex-debuginfod-{os.geteuid()}")
    if folder.exists():
        pytest.skip(f"{folder} exists")
    none = {"XDG_CACHE_HOME": "", "HOME": "", "UNHEX_CACHE": "off"}
    with server_of(body=(tmp_path / "dbg/p.debug").read_bytes()) as server:
        try:
            frames, run, _ = ask(bare, prog, tmp_path, "--debuginfod", server.url, env=none)
            assert found(frames), run.stderr
            assert folder.stat().st_mode & 0o777 == 0o700
            folder.chmod(0o777)  # somebody may have made it so, and put a file there
            frames, run, _ = ask(bare, prog, tmp_path, "--debuginfod", server.url, env=none)
            assert not found(frames) and "others can write to it; set HOME" in run.stderr
            shutil.rmtree(folder)
            folder.symlink_to(tmp_path)
            frames, run, _ = ask(bare, prog, tmp_path, "--debuginfod", server.url, env=none)
            assert not found(frames) and str(folder) in run.stderr
        finally:
            if folder.is_symlink():
                folder.unlink()
            shutil.rmtree(folder, ignore_errors=True)


def test_what_elfutils_server_has_is_fetched_once_and_shared_with_its_client(prog, bare, tmp_path):
    cache = tmp_path / "cache/debuginfod_client"
    with debuginfod(tmp_path / "dbg", tmp_path) as url:
        frames, run, _ = ask(bare, prog, tmp_path, "--debuginfod", url)
        assert run.stderr == ""
        assert frames == lines(unhex("lookup", prog, hex(symbol(prog, "outer")[0]), "--json"))[0][
            "frames"]
        reported = lines(unhex("id", "--json", bare, "--debuginfod", url,
                           env={"XDG_CACHE_HOME": str(tmp_path / "cache")}))[0]
        assert reported["debug_file"]["found"] == "debuginfod"
        assert reported["debug_file"]["quality"] == "inlines"
        assert reported["debug_file"]["file"] == str(kept(bare, tmp_path))
    assert kept(bare, tmp_path).read_bytes() == (tmp_path / "dbg/p.debug").read_bytes()
    assert sorted(p.name for p in kept(bare, tmp_path).parent.iterdir()) == ["debuginfo"]
    again, run, _ = ask(bare, prog, tmp_path, "--debuginfod", url)  # it is stopped by now
    assert again == frames and run.stderr == ""
    out = subprocess.run(["debuginfod-find", "debuginfo", hex_id(bare)], check=True, text=True,
                         capture_output=True, env={**os.environ, "DEBUGINFOD_URLS": url,
                                                   "DEBUGINFOD_CACHE_PATH": str(cache)})
    assert out.stdout.strip() == str(kept(bare, tmp_path))


def test_what_elfutils_client_fetched_is_used(prog, bare, tmp_path):
    with debuginfod(tmp_path / "dbg", tmp_path) as url:
        subprocess.run(["debuginfod-find", "debuginfo", hex_id(bare)], check=True,
                       capture_output=True,
                       env={**os.environ, "DEBUGINFOD_URLS": url,
                            "DEBUGINFOD_CACHE_PATH": str(tmp_path / "other")})
    frames, run, _ = ask(bare, prog, tmp_path, "--debuginfod", url,
                         env={"DEBUGINFOD_CACHE_PATH": str(tmp_path / "other")})
    assert found(frames) and run.stderr == ""


def test_a_no_is_remembered_for_a_while(prog, bare, tmp_path):
    with server_of(404) as server:
        for _ in range(3):
            frames, run, _ = ask(bare, prog, tmp_path, "--debuginfod", server.url)
            assert [f["function"] for f in frames] == ["<no name>"]
            assert run.stderr.splitlines() == [f"unhex: {bare}: is stripped; push its debug file "
                                               "from where it was built (unhex push FILE)"]
        assert len(server.requested) == 1
        assert kept(bare, tmp_path).stat().st_size == 0
        (kept(bare, tmp_path).parent.parent / "cache_miss_s").write_text("5\n")
        os.utime(kept(bare, tmp_path), (1, time.time() - 6))
        ask(bare, prog, tmp_path, "--debuginfod", server.url)
        assert len(server.requested) == 2


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
def test_another_answer_is_reported_and_not_remembered(prog, bare, tmp_path, status):
    with server_of(status) as server:
        for n in (1, 2):
            _, run, _ = ask(bare, prog, tmp_path, "--debuginfod", server.url)
            assert f"HTTP {status}" in run.stderr
            assert len(server.requested) == n
    assert not kept(bare, tmp_path).exists()


def test_a_server_that_says_nothing_costs_less_than_five_seconds(prog, bare, tmp_path):
    with socket.socket() as dead, server_of(body=(tmp_path / "dbg/p.debug").read_bytes()) as server:
        dead.bind(("127.0.0.1", 0))
        dead.listen(5)  # connections are made, and get no answer
        urls = f"http://127.0.0.1:{dead.getsockname()[1]} {server.url}"
        frames, run, seconds = ask(bare, prog, tmp_path, "--debuginfod", urls)
        assert found(frames) and run.stderr == ""
        assert 1 < seconds < 5 + 15  # on a machine that has much else to do


def test_a_server_that_breaks_off_leaves_nothing(prog, bare, tmp_path):
    with socket.socket() as broken:
        broken.bind(("127.0.0.1", 0))
        broken.listen(5)

        def serve():
            with broken.accept()[0] as c:
                c.recv(4096)
                c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n\x7fELF")
        thread = threading.Thread(target=serve)
        thread.start()
        frames, run, _ = ask(bare, prog, tmp_path, "--debuginfod",
                             f"http://127.0.0.1:{broken.getsockname()[1]}")
        thread.join()
    assert [f["function"] for f in frames] == ["<no name>"]
    assert "cannot reach" in run.stderr
    assert list(kept(bare, tmp_path).parent.iterdir()) == []


@pytest.mark.parametrize("body,why", [(b"<html>", "is not an ELF file"), (None, "a different build ID")])
def test_a_file_other_than_the_requested_one_is_thrown_away(prog, bare, tmp_path, body, why):
    other = compile_c(tmp_path, "other", "int main(void) { return 3; }\n")
    with server_of(body=body or other.read_bytes()) as server:
        _, run, _ = ask(bare, prog, tmp_path, "--debuginfod", server.url)
    assert why in run.stderr
    assert list(kept(bare, tmp_path).parent.iterdir()) == []


def test_a_redirect_is_followed_and_a_key_is_sent(prog, bare, tmp_path):
    (tmp_path / "headers").write_text("Authorization: Bearer secret\n")
    with server_of(body=(tmp_path / "dbg/p.debug").read_bytes()) as store, \
            server_of(302, {"Location": f"{store.url}/blob?signature={'x' * 900}"}) as server:
        frames, run, _ = ask(bare, prog, tmp_path, "--debuginfod", server.url,
                             env={"DEBUGINFOD_HEADERS_FILE": str(tmp_path / "headers")})
        assert found(frames) and run.stderr == ""
        assert store.requested[0].startswith("/blob?signature=")
        assert server.headers_seen[0]["Authorization"] == "Bearer secret"
        assert "Authorization" not in store.headers_seen[0]


def test_a_file_that_is_too_large_is_not_fetched(prog, bare, tmp_path):
    with server_of(body=(tmp_path / "dbg/p.debug").read_bytes()) as server:
        _, run, _ = ask(bare, prog, tmp_path, "--debuginfod", server.url,
                        env={"DEBUGINFOD_MAXSIZE": "1000"})
    assert "exceeds 1000" in run.stderr
    assert list(kept(bare, tmp_path).parent.iterdir()) == []


def test_a_server_that_is_no_url_is_a_mistake(bare):
    run = unhex("lookup", bare, "0x1", "--debuginfod", "example")
    assert run.returncode != 0
    assert "is not a URL" in run.stderr
