# SPDX-License-Identifier: Apache-2.0
"""Clients of a server that sends two bytes a second: it is never silent, and never done."""
import contextlib
import os
import socket
import subprocess
import threading
import time

import pytest

from tool import UNHEX, compile_c, fails, stripped, unhex
from waiting import pause_for

ENDS_IN = 100  # seconds: three times the period in which a client measures the rate, on a busy machine


class Dripping:
    """A server whose answers begin at once and have two bytes a second, or none at all."""

    def __init__(self, head):
        self.head = head
        self.asked = 0
        self.ended = threading.Event()

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.answer, args=(self.listener.accept()[0],), daemon=True).start()

    def answer(self, peer):
        with peer, contextlib.suppress(OSError):
            peer.recv(1 << 16)
            self.asked += 1
            peer.sendall(self.head)
            while not self.ended.is_set():
                pause_for(0.5, "the server is slow on purpose")
                peer.sendall(b" ")


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900000\r\n\r\n"
ID = "gnu:00112233445566778899aabbccddeeff00112233"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """All clients at the same time, each with its exit status, its errors and its seconds."""
    folder = tmp_path_factory.mktemp("slow")
    program = compile_c(folder)
    bare, debug = stripped(compile_c(folder, "bare"))
    debug.unlink()
    with Dripping(HEAD) as server:
        commands = {
            "push": ["push", "--no-retries", "--url", server.url, "--token", "t", program],
            "lookup": ["lookup", "--url", server.url, ID, "0x10"],
            "modules": ["modules", "list", "--url", server.url, "--token", "t"],
            "crawl status": ["crawl", "status", "--url", server.url, "--token", "t"],
            "explain": ["explain", ID, "0x10", "--url", server.url, "--token", "t"],
            "agent": ["agent", "--once", "--state", folder / "state", "--url", server.url, "--token", "t"],
            "clone of a server": ["clone", server.url, folder / "copy"],
            "clone of a folder": ["clone", f"bucket+{server.url}", folder / "other"],
            "debuginfod": ["lookup", "--debuginfod", server.url, bare, "0x1139"],
        }
        env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        begin = time.monotonic()
        started = {name: subprocess.Popen([UNHEX, *map(str, args)], env=env, stdin=subprocess.DEVNULL,
                                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                   for name, args in commands.items()}
        results = {}
        for name, process in started.items():
            try:
                _, text = process.communicate(timeout=max(ENDS_IN - (time.monotonic() - begin), 0.1))
            except subprocess.TimeoutExpired:
                process.kill()
                text = "never ended"
                process.communicate()
            results[name] = process.returncode, text, time.monotonic() - begin
        assert server.asked >= len(commands)
    return results


@pytest.mark.parametrize("name", ["push", "lookup", "modules", "explain", "agent", "crawl status", "clone of a server",
                                  "clone of a folder", "debuginfod"])
def test_a_dripping_server_holds_no_client(runs, name):
    status, text, seconds = runs[name]
    print(f"{name}: {seconds:.0f} s: {text}")
    assert status > 0, text
    assert "too slow: less than 512 bytes a second for 30 s" in text or "deadline exceeded" in text, text


def test_a_manifest_over_its_limit_is_refused_at_once(tmp_path):
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1073741825\r\n\r\n"
    with Dripping(head) as server:
        begin = time.monotonic()
        fails(unhex("clone", f"bucket+{server.url}", tmp_path / "copy"), 1, server.url, "exceeds 1073741824 bytes")
        assert time.monotonic() - begin < 20, "the size is announced: nothing has to be read"
