# SPDX-License-Identifier: Apache-2.0
"""Clients that take for ever, and clients that are gone"""
import contextlib
import hashlib
import os
import pathlib
import random
import resource
import select
import socket
import struct
import threading
import time

import pytest

from unhex_server import Server
from http_api import Api
from tool import UNHEX, build_id
from waiting import pause_for, wait_for

LORIS = 1000


@pytest.fixture(autouse=True)
def descriptors():
    """The clients need some too."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    assert hard > 2 * LORIS


@contextlib.contextmanager
def serving(tmp_path, *settings):
    options = [word for s in settings for word in ("--set", s)]
    server = Server(tmp_path / "data", options=tuple(options)).start()
    try:
        yield server
    finally:
        assert server.stop() in (0, None)


def connect(api, receive=None):
    s = socket.socket()
    if receive:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    s.settimeout(60)
    s.connect((api.url.hostname, api.url.port))
    return s


class Loris:
    """Many that send a byte now and then, until the server has had enough of each."""

    def __init__(self, sockets, pause, byte=b"x"):
        self.left = list(sockets)
        self.pause, self.byte = pause, byte
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while self.left:
            readable, _, _ = select_of(self.left)
            for s in readable:  # end of the connection: there is no answer to half a request
                self.left.remove(s)
                s.close()
            for s in list(self.left):
                try:
                    s.sendall(self.byte)
                except OSError:
                    self.left.remove(s)
                    s.close()
            pause_for(self.pause, "a slow client")


def select_of(sockets):
    poll = select.poll()
    by_fd = {s.fileno(): s for s in sockets}
    for fd in by_fd:
        poll.register(fd, select.POLLIN)
    return [by_fd[fd] for fd, _ in poll.poll(0)], [], []


def test_a_thousand_that_never_end_their_headers_delay_no_one(tmp_path, gsym):
    with serving(tmp_path, "idle=20s") as server:
        api, name = Api(server), "gnu:" + gsym[28:48].hex()
        assert api.upload([name], gsym)[0] == 200
        loris = [connect(api) for _ in range(LORIS)]
        for s in loris:
            s.sendall(b"GET /v1/modules HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        slow, answered, longest, began = Loris(loris, 0.2), 0, 0, time.monotonic()
        cut = 0  # a machine with much else to do makes a loris of anybody
        while slow.left or answered < 100:
            started = time.monotonic()
            with contextlib.closing(Api(server).connection) as other:  # a new one each time
                try:
                    other.request("GET", f"/v1/symbolize/{name}?addr=1")
                    assert other.getresponse().status == 200
                    answered += 1
                except ConnectionError:
                    cut += 1
            longest = max(longest, time.monotonic() - started)
            pause_for(0.01, "the rate of the other client")
            assert time.monotonic() - began < 300
        assert cut < answered
        slow.thread.join()
        print(f"{LORIS} clients were cut within {time.monotonic() - began:.1f} s, one byte each "
              f"0.2 s from all of them; meanwhile {answered} others were answered, in "
              f"{longest:.2f} s at most")


def test_bodies_that_crawl_are_cut_and_their_bytes_kept(tmp_path, gsym):
    with serving(tmp_path, "idle=4s", "slowest-rate=100") as server:
        api = Api(server)
        uid = api.announce(["gnu:" + gsym[28:48].hex()], gsym)
        s = connect(api)
        s.sendall(f"PUT /v1/uploads/{uid} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(gsym)}\r\n"
                  f"Authorization: Bearer {server.token}\r\n\r\n".encode())
        slow = Loris([s], 0.2, gsym[:1])
        slow.thread.join(120)
        assert not slow.left

        api = Api(server)  # the other one was idle for too long

        def free():  # the lost connection may still hold the upload
            status, doc, _ = api("GET", f"/v1/uploads/{uid}")
            assert status == 200
            return doc["offset"] if api.put(uid, b"", doc["offset"])[0] == 200 else 0
        offset = wait_for(free)
        assert 0 < offset < len(gsym)
        # One that is slow and does move has all the time.
        uid = api.announce(["gnu:" + gsym[28:48].hex()], gsym)
        with connect(api) as s:
            s.sendall(f"PUT /v1/uploads/{uid} HTTP/1.1\r\nHost: x\r\n"
                      f"Authorization: Bearer {server.token}\r\n"
                      f"Transfer-Encoding: chunked\r\n\r\n".encode())
            piece = len(gsym) // 5 + 1
            for at in range(0, len(gsym), piece):
                data = gsym[at:at + piece]
                s.sendall(b"%x\r\n%s\r\n" % (len(data), data))
                pause_for(1.1, "a slow client")
            s.sendall(b"0\r\n\r\n")
            assert b" 200 " in s.recv(4096).split(b"\r\n")[0]
        assert Api(server).finish(uid)[0] == 200


def big_file(api, tmp_path):
    """An ELF file of 16 MB that the server has, and its path there."""
    path = tmp_path / "big"
    path.write_bytes(open(UNHEX, "rb").read() + bytes(16 << 20))
    name = build_id(path)
    assert api.upload([name], path.read_bytes(), kind="executable")[0] in (200, 202)
    target = f"/buildid/{name.removeprefix('gnu:')}/executable"
    wait_for(lambda: api("HEAD", target)[0] == 200)
    return target, path.read_bytes()


def held_by_server(client):
    """Whether the server still has its end of this client's connection open.

    The system keeps a socket that was closed until its data is taken, without an inode.
    """
    address, port = client.getpeername()[0], client.getpeername()[1]
    ends = [f"{int.from_bytes(socket.inet_aton(a), 'little'):08X}:{p:04X}"
            for a, p in ((address, port), client.getsockname()[:2])]
    rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]]
    return any(row[1:3] == ends and row[9] != "0" for row in rows)


def descriptors_of(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def test_answers_that_nobody_takes_are_cut(tmp_path):
    with serving(tmp_path, "idle=2s", "slowest-rate=100K") as server:
        api = Api(server)
        target, data = big_file(api, tmp_path)
        with connect(api, receive=4096) as s:
            s.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert s.recv(10)
            assert held_by_server(s)
            wait_for(lambda: not held_by_server(s))
            got = 0
            with contextlib.suppress(ConnectionResetError):
                while more := len(s.recv(1 << 20)):  # what the system had taken over
                    got += more
            assert got < len(data)
        # Who reads at once gets it all.
        api = Api(server)
        api.connection.request("GET", target)
        assert api.connection.getresponse().read() == data


def vanish(s):
    """With a reset, as of a machine that was switched off and on."""
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def test_clients_that_vanish_leave_nothing_behind(tmp_path, gsym):
    rng = random.Random(4)
    with serving(tmp_path) as server:
        api, uploads = Api(server), []
        target, data = big_file(api, tmp_path)
        before = descriptors_of(server)
        for n in range(200):
            name = "gnu:" + hashlib.sha1(str(n).encode()).hexdigest()
            large = bytes([n]) * (1 << 20)
            uid = api.announce([name], large)
            request = (f"PUT /v1/uploads/{uid} HTTP/1.1\r\nHost: x\r\n"
                       f"Content-Length: {len(large)}\r\n"
                       f"Authorization: Bearer {server.token}\r\n\r\n").encode() + large
            s = connect(api)
            s.sendall(request[:rng.randrange(1, 100000)])
            vanish(s)
            s = connect(api, receive=4096)
            s.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert s.recv(rng.randrange(1, 60000))
            vanish(s)
            uploads.append((uid, large))
        wait_for(lambda: descriptors_of(server) <= before + 2)
        for uid, large in rng.sample(uploads, 10):
            offset = api("GET", f"/v1/uploads/{uid}")[1]["offset"]
            assert offset < len(large)
            wait_for(lambda: api.put(uid, large[offset:], offset)[0] == 200)
            assert api.finish(uid)[0] == 422  # all bytes came: they are no GSYM
        api.connection.request("GET", target)
        assert api.connection.getresponse().read() == data
        print("200 clients vanished while they sent, 200 while they took")
