# SPDX-License-Identifier: Apache-2.0
"""Uploads that come at a steady rate, whatever the server does, and how their time is spent.

Every other one is an ELF file with DWARF, which the server extracts meanwhile; the others are GSYMs. An upload
takes from the moment at which it was to begin until the answer to its finish. It also prints the disk's time
alone for the syncs of an upload: the bytes, their folder, and the log of an index.
"""
import hashlib
import http.client
import itertools
import json
import os
import re
import threading
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from crowd import with_uuid
from servers import Failed
from uploads import ID

CLIENTS = 16
SYNCS = 300
LOG_BYTES = 64 << 10  # bytes that an upload writes to the log of an index
STAGE = re.compile(r'^unhex_upload_stage_duration_seconds_(\w+)\{stage="(\w+)"(?:,le="([^"]+)")?\} (\S+)$', re.M)


def percentile(values, share):
    """Returns the smallest value that is not below this share of all values."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


@dataclass
class Prepared:
    """An upload with its bytes."""
    announcement: str
    data: bytes


def prepare(elf, gsym, seed, n):
    """The upload of this number."""
    digest = hashlib.sha256(f"{seed} {n}".encode()).hexdigest()
    own = elf.replace(ID, bytes.fromhex(digest[:40])) if n % 2 else with_uuid(gsym, bytes.fromhex(digest[:40]))
    ids = [f"gnu:{digest[:40]}"]
    if n % 2 == 0:
        ids += [f"file:{digest[:32]}", f"uuid:{digest[32:]}", f"go:{digest[:20]}/{digest[20:40]}"]
    doc = {"ids": ids, "size": len(own), "kind": "executable" if n % 2 else "gsym", "file": f"/usr/bin/new{n}",
           "sha256": hashlib.sha256(own).hexdigest()}
    return Prepared(json.dumps(doc), own)


class Client:
    """A connection."""

    def __init__(self, server):
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(server.url).netloc, timeout=60)
        self.fields = {"Authorization": f"Bearer {server.token}"}
        self.send("GET", "/healthz")

    def send(self, method, path, body=None):
        """The answer to one request."""
        self.connection.request(method, path, body, self.fields)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise Failed(f"{method} {path}: {answer.status} {text[:300].decode()}")
        return text

    def upload(self, one):
        """Returns the times at which the three answers arrived."""
        uid = json.loads(self.send("POST", "/v1/uploads", one.announcement))["uid"]
        times = [time.perf_counter()]
        self.send("PUT", f"/v1/uploads/{uid}?offset=0", one.data)
        times.append(time.perf_counter())
        self.send("POST", f"/v1/uploads/{uid}/finish")
        return [*times, time.perf_counter()]


def run(server, uploads, rate):
    """Seconds of each upload, from its moment on: until announced, until sent, until finished."""
    numbers, times, failed = itertools.count(), [None] * len(uploads), threading.Event()
    clients = [Client(server) for _ in range(CLIENTS)]
    began = time.perf_counter() + 0.1

    def work(client):
        try:
            for n in numbers:
                if n >= len(uploads) or failed.is_set():
                    return
                moment = began + n / rate
                time.sleep(max(0, moment - time.perf_counter()))
                times[n] = [t - moment for t in client.upload(uploads[n])]
        except (Failed, OSError, http.client.HTTPException):
            failed.set()  # the others end, too
            raise

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(work, clients))  # raises the error of a client
    return times


def disk_alone(folder):
    """Seconds of the syncs of uploads, one after the other: of all three together, and of the log's alone."""
    place = folder / "syncs"
    place.mkdir()
    data, log_data = os.urandom(15_000), os.urandom(LOG_BYTES)
    whole, alone = [], []
    directory, log = os.open(place, os.O_RDONLY), os.open(place / "log", os.O_RDWR | os.O_CREAT)
    try:
        os.write(log, log_data * 8)
        os.fsync(log)
        for i in range(SYNCS):
            part = os.open(place / "part", os.O_WRONLY | os.O_CREAT)
            os.write(part, data)
            began = time.perf_counter()
            os.fsync(part)
            os.rename(place / "part", place / f"{i}")
            os.fsync(directory)
            os.close(part)
            os.pwrite(log, log_data, i % 8 * LOG_BYTES)
            middle = time.perf_counter()
            os.fdatasync(log)
            whole.append(time.perf_counter() - began)
            alone.append(time.perf_counter() - middle)
            time.sleep(0.01)
    finally:
        os.close(directory)
        os.close(log)
        for path in place.iterdir():
            path.unlink()
        place.rmdir()
    return whole, alone


def stages(server):
    """Seconds of each stage, their number, and how many took at most this long."""
    status, text = server.ask("GET", "/metrics")
    found = {}
    for what, stage, bound, value in STAGE.findall(text.decode() if status == 200 else ""):
        found.setdefault(stage, {})[f"{what} {bound}" if bound else what] = float(value)
    return found


def stage_lines(before, after):
    """A line for each stage: its mean, and a bound of its p99."""
    for stage, sums in after.items():
        of = {key: value - before.get(stage, {}).get(key, 0) for key, value in sums.items()}
        if of.get("count", 0) == 0:
            continue
        bound = next((key.rpartition(" ")[2] for key, value in of.items() if key.startswith("bucket") and value >= 0.99 * of["count"]),
                     "+Inf")
        yield f"  {stage:12} mean {of['sum'] / of['count'] * 1000:7.2f} ms, p99 at most {float(bound) * 1000:g} ms"
