#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Times how soon many tiny uploads are ready: announced, sent, finished and extracted.

Each upload is an ELF file of a few KiB with DWARF and a build ID of its own. The clock runs from the first
announcement until the last module has its GSYM.
"""
import argparse
import hashlib
import http.client
import json
import os
import re
import selectors
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from bench import ROOT  # noqa: E402
from servers import running, serve_unhex  # noqa: E402

SOURCE = "static inline int sq(int x) { return x * x; }\nint f(int a) { return sq(a) + sq(a + 1); }\n"
ID = bytes(range(1, 21))  # build ID of the file from which the others are made
GOAL_SECONDS = 60  # for 10,000 uploads


def tiny_elf(work):
    """Returns the bytes of a shared object whose build ID is ID."""
    (work / "tiny.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O2", "-shared", "-nostdlib", "-fPIC", f"-Wl,--build-id=0x{ID.hex()}",
                    "-o", work / "tiny.so", work / "tiny.c"], check=True, cwd=work)
    data = (work / "tiny.so").read_bytes()
    assert data.count(ID) == 1
    return data


class Uploader:
    """One connection, on which one upload follows the other. It costs little: the server needs the processors."""

    def __init__(self, server, data, numbers, kind="executable"):
        url = urllib.parse.urlsplit(server.url)
        self.socket = socket.create_connection((url.hostname, url.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.field = f"Host: {url.netloc}\r\nAuthorization: Bearer {server.token}\r\n"
        self.kind = kind
        self.steps = self.all_steps(data, numbers)
        self.received = b""
        next(self.steps)

    def send(self, method, path, body=b""):
        head = f"{method} {path} HTTP/1.1\r\n{self.field}Content-Length: {len(body)}\r\n\r\n"
        self.socket.sendall(head.encode() + body)

    def all_steps(self, data, numbers):
        """Each step sends a request, and is given the answer's body."""
        for n in numbers:
            build_id = hashlib.sha1(str(n).encode()).digest()
            own = data.replace(ID, build_id)
            doc = {"ids": [f"gnu:{build_id.hex()}"], "size": len(own), "sha256": hashlib.sha256(own).hexdigest(),
                   "kind": self.kind, **({"quality": "inlines"} if self.kind == "gsym" else {})}
            self.send("POST", "/v1/uploads", json.dumps(doc).encode())
            uid = json.loads((yield))["uid"]
            self.send("PUT", f"/v1/uploads/{uid}", own)
            yield
            self.send("POST", f"/v1/uploads/{uid}/finish")
            yield

    def go_on(self):
        """Called when bytes are there. False: all was uploaded."""
        self.received += self.socket.recv(1 << 16)
        head, end, body = self.received.partition(b"\r\n\r\n")
        size = re.search(rb"(?i)content-length: *(\d+)", head) if end else None
        if not size or len(body) < int(size[1]):
            if not self.received:
                raise SystemExit("the server closed a connection")
            return True
        if not 200 <= int(head[9:12]) < 300:
            raise SystemExit(self.received.decode())
        self.received = b""
        try:
            self.steps.send(body)
            return True
        except StopIteration:
            self.socket.close()
            return False


def send_all(servers, data, count, connections, first=0, kind="executable"):
    """Sends the files on these many connections, spread over the servers; the files' numbers begin at first."""
    with selectors.DefaultSelector() as selector:
        for i in range(min(connections, count)):
            uploader = Uploader(servers[i % len(servers)], data, range(first + i, first + count, connections), kind)
            selector.register(uploader.socket, selectors.EVENT_READ, uploader)
        while selector.get_map():
            for key, _ in selector.select():
                fd = key.fd
                if not key.data.go_on():
                    selector.unregister(fd)


def extracted(server):
    """How many extractions have succeeded, and failed."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(server.url).netloc, timeout=60)
    connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {server.token}"})
    text = connection.getresponse().read().decode()
    return [int(float(re.search(rf"^unhex_{n}_total (\S+)", text, re.M)[1])) for n in ("extracted", "extract_failed")]


def cpu_seconds(pid):
    """Processor time of the server and of the children that it waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def main():
    """One line."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", type=Path, default=ROOT / "build")
    p.add_argument("--count", type=int, default=10_000)
    p.add_argument("--connections", type=int, default=8)
    options = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="unhex-uploads-", dir="/var/tmp") as name:
        work = Path(name)
        data = tiny_elf(work)
        with running(serve_unhex(str((options.build / "cli/unhex").resolve()), work / "store", work)) as server:
            began = time.monotonic()
            send_all([server], data, options.count, options.connections)
            sent = time.monotonic() - began
            ready = failed = 0
            while ready + failed < options.count:
                time.sleep(0.2)
                ready, failed = extracted(server)
            took, cpu = time.monotonic() - began, cpu_seconds(server.process.pid)
            client = time.process_time()
        goal = GOAL_SECONDS * options.count / 10_000
        verdict = "reached" if took <= goal and not failed else "MISSED"
        print(f"{options.count} uploads of {len(data)} bytes: sent in {sent:.1f} s, ready in {took:.1f} s "
              f"({options.count / took:.0f}/s), {cpu:.1f} s of processor time, the client {client:.1f} s  goal {goal:.0f} s: {verdict}")


if __name__ == "__main__":
    main()
