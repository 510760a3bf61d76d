# SPDX-License-Identifier: Apache-2.0
"""Clients that hold what all requests share: bodies that never end, answers that are not read, on every route."""
import contextlib
import json
import re
import socket
import threading
import time
import urllib.parse

import pytest

from unhex_server import Server
from hostile_gsym import KINDS
from http_api import Api
from tool import ROOT
from waiting import pause_for, wait_for
from watched_server import PROBES, Watched

MANY = 120  # connections with bodies
UNREAD = 24  # connections with large answers
AT_ONCE = 4 << 20  # bytes that each of them sends before it stops


def connect(server, receive=None):
    """A plain connection; receive: the size of its receive buffer."""
    url = urllib.parse.urlsplit(server.url)
    s = socket.socket()
    s.settimeout(30)
    if receive:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    s.connect((url.hostname, url.port))
    return s


def routes():
    """(method, path) of every route of the contract, with parameters that name nothing."""
    path, found = None, []
    for line in (ROOT / "docs/api/openapi.yaml").read_text().splitlines():
        if m := re.match(r"^  (/\S*):$", line):
            path = re.sub(r"{[^}]*}", "x", m[1])
        elif (m := re.match(r"^    (get|post|put|delete):$", line)) and path:
            found.append((m[1].upper(), path))
    assert len(found) > 30
    return found


def begin_body(s, method, path, headers=()):
    """Announces 16 MB, sends some of it, as far as the server takes it, and then stays silent."""
    head = [f"{method} {path} HTTP/1.1", "Host: localhost", "Content-Length: 16000000",
            "Content-Type: application/x-www-form-urlencoded", *headers]
    with contextlib.suppress(OSError):
        s.sendall("\r\n".join(head).encode() + b"\r\n\r\ntoken=" + b"a" * AT_ONCE)


def all_others_go_on(server, watched, what):
    """Probes, small answers and small bodies of others."""
    api = Api(server)
    with watched.request(what):
        for path in ("/healthz", "/readyz", "/metrics", "/", "/v1/modules", "/v1/whoami", "/sign-in"):
            assert api("GET", path)[0] == 200, path
        status, doc, _ = api("POST", "/v1/query", {"ids": ["gnu:00"]})
        assert status == 200, doc


def test_bodies_that_never_end_on_sign_in(server, watched):
    with contextlib.ExitStack() as stack:
        for _ in range(MANY):
            begin_body(stack.enter_context(connect(server)), "POST", "/sign-in")
        all_others_go_on(server, watched, f"{MANY} bodies for /sign-in")


def test_bodies_that_never_end_on_every_route(server, watched):
    for key in ((), (f"Authorization: Bearer {server.token}",)):
        with contextlib.ExitStack() as stack:
            for method, path in routes() * 2:
                begin_body(stack.enter_context(connect(server)), method, path, key)
            all_others_go_on(server, watched, f"a body for each route, {'with' if key else 'without'} a key")


def held(server):
    """Bytes that bodies and answers hold."""
    api = Api(server)
    api.connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {server.token}"})
    text = api.connection.getresponse().read().decode()
    return int(re.search(r"^unhex_request_memory_bytes (\d+)$", text, re.M)[1])


def test_memory_of_silent_bodies_comes_back_within_seconds(server, watched):
    with contextlib.ExitStack() as stack:
        for _ in range(MANY):
            begin_body(stack.enter_context(connect(server)), "POST", "/v1/symbolize",
                       (f"Authorization: Bearer {server.token}",))
        assert 16 << 20 <= held(server) <= 64 << 20
        all_others_go_on(server, watched, f"{MANY} bodies for /v1/symbolize")
        begun = time.monotonic()
        wait_for(lambda: held(server) <= 16 << 20, 25)  # "idle", 30 seconds, has not passed
        print(f"    memory came back after {time.monotonic() - begun:.1f} s")
        status, doc, _ = Api(server)("POST", "/v1/symbolize", {"modules": [], "pad": "x" * (1 << 20)})
        assert status in (200, 400), doc


