# SPDX-License-Identifier: Apache-2.0
"""unhex crawl work: packages of every form become symbols, and what is wrong with one is said"""
import hashlib
import http.server
import json
import os
import pathlib
import select
import shutil
import sqlite3
import subprocess
import threading
import urllib.request

import pytest

import packages
from unhex_server import Server
from http_api import Api
from passing_proxy import Proxy
from tool import UNHEX, build_id, compile_c, lines, stripped
from waiting import pause_for, wait_for

NAMES = "usr/lib/debug/prog.debug"


@pytest.fixture(scope="module")
def debug(prog):
    return stripped(prog)[1]


def work(server, *args, **more):
    """Exit status, and the objects of --json."""
    result = server.unhex("crawl", "work", "--json", *args, **more)
    return result.returncode, lines(result)


def module(server, prog):
    status, doc, _ = Api(server)("GET", f"/v1/modules/{build_id(prog)}")
    return doc if status == 200 else None


def make(kind, path, files, links=()):
    if kind.startswith("deb"):
        return packages.deb(path, files, kind[4:], links)
    if kind.startswith("rpm6"):
        path.write_bytes(packages.renumbered(packages.rpm(path, files, links=links)))
        return path
    if kind.startswith("rpm"):
        return packages.rpm(path, files, kind[4:], links)
    return {"apk": packages.apk, "pacman": packages.pacman, "layer": packages.layer}[kind](path, files)


