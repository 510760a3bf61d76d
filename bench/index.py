#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Times a server whose index has millions of modules: queries of 10,000 IDs, uploads, bytes a module.

The option --database selects the index, which bench/big_index.py fills. Each query has new IDs. With --keep the
filled index stays in the folder and is used by the next run.
"""
import argparse
import contextlib
import hashlib
import http.client
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests/e2e/helpers")]

# pylint: disable=wrong-import-position
import big_index  # noqa: E402
import steady_uploads  # noqa: E402
from crowd import with_uuid  # noqa: E402
from postgres_server import Postgres  # noqa: E402
from servers import Failed, running, serve_unhex  # noqa: E402
from steady_uploads import percentile  # noqa: E402
from uploads import tiny_elf  # noqa: E402

IDS = 10_000
QUERY_MS, UPLOAD_MS = 50, 20
WARM = 40  # uploads before the clock runs
IDLE_S, IDLE_SHARE, BUSY_S = 3, 0.03, 120
FOLDERS = 1 << 16
FILLED = "filled"  # file in a server's folder: how many modules its index was filled with
SOURCE = "int add(int a, int b) { return a + b; }\nint main(void) { return add(1, 2); }\n"
POSTGRES = ("-c", "shared_buffers=2GB", "-c", "fsync=on", "-c", "max_wal_size=2GB")


def tiny_gsym(unhex, work):
    """A GSYM of a program of two functions."""
    (work / "tiny.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O0", "-Wl,--build-id=sha1", "-o", work / "tiny", work / "tiny.c"], check=True)
    subprocess.run([unhex, "extract", work / "tiny", "-o", work / "tiny.gsym"], check=True, stdout=subprocess.DEVNULL)
    return (work / "tiny.gsym").read_bytes()


class Client:
    """One connection, and how long each answer took."""

    def __init__(self, server):
        self.server, self.connection = server, http.client.HTTPConnection(urllib.parse.urlsplit(server.url).netloc, timeout=900)

    def __call__(self, method, path, body=None):
        """The document and milliseconds from the first byte sent to the last one received."""
        if isinstance(body, dict):
            body = json.dumps(body)
        began = time.perf_counter()
        self.connection.request(method, path, body, {"Authorization": f"Bearer {self.server.token}"})
        answer = self.connection.getresponse()
        text = answer.read()
        took = (time.perf_counter() - began) * 1000
        if answer.status >= 300:
            raise Failed(f"{method} {path}: {answer.status} {text[:300].decode()}")
        return json.loads(text), took

    def upload(self, ids, gsym, name):
        """Milliseconds of the three requests of an upload."""
        doc, first = self("POST", "/v1/uploads", {"ids": ids, "size": len(gsym), "kind": "gsym", "file": name,
                                                  "sha256": hashlib.sha256(gsym).hexdigest()})
        _, second = self("PUT", f"/v1/uploads/{doc['uid']}?offset=0", gsym)
        _, third = self("POST", f"/v1/uploads/{doc['uid']}/finish")
        return first, second, third


def read_whole(path):
    """Into the page cache, as on a server that has run for a while and has memory for its index."""
    with open(path, "rb", buffering=0) as f:
        while f.read(1 << 24):
            pass


def tree_cpu(postgres):
    """Returns seconds of processor time of the database's live processes; a connection has one as long as it is open."""
    postmaster = (Path(postgres.data) / "postmaster.pid").read_text(encoding="ascii").split()[0]
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12]) if fields[1] == postmaster else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def wait_until_idle(server, database_cpu):
    """Until both use hardly any processor time."""
    for _ in range(BUSY_S // IDLE_S):
        before = server.cpu() + database_cpu()
        time.sleep(IDLE_S)
        if server.cpu() + database_cpu() - before < IDLE_SHARE * IDLE_S:
            return


def verdict(fine):
    """The last word of a line."""
    return "reached" if fine else "MISSED"


def ids_of(seed):
    """Four IDs of a module."""
    digest = hashlib.sha256(seed.encode()).hexdigest()
    return [f"gnu:{digest[:40]}", f"file:{digest[:32]}", f"uuid:{digest[32:]}", f"go:{digest[:20]}/{digest[20:40]}"]


class Bench:
    """A filled index, and the measurements on it."""

    def __init__(self, options, work, gsym):
        self.options, self.work, self.gsym = options, work, gsym
        self.elf = tiny_elf(work)
        self.population = big_index.Population(options.modules, 2)
        self.unhex = str((options.build / "cli/unhex").resolve())

    def serve(self, data, place):
        """A server with limits that cannot be reached."""
        options = ["--index", place] if place else []
        return running(serve_unhex(self.unhex, data, self.work, None, *options))

    def queries(self, server, database_cpu):
        """A line for each share of IDs that are there."""
        population = self.population
        dice = random.Random(self.options.seed)
        for name, share in (("all there", 1), ("half of them there", 0.5), ("none there", 0)):
            times, spent, client = [], [], Client(server)
            began = server.cpu() + database_cpu()
            for _ in range(self.options.queries):
                ids = [population.id(dice.choice(big_index.KINDS), dice.randrange(population.count)) if i < share * IDS
                       else population.absent(dice.randrange(population.count)) for i in range(IDS)]
                dice.shuffle(ids)
                before = server.cpu()
                doc, took = client("POST", "/v1/query", {"ids": ids})
                spent.append((server.cpu() - before) * 1000)
                found = sum(a["status"] == "already-there" for a in doc["answers"])
                if found != share * IDS or [a["id"] for a in doc["answers"]] != ids:
                    raise Failed(f"{found} of {IDS} are there; expected {share * IDS:.0f}")
                times.append(took)
            wait_until_idle(server, database_cpu)  # until the uses of the modules that were found are written
            cpu = (server.cpu() + database_cpu() - began) / len(times) * 1000
            middle = statistics.median(times)
            print(f"query of {IDS} IDs, {name:19} {middle:7.1f} ms (least {min(times):.1f}, worst {max(times):.1f}), "
                  f"processor time {min(spent):.1f} ms of the server at least, {cpu:.1f} in all with the database and noting "
                  f"uses  goal {QUERY_MS} ms: {verdict(middle < QUERY_MS)}", flush=True)

    def uploads(self, server, data, database_cpu):
        """Lines for uploads at a steady rate, and for the disk without a server."""
        count, seed = self.options.rate * self.options.seconds, time.time_ns()
        some = [steady_uploads.prepare(self.elf, self.gsym, seed, n) for n in range(count)]
        steady_uploads.run(server, some[:WARM], self.options.rate)
        floor = [steady_uploads.disk_alone(data)]
        stages, began = steady_uploads.stages(server), server.cpu() + database_cpu()
        times = steady_uploads.run(server, some[WARM:], self.options.rate)
        cpu = (server.cpu() + database_cpu() - began) / len(times) * 1000
        after = steady_uploads.stages(server)
        floor.append(steady_uploads.disk_alone(data))
        p99 = percentile([t[-1] for t in times], 0.99) * 1000
        steps = ", ".join(f"{name} {percentile([b - a for a, b in ((([0] + t)[i], t[i]) for t in times)], 0.99) * 1000:.1f}"
                          for i, name in enumerate(("announce", "bytes", "finish")))
        print(f"uploads, {self.options.rate} a second, {len(times)} of them  p50 {percentile([t[-1] for t in times], 0.5) * 1000:.1f} ms, "
              f"p99 {p99:.1f} ms ({steps}), {cpu:.1f} ms of processor time without the children that extract  "
              f"goal {UPLOAD_MS} ms: {verdict(p99 < UPLOAD_MS)}", flush=True)
        for name, i in (("the three syncs of an upload, one after the other", 0), ("one of them, of a log", 1)):
            of = [t for both in floor for t in both[i]]
            print(f"  the disk alone, {name}: p50 {percentile(of, 0.5) * 1000:.1f} ms, p99 {percentile(of, 0.99) * 1000:.1f} ms",
                  flush=True)
        print("\n".join(steady_uploads.stage_lines(stages, after)), flush=True)

    def measure(self, name, data, place, size, database_cpu=lambda: 0):
        """All lines of a database."""
        population = self.population
        began = time.monotonic()
        with self.serve(data, place) as server:
            started = time.monotonic() - began
            print(f"{name}: {population.count} modules, {len(big_index.KINDS) * population.count} IDs; "
                  f"{size} bytes, {size / population.count:.0f} a module; started in {started:.2f} s with "
                  f"{server.anonymous() / 1e6:.1f} MB", flush=True)
            wait_until_idle(server, database_cpu)  # the sweep at a start lists 65,536 folders, once an hour
            self.queries(server, database_cpu)
            if population.count >= FOLDERS:  # a store with this many blobs has all folders, which a sweep would list
                for i in range(FOLDERS):
                    (data / f"blobs/{i >> 8:02x}/{i & 255:02x}").mkdir(mode=0o700, parents=True, exist_ok=True)
            self.uploads(server, data, database_cpu)

    def fill(self, data, place, index):
        """Makes an index of one uploaded module, and then of millions. Replaces the index of an interrupted run."""
        shutil.rmtree(data, ignore_errors=True)
        with self.serve(data, place) as server:
            Client(server).upload(ids_of("template"), with_uuid(self.gsym, bytes.fromhex(ids_of("template")[0][4:])), "/usr/bin/one")
        began = time.monotonic()
        index.fill(self.population, index.template())
        print(f"filled in {time.monotonic() - began:.0f} s", flush=True)

    def sqlite(self):
        """The index in a file."""
        data = self.work / "sqlite"
        path = data / "index.sqlite"
        if not self.is_filled(data):
            self.fill(data, None, big_index.Sqlite(path))
            self.note_filled(data)
        read_whole(path)
        self.measure("SQLite", data, None, path.stat().st_size)

    def postgres(self):
        """The index in a database of its own server."""
        data = self.work / "postgres"
        with Postgres(*POSTGRES, keep=self.work / "database" if self.options.keep else None) as server:
            if not self.is_filled(data):
                server.query("DROP DATABASE IF EXISTS big")
                self.fill(data, server.create("big"), big_index.Postgres(server, "big"))
                server.query("CREATE EXTENSION pg_prewarm", "big")
                self.note_filled(data)
            size = int(server.query("SELECT pg_database_size('big')")[0])
            server.query("SELECT sum(pg_prewarm(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
                         "WHERE n.nspname = 'public' AND c.relkind IN ('r', 'i')", "big")
            # All of it is in the page cache now, and the latest part in the database's own buffers, which are
            # smaller. On a server that has run for a while, these buffers hold the pages that queries read again and
            # again.
            server.query("SELECT pg_prewarm('ids_pkey')", "big")
            self.measure("PostgreSQL", data, server.url("big"), size, lambda: tree_cpu(server))

    def is_filled(self, data):
        """Returns whether an earlier run has filled the index, with as many modules."""
        noted = data / FILLED
        return noted.exists() and noted.read_text(encoding="ascii") == str(self.population.count)

    def note_filled(self, data):
        """Notes that the next run need not fill it."""
        (data / FILLED).write_text(str(self.population.count), encoding="ascii")


def main():
    """Some lines for each database."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", type=Path, default=ROOT / "build")
    p.add_argument("--modules", type=int, default=200_000)
    p.add_argument("--queries", type=int, default=9, help="of each kind")
    p.add_argument("--rate", type=int, default=20, help="uploads a second")
    p.add_argument("--seconds", type=int, default=60, help="of uploads")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--database", choices=("sqlite", "postgres", "both"), default="both")
    p.add_argument("--keep", type=Path, help="folder in which the filled indexes stay")
    options = p.parse_args()
    work = options.keep or Path(tempfile.mkdtemp(prefix="unhex-index-", dir="/var/tmp"))
    work.mkdir(exist_ok=True)
    try:
        os.chmod(work, 0o711)  # the database runs as another user
        bench = Bench(options, work, tiny_gsym(str((options.build / "cli/unhex").resolve()), work))
        if options.database != "postgres":
            bench.sqlite()
        if options.database != "sqlite":
            bench.postgres()
    finally:
        if not options.keep:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