def drip(sockets, byte):
    """Sends one byte on each of them; returns those that are still open."""
    left = []
    for s in sockets:
        with contextlib.suppress(OSError):
            s.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while s.recv(65536):
                    pass
                continue
            s.sendall(byte)
            left.append(s)
    return left


@pytest.fixture
def hasty(tmp_path):
    """A server that closes idle connections after four seconds."""
    (tmp_path / "conf").write_text("memory = 64M\nidle = 4s\n")
    s = Server(tmp_path / "server", options=("--config", str(tmp_path / "conf"), *PROBES)).start()
    yield s
    assert s.stop() in (0, None)


def test_a_fast_beginning_does_not_buy_time(hasty):
    """A body of which 4 MiB came at once, and then a byte now and then: the average is high for hours."""
    server, watched = hasty, Watched(hasty)
    with contextlib.ExitStack() as stack:
        slow = []
        for method, path in (("POST", "/sign-in"), ("POST", "/v1/symbolize"), ("GET", "/healthz"),
                             ("PUT", "/v1/uploads/x")):
            s = stack.enter_context(connect(server))
            begin_body(s, method, path, (f"Authorization: Bearer {server.token}",))
            slow.append(s)
        begun = time.monotonic()
        while slow:
            slow = drip(slow, b"a")
            assert time.monotonic() - begun < 40, f"{len(slow)} are still open"
            pause_for(0.5, "slow clients")
        all_others_go_on(server, watched, "slow bodies were cut")
    watched.close()


def test_answers_that_are_not_read_are_bounded(server, watched):
    """Large answers for many who do not read: they hold at most half of the memory, and are cut."""
    data, addresses = KINDS["colliding_addresses"](bytes(range(20)))
    name = "gnu:" + bytes(range(20)).hex()
    assert Api(server).upload([name], data)[0] in (200, 202)
    body = json.dumps({"modules": [{"id": name, "addresses": addresses[:50000]}]}).encode()
    head = (f"POST /v1/symbolize HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode()
    with contextlib.ExitStack() as stack:
        with watched.request("answers that are not read"):
            for _ in range(UNREAD):
                s = stack.enter_context(connect(server, receive=4096))
                s.sendall(head + body)
            wait_for(lambda: held(server) >= 4 << 20, 60)
        assert held(server) <= 32 << 20  # all are one client's
        all_others_go_on(server, watched, f"{UNREAD} answers that are not read")
        begun = time.monotonic()
        wait_for(lambda: held(server) <= 16 << 20, 40)
        print(f"    memory came back after {time.monotonic() - begun:.1f} s")


def test_a_pipeline_that_is_not_read_is_bounded(server, watched):
    """Thousands of requests on each connection whose answers are never read."""
    request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 4000
    with contextlib.ExitStack() as stack:
        with watched.request("pipelines"):
            for _ in range(40):
                s = stack.enter_context(connect(server, receive=4096))
                s.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    s.send(request)
        all_others_go_on(server, watched, "40 pipelines that are not read")


def trickle(sockets, ended):
    """One KiB a second on each of them: more than the slowest rate."""
    while not ended.wait(1):
        for s in sockets:
            with contextlib.suppress(OSError):
                s.setblocking(False)
                s.send(b"a" * 1024)


def test_bodies_that_are_just_fast_enough_do_not_keep_all_connections(tmp_path):
    """Refused bodies, which are only received so that the client sees the answer, on all connections."""
    (tmp_path / "conf").write_text("connections = 40\nthreads = 4\n")
    server = Server(tmp_path / "server", options=("--config", str(tmp_path / "conf"))).start()
    ended = threading.Event()
    try:
        with contextlib.ExitStack() as stack:
            slow = []
            for _ in range(60):
                s = stack.enter_context(connect(server))
                s.sendall(b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 16000000\r\n\r\n")
                slow.append(s)
            thread = threading.Thread(target=trickle, args=(slow, ended), daemon=True)
            thread.start()
            begun = time.monotonic()
            assert Api(server)("GET", "/healthz")[0] == 200  # waits for its turn to be accepted
            print(f"    /healthz was answered after {time.monotonic() - begun:.1f} s")
            assert time.monotonic() - begun < 20
            ended.set()
            thread.join()
    finally:
        ended.set()
        assert server.stop() == 0