KINDS = ["deb-xz", "deb-gz", "deb-zst", "deb-", "rpm-w9.gzdio", "rpm-w19.zstdio", "rpm-w6.xzdio", "rpm-w9.bzdio",
         "rpm-w.ufdio", "rpm6", "apk", "pacman", "layer"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_package_of_each_form_gives_its_names(server, prog, debug, tmp_path, kind):
    files = {NAMES: packages.read(debug), "usr/share/doc/text": b"text\n" * 1000, "usr/share/empty": b""}
    links = [("usr/lib/debug/other.debug", NAMES)] if kind[:3] in ("deb", "rpm") else []
    path = make(kind, tmp_path / "p", files, links)
    status, rows = work(server, path)
    assert status == 0
    assert [(r["outcome"], r["members"], r["uploaded"], r["bytes_fetched"]) for r in rows] == \
        [("done", 1, 1, path.stat().st_size)]
    assert module(server, prog)["candidates"][0]["quality"] == "inlines"
    assert work(server, path)[1][0]["already-there"] == 1


def test_kernel_modules_that_are_compressed_are_read(server, prog, tmp_path):
    module_file = packages.read(prog)
    path = packages.deb(tmp_path / "p.deb", {
        "usr/lib/modules/6/a.ko.xz": packages.compress(module_file, "xz"),
        "usr/share/a.xz": packages.compress(b"text", "xz")})
    status, rows = work(server, path)
    assert (status, rows[0]["members"], rows[0]["uploaded"]) == (0, 1, 1)
    assert module(server, prog)


@pytest.mark.skipif(not shutil.which("dwz"), reason="needs dwz")
@pytest.mark.parametrize("first", [True, False])
def test_a_file_of_dwz_may_come_before_or_behind_its_users(server, tmp_path, first):
    source = "#include <stdio.h>\nstruct big { int a[3]; struct big *next; };\n" \
             "struct big *NAME(struct big *b) { return b->next; }\nint main(void) { return !NAME(0); }\n"
    progs = [compile_c(tmp_path, name, source.replace("NAME", "walk_" + name), ("-g", "-O0")) for name in ("one", "two")]
    debugs = [stripped(p)[1] for p in progs]
    subprocess.run(["dwz", "-m", tmp_path / "common.debug", "-M", "/usr/lib/debug/.dwz/p.debug", *debugs], check=True)
    users = {f"usr/lib/debug/{p.name}.debug": packages.read(d) for p, d in zip(progs, debugs)}
    common = {"usr/lib/debug/.dwz/p.debug": packages.read(tmp_path / "common.debug")}
    path = packages.deb(tmp_path / "p.deb", {**common, **users} if first else {**users, **common})
    status, rows = work(server, path)
    assert (status, rows[0]["members"], rows[0]["uploaded"], rows[0]["bad"]) == (0, 3, 2, 0)
    for p in progs:
        assert module(server, p)["candidates"][0]["quality"] in ("lines", "inlines")


def test_what_is_passed_over_is_counted_with_its_reason(server, prog, tmp_path):
    """GRUB's debug packages have hundreds of object files; '286 members, 0 uploaded' would look like a failure."""
    subprocess.run(["gcc", "-c", "-g", "-o", tmp_path / "prog.o", f"{prog}.c"], check=True)
    nameless = tmp_path / "nameless.so"
    subprocess.run(["gcc", "-shared", "-nostdlib", "-x", "c", "/dev/null", "-s", "-o", nameless], check=True)
    unlinked = packages.read(tmp_path / "prog.o")
    path = packages.deb(tmp_path / "p.deb", {
        "usr/a.o": unlinked, "usr/b.mod": unlinked, "usr/core": b"\x7fELF" + b"x" * 100, "usr/n.so": packages.read(nameless)})
    status, (row,) = work(server, path)
    assert (status, row["outcome"], row["members"], row["uploaded"]) == (0, "done", 4, 0)
    assert row["passed_over"]["unlinked"] == 2
    assert sum(row["passed_over"].values()) + row["bad"] == 4, row
    result = server.unhex("crawl", "work", path)
    assert result.stdout.count("passed over: 2 object files that no program maps") == 2, result.stdout


def test_a_member_that_is_damaged_costs_only_itself(server, prog, debug, tmp_path):
    whole = packages.read(debug)
    path = packages.deb(tmp_path / "p.deb", {"usr/bad.debug": whole[:len(whole) // 2], NAMES: whole})
    status, rows = work(server, path)
    assert status == 0 and rows[0]["uploaded"] == 1 and rows[0]["bad"] <= 1
    assert module(server, prog)


# --- packages that the server leases ----------------------------------------------------------------------------------

class Mirror:
    """An HTTP server over a folder; cuts: how many answers end in their middle; tags: it says which version a file
    is, and sends the rest of that version."""

    def __init__(self, folder, cuts=0, pause=0.0):
        mirror = self
        self.agents, self.cuts, self.requests, self.tags, self.sent = set(), cuts, 0, False, 0

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                mirror.requests += 1
                mirror.agents.add(self.headers["User-Agent"])
                path = pathlib.Path(folder) / self.path[1:]
                if not path.exists():
                    return self.send_error(404)
                data = path.read_bytes()
                tag = '"' + hashlib.sha256(data).hexdigest() + '"'
                first = int(self.headers.get("Range", "bytes=0-")[len("bytes="):-1])
                first = first if mirror.tags and self.headers.get("If-Range") == tag else 0
                self.send_response(206 if first else 200)
                self.send_header("Content-Length", str(len(data) - first))
                if mirror.tags:
                    self.send_header("ETag", tag)
                if first:
                    self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
                self.end_headers()
                data = data[first:]
                if mirror.cuts > 0:
                    mirror.cuts -= 1
                    mirror.sent += len(data) // 2
                    self.wfile.write(data[:len(data) // 2])
                    self.close_connection = True
                    return None
                mirror.sent += len(data)
                for at in range(0, len(data), 1000):
                    self.wfile.write(data[at:at + 1000])
                    pause_for(pause, "a slow mirror")
                return None

            def log_message(self, *args):
                pass
        self.httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.httpd.server_port}"
        threading.Thread(target=self.httpd.serve_forever, daemon=True).start()

    def close(self):
        self.httpd.shutdown()
        self.httpd.server_close()


@pytest.fixture
def mirror(tmp_path):
    (tmp_path / "mirror").mkdir()
    m = Mirror(tmp_path / "mirror")
    yield m
    m.close()


def announce(server, mirror, path, **more):
    data = packages.read(path)
    row = {"key": hashlib.sha256(data).hexdigest(), "name": "libp-dbg", "version": "1.0-1", "arch": "amd64",
           "source": "libp", "distribution": "debian", "suite": "bookworm", "component": "main",
           "url": f"{mirror.url}/{path.name}", "size": len(data), "installed": 5000, "kind": "deb", "role": "debug",
           "build_ids": [], **more}
    status, doc, _ = Api(server)("POST", "/v1/crawl/packages", {"repository": "debian bookworm main amd64",
                                                               "packages": [row]})
    assert status == 200 and doc["new"] == 1


def states(server):
    doc = Api(server)("GET", "/v1/crawl/status")[1]
    return {name: s["packages"] for name, s in doc["states"].items() if s["packages"]}, \
        [c["cause"] for c in doc["causes"]]


def work_once(server, mirror):
    return work_on(server, mirror, 1)[0]


def children_of(process):
    return subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True).stdout.split()


def work_on(server, mirror, n):
    """Works below a URL or folder until n packages have ended on the server; those that failed would be waited for until their next attempts."""
    process = subprocess.Popen([UNHEX, "crawl", "work", "--json", "--jobs", "1", "--from", mirror], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, **server.env})
    try:
        got = [process.stdout.readline() for _ in range(n)]
        wait_for(lambda: "leased" not in states(server)[0], 20)
        return got
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


def test_a_leased_package_is_done_and_its_modules_say_where_they_are_from(server, mirror, prog, debug, tmp_path):
    path = packages.deb(tmp_path / "mirror/p.deb", {NAMES: packages.read(debug)})
    announce(server, mirror, path)
    status, rows = work(server, "--from", mirror.url)
    assert status == 0 and [r["outcome"] for r in rows] == ["done"]
    assert states(server) == ({"done": 1}, [])
    candidate = module(server, prog)["candidates"][0]
    assert {key: candidate[key] for key in ("distribution", "suite", "package", "package_version", "package_sha256",
                                            "file")} == {
        "distribution": "debian", "suite": "bookworm", "package": "libp-dbg", "package_version": "1.0-1",
        "package_sha256": hashlib.sha256(packages.read(path)).hexdigest(), "file": "/" + NAMES}
    found = Api(server)("GET", "/v1/modules?package=libp-dbg")[1]
    assert len(found["modules"]) == 1
    with urllib.request.urlopen(f"{server.url}/modules/{build_id(prog)}", timeout=20) as page:
        assert "package%3Alibp-dbg" in page.read().decode()
    assert work(server, "--from", mirror.url) == (0, [])


@pytest.mark.parametrize("tags", [True, False])
def test_a_connection_that_breaks_is_taken_up_again(server, mirror, prog, debug, tmp_path, tags):
    """Where it broke off, if the mirror says that the file is still the same."""
    path = packages.deb(tmp_path / "mirror/p.deb", {NAMES: packages.read(debug)})
    announce(server, mirror, path)
    mirror.cuts, mirror.tags = 2, tags
    status, rows = work(server, "--from", mirror.url)
    assert status == 0 and [r["outcome"] for r in rows] == ["done"] and mirror.requests == 3
    size = path.stat().st_size
    assert mirror.sent == size if tags else mirror.sent > 1.9 * size
    assert module(server, prog)


@pytest.mark.parametrize("what,cause,words", [
    ("hash", "hash", "SHA-256"), ("short", "size", "bytes"), ("long", "size", "exceeds"), ("gone", "gone", "404"),
    ("damaged", "damaged", ""), ("bomb", "limit", "unpacked from")])
def test_what_is_wrong_with_a_package_is_its_cause_and_nothing_of_it_is_visible(server, mirror, prog, debug, tmp_path,
                                                                               what, cause, words):
    files = {NAMES: packages.read(debug)}
    if what == "bomb":
        files["usr/zeros"] = bytes(400 << 20)
    path = packages.deb(tmp_path / "mirror/p.deb", files, "zst")
    data = packages.read(path)
    more = {"hash": {"key": "0" * 64}, "short": {"size": len(data) + 1}, "long": {"size": len(data) - 1}}.get(what, {})
    if what == "damaged":  # as the repository has it
        path.write_bytes(data[:-len(data) // 3])
    announce(server, mirror, path, **more)
    if what == "gone":
        path.unlink()
    row = work_once(server, mirror.url)
    assert '"outcome":"failed"' in row and f'"cause":"{cause}"' in row and words in row, row
    assert states(server)[1] == [cause]
    assert not module(server, prog)


def test_kill_in_the_middle_leaves_nothing(server, prog, debug, tmp_path):
    (tmp_path / "mirror").mkdir()
    (tmp_path / "tmp").mkdir()
    slow = Mirror(tmp_path / "mirror", pause=0.05)
    try:
        files = {f"usr/lib/debug/{n}.debug": packages.read(debug) for n in range(3)} | {"usr/rest": os.urandom(1 << 20)}
        announce(server, slow, packages.deb(tmp_path / "mirror/p.deb", files, "gz"))
        process = subprocess.Popen([UNHEX, "crawl", "work", "--jobs", "1", "--from", slow.url], stdout=subprocess.DEVNULL,
                                   env={**os.environ, **server.env, "TMPDIR": str(tmp_path / "tmp")})
        wait_for(lambda: slow.requests > 0, 20)
        wait_for(lambda: len(children_of(process)) >= 2)  # the fork server, and the child that reads
        pause_for(1, "the child is in the middle of the package")
        children = children_of(process)
        assert len(children) >= 2
        process.kill()
        process.wait(20)
        wait_for(lambda: not any(pathlib.Path(f"/proc/{child}").exists() for child in children), 10)
        assert not list((tmp_path / "tmp").iterdir())
        assert not module(server, prog)
        assert states(server)[0] == {"leased": 1}
    finally:
        slow.close()


def test_a_worker_that_loses_its_lease_stops_its_download(server, debug, tmp_path):
    """The mirror then has room for the worker that gets the package."""
    (tmp_path / "mirror").mkdir()
    slow = Mirror(tmp_path / "mirror", pause=0.2)
    try:
        announce(server, slow, packages.deb(tmp_path / "mirror/p.deb", {NAMES: packages.read(debug), "usr/rest": os.urandom(1 << 20)}, "gz"))
        with subprocess.Popen([UNHEX, "crawl", "work", "--json", "--jobs", "1", "--from", slow.url], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, **server.env}) as process:
            wait_for(lambda: slow.requests > 0, 20)
            with sqlite3.connect(server.data / "index.sqlite", timeout=20) as db:
                assert db.execute("UPDATE packages SET lease = 'of another worker'").rowcount == 1
            try:
                wait_for(lambda: select.select([process.stdout], [], [], 0)[0], seconds=60)  # all of the package takes 200 s
                row = json.loads(process.stdout.readline())
            finally:
                process.terminate()
        assert (row["outcome"], row["cause"]) == ("later", "lost"), row
        assert states(server)[0] == {"leased": 1}  # of the other one
    finally:
        slow.close()


def test_mirrors_see_who_comes(server, mirror, debug, tmp_path):
    announce(server, mirror, packages.deb(tmp_path / "mirror/p.deb", {NAMES: packages.read(debug)}))
    assert work(server, "--from", mirror.url, "--contact", "crawl@example.com")[0] == 0
    assert all("unhex" in agent and "crawl@example.com" in agent for agent in mirror.agents) and mirror.agents


def test_the_next_package_is_read_while_the_symbols_of_one_are_sent(mirror, tmp_path):
    """Although the mirror has room for one package alone: one that was received takes no room."""
    begun, late = threading.Event(), []

    class Late(Proxy):
        def pass_on(self):
            if self.path.endswith("/1.deb"):
                begun.set()
            if self.path.endswith("/finish"):
                late.append(begun.wait(60))
            super().pass_on()
        do_GET = do_POST = do_PUT = pass_on

    progs = [compile_c(tmp_path, f"prog{n}", f"int f{n}(int a) {{ return a * {n + 2}; }}\nint main(void) {{ return f{n}(0); }}\n")
             for n in range(2)]
    server = Server(tmp_path / "server", options=("--set", "crawl-host-jobs=1")).start()
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Late)
    proxy.seen = []
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    try:
        for n, prog in enumerate(progs):
            announce(server, mirror, packages.deb(tmp_path / f"mirror/{n}.deb", {NAMES: packages.read(stripped(prog)[1])}))
        status, rows = work(server, "--jobs", "1", "--from", mirror.url, env={"http_proxy": f"http://127.0.0.1:{proxy.server_port}", "no_proxy": ""})
        assert status == 0 and [(r["outcome"], r["uploaded"]) for r in rows] == [("done", 1)] * 2
        assert late == [True, True] and all(module(server, prog) for prog in progs)
        assert states(server) == ({"done": 2}, [])
    finally:
        proxy.shutdown()
        proxy.server_close()
        assert server.stop() in (0, None)
