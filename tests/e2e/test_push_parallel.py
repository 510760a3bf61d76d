# SPDX-License-Identifier: Apache-2.0
"""unhex push with several jobs, with a bound on memory, through a proxy, and what a terminal shows of it"""
import http.server
import os
import pty
import re
import subprocess
import threading
import time

import pytest

from far_server import far_server
from passing_proxy import Proxy
from running_agent import throw_away
from tool import UNHEX, compile_c, lines, unhex
from unhex_server import Server


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A folder with 24 programs, three of which are no programs."""
    folder = tmp_path_factory.mktemp("parallel")
    for i in range(24):
        compile_c(folder, f"p{i:02}", f"int f{i}(int n) {{ return n * {i + 2}; }} int main(void) {{ return f{i}(1); }}",
                  ("-O1", "-g"))
    for i in (3, 11, 20):
        (folder / f"p{i:02}").write_bytes(b"\x7fELF damaged")
    return folder


def pushed(tmp_path, many, name, *args):
    server = Server(tmp_path / name).start()
    try:
        result = server.unhex("push", "--json", *args, many)
        return result.returncode, result.stdout
    finally:
        assert server.stop() == 0


def test_any_number_of_jobs_reports_the_same_in_the_same_order(tmp_path, many):
    one = pushed(tmp_path, many, "one", "--jobs", "1")
    assert one[0] == 1 and [line.count("uploaded") for line in one[1].splitlines()].count(1) == 21
    assert pushed(tmp_path, many, "three", "--jobs", "3") == one
    assert pushed(tmp_path, many, "sixteen", "--jobs", "16", "--memory", "64M") == one


def test_a_job_that_needs_more_memory_than_there_is_runs_alone(tmp_path, many):
    assert pushed(tmp_path, many, "little", "--jobs", "8", "--memory", "8M")[1] == \
        pushed(tmp_path, many, "all", "--jobs", "8")[1]


def test_an_error_of_the_connection_is_reported_for_each_file_that_it_came_before(server, many):
    """The server ends while uploads are under way."""
    class Ends(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path != "/v1/query":
                self.connection.close()
                self.close_connection = True
                return
            text = b'{"answers": [%s]}' % b",".join([b'{"status":"wanted"}'] * body.count(b'"ids"'))
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *args):
            pass

    ends = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ends)
    threading.Thread(target=ends.serve_forever, daemon=True).start()
    result = unhex("push", "--json", "--jobs", "4", "--no-retries", "--url", f"http://127.0.0.1:{ends.server_port}", many)
    ends.shutdown()
    ends.server_close()
    assert result.returncode == 3
    assert {r["status"] for r in lines(result)} == {"failed"} and len(lines(result)) == 24


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the programs are of x86-64")
def test_small_modules_do_not_wait_for_each_others_answers(tmp_path):
    """Three requests for each of 400 modules are 120 s, one after the other."""
    throw_away(tmp_path / "programs", 400)
    with far_server() as far:
        begin = time.monotonic()
        result = unhex("push", "--url", far.url, tmp_path / "programs")
        seconds = time.monotonic() - begin
    assert result.returncode == 0 and "401 uploaded" in result.stdout, result
    assert seconds < 60


def test_total_timeout_is_the_timeout_of_the_run(many):
    result = unhex("push", "--total-timeout", "1", "--url", "http://127.0.0.1:9", many)
    assert result.returncode == 3


# --- proxy --------------------------------------------------------------------------------------------

@pytest.fixture
def proxy():
    s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    s.seen = []
    threading.Thread(target=s.serve_forever, daemon=True).start()
    yield s
    s.shutdown()
    s.server_close()


@pytest.mark.parametrize("by", ["option", "environment"])
def test_a_proxy_is_used(server, proxy, many, by):
    address = f"http://127.0.0.1:{proxy.server_port}"
    args = ("--proxy", address) if by == "option" else ()
    env = {"http_proxy": address, "no_proxy": ""} if by == "environment" else {}
    result = server.unhex("push", "--json", "--jobs", "2", *args, many / "p00", env=env)
    assert result.returncode == 0 and lines(result)[0]["status"] == "uploaded"
    assert proxy.seen[0] == f"{server.url}/v1/query" and len(proxy.seen) >= 4


# --- terminal -----------------------------------------------------------------------------------------

def test_a_terminal_shows_a_bar_with_files_bytes_rate_and_the_time_left(server, many, tmp_path):
    class Slow(Proxy):
        def pass_on(self):
            if self.path.endswith("/finish"):
                threading.Event().wait(0.2)
            super().pass_on()
        do_GET = do_POST = do_PUT = pass_on

    s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    s.seen = []
    threading.Thread(target=s.serve_forever, daemon=True).start()
    leader, follower = pty.openpty()
    env = {**os.environ, **server.env, "TERM": "xterm"}
    process = subprocess.Popen([UNHEX, "push", "--jobs", "2", "--proxy", f"http://127.0.0.1:{s.server_port}", many],
                               stdout=subprocess.DEVNULL, stderr=follower, env=env)
    os.close(follower)
    text = b""
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:
            break
        if not piece:
            break
        text += piece
    process.wait()
    os.close(leader)
    s.shutdown()
    s.server_close()
    assert re.search(rb"\rpush: \[#+ +\] \d+ of 21 files, [\d.]+ \w+, [\d.]+ \w+/s, \d+ s left", text), text[-2000:]
    assert text.endswith(b"\r\x1b[K")
