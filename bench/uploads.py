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
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from bench import ROOT  # noqa: E402
from servers import running, serve_unhex  # noqa: E402

SOURCE = "static inline int sq(int x) { return x * x; }\nint f(int a) { return sq(a) + sq(a + 1); }\n"
ID = bytes(range(1, 21))  # the build ID of the file from which the others are made
GOAL_SECONDS = 60  # for 10,000 uploads


def tiny_elf(work):
    """Bytes of a shared object whose build ID is ID."""
    (work / "tiny.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O2", "-shared", "-nostdlib", "-fPIC", f"-Wl,--build-id=0x{ID.hex()}",
                    "-o", work / "tiny.so", work / "tiny.c"], check=True, cwd=work)
    data = (work / "tiny.so").read_bytes()
    assert data.count(ID) == 1
    return data


class Client:
    """One connection that uploads."""

    def __init__(self, server):
        url = urllib.parse.urlsplit(server.url)
        self.connection = http.client.HTTPConnection(url.hostname, url.port, timeout=120)
        self.headers = {"Authorization": f"Bearer {server.token}"}

    def request(self, method, path, body):
        """The answer's document."""
        self.connection.request(method, path, body, self.headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"{method} {path}: {answer.status} {text!r}")
        return json.loads(text)

    def upload(self, data, build_id):
        """Announces, sends and finishes one file."""
        doc = {"ids": [f"gnu:{build_id.hex()}"], "size": len(data), "sha256": hashlib.sha256(data).hexdigest(),
               "kind": "executable"}
        uid = self.request("POST", "/v1/uploads", json.dumps(doc))["uid"]
        self.request("PUT", f"/v1/uploads/{uid}", data)
        self.request("POST", f"/v1/uploads/{uid}/finish", "")


def send_share(server, data, numbers):
    """What one thread of the client does."""
    client = Client(server)
    for n in numbers:
        build_id = hashlib.sha1(str(n).encode()).digest()
        client.upload(data.replace(ID, build_id), build_id)


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
            threads = [threading.Thread(target=send_share, args=(
                server, data, range(i, options.count, options.connections))) for i in range(options.connections)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            sent = time.monotonic() - began
            ready = failed = 0
            while ready + failed < options.count:
                time.sleep(0.2)
                ready, failed = extracted(server)
            took, cpu = time.monotonic() - began, cpu_seconds(server.process.pid)
        goal = GOAL_SECONDS * options.count / 10_000
        verdict = "reached" if took <= goal and not failed else "MISSED"
        print(f"{options.count} uploads of {len(data)} bytes: sent in {sent:.1f} s, ready in {took:.1f} s "
              f"({options.count / took:.0f}/s), {cpu:.1f} s of processor time  goal {goal:.0f} s: {verdict}")


if __name__ == "__main__":
    main()
