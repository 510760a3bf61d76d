#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Times servers that share an index in PostgreSQL: beside one with its own index, and one of them beside two.

A B A B, medians. "p99": of requests for 100 addresses of an open module, at a fifth of the first server's
highest rate. "two": requests for 10,000 addresses as fast as they are answered, each server on a processor of
its own; the load runs beside them and costs little of that. Needs two processors with nothing else to do;
ratios of a loaded machine vary. "uploads": of GSYMs, as fast as they are finished, over 16 connections. The
database and the load work on the same two processors, which bounds the gain of a second server: the bound is
printed, from the processor time of each.
"""
import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests/e2e/helpers")]

# pylint: disable=wrong-import-position
from bench import random_addresses  # noqa: E402
from index import verdict  # noqa: E402
from postgres_server import Postgres  # noqa: E402
from serve import FEW, MANY, Bench, json_body  # noqa: E402
from servers import running, serve_unhex  # noqa: E402
from uploads import cpu_seconds, send_all, tiny_elf  # noqa: E402

P99_MAX, TWO_MIN = 1.2, 1.8


def cpu_of_database(database):
    """Returns seconds of processor time of PostgreSQL's processes, including ended ones. Each has a session of its
    own."""
    parent = int(Path(database.data, "postmaster.pid").read_text(encoding="ascii").split()[0])
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii").split()
    seconds = 0.0
    for pid in (parent, *map(int, children)):
        with contextlib.suppress(OSError):
            seconds += cpu_seconds(pid)
    return seconds


def spread(values):
    """The least and the largest."""
    return f"{min(values):.2f} to {max(values):.2f}"


class Nodes(Bench):
    """The servers, all with one module."""

    def node(self, name, place, core, shared=None):
        """Starts a server; with shared, its blobs are in that folder."""
        data = self.work / name
        if shared:
            data.mkdir()
            for folder in ("blobs", "uploads"):
                (data / folder).symlink_to(shared / folder)
        options = ["--index", place, "--node", name] if place else []
        return running(serve_unhex(self.unhex, data, self.work, core, *options))

    def body(self, name, count):
        """Writes a file with a request for `count` addresses."""
        path = self.work / f"{name}.json"
        path.write_text(json.dumps(json_body(self.build_id(self.program), random_addresses(self.program, count))))
        return path

    @property
    def program(self):
        """One with debug information."""
        return self.options.program

    def latencies(self, own, shared):
        """Compares p99 of both; prints the ratio of each round."""
        body = self.body("few", FEW)
        for server in (own, shared):
            self.load(server, "/v1/symbolize", bodies=[body], connections=4)
        peak = self.load(own, "/v1/symbolize", bodies=[body], connections=4)
        figures = {own.url: [], shared.url: []}
        for _ in range(self.options.rounds):
            for server in (own, shared):
                figures[server.url].append(self.load(server, "/v1/symbolize", bodies=[body], connections=16, rate=peak.rate / 5))
        one, other = (figures[s.url] for s in (own, shared))
        ratios = [b.p99_us / a.p99_us for a, b in zip(one, other)]
        ratio = statistics.median(ratios)
        cpu = statistics.median(b.cpu / a.cpu for a, b in zip(one, other))
        print(f"p99, {FEW} addresses: own index {statistics.median(f.p99_us for f in one) / 1000:.2f} ms, PostgreSQL "
              f"{statistics.median(f.p99_us for f in other) / 1000:.2f} ms, x{ratio:.2f} (rounds {spread(ratios)}); processor time "
              f"x{cpu:.2f}  goal x{P99_MAX}: {verdict(ratio <= P99_MAX)}", flush=True)

    def together(self, servers, body):
        """Requests a second of all of them at one time."""
        def one(server):
            return self.load(server, "/v1/symbolize", bodies=[body], connections=2).rate

        with ThreadPoolExecutor(len(servers)) as pool:
            return sum(pool.map(one, servers))

    def throughput(self, first, second):
        """One server beside two."""
        body = self.body("many", MANY)
        self.together([first, second], body)
        pairs = [(self.together([first], body), self.together([first, second], body)) for _ in range(self.options.rounds)]
        ratios = [two / one for one, two in pairs]
        ratio = statistics.median(ratios)
        print(f"two servers: {statistics.median(p[0] for p in pairs) * MANY:,.0f} addresses/s of one, "
              f"{statistics.median(p[1] for p in pairs) * MANY:,.0f} of two, x{ratio:.2f} (rounds {spread(ratios)})  "
              f"goal x{TWO_MIN}: {verdict(ratio >= TWO_MIN)}", flush=True)

    def send(self, servers, gsym, database):
        """Uploads a second; seconds of processor time an upload: of the servers, the database, and the load."""
        def spent():
            return sum(cpu_seconds(s.process.pid) for s in servers), cpu_of_database(database), time.process_time()
        before, began = spent(), time.monotonic()
        send_all(servers, gsym, self.options.uploads, 16, first=self.sent, kind="gsym")
        took = time.monotonic() - began
        self.sent += self.options.uploads
        return self.options.uploads / took, [(b - a) / self.options.uploads for a, b in zip(before, spent())]

    def uploads(self, first, second, database):
        """Compares uploads to one server with uploads to two."""
        (self.work / "tiny.so").write_bytes(tiny_elf(self.work))
        subprocess.run([self.unhex, "extract", self.work / "tiny.so", "-o", self.work / "tiny.gsym"], check=True)
        gsym = (self.work / "tiny.gsym").read_bytes()
        self.send([first, second], gsym, database)
        rounds = [(self.send([first], gsym, database), self.send([first, second], gsym, database)) for _ in range(self.options.rounds)]
        ratio = statistics.median(two[0] / one[0] for one, two in rounds)
        cost = [statistics.median(two[1][i] for _, two in rounds) * 1000 for i in range(3)]
        one, two = (statistics.median(r[i][0] for r in rounds) for i in range(2))
        print(f"uploads: {one:,.0f} a second of one server, {two:,.0f} of two, x{ratio:.2f} (rounds "
              f"{spread([b[0] / a[0] for a, b in rounds])}); processor time of one: server {cost[0]:.2f} ms, database {cost[1]:.2f} ms, "
              f"load {cost[2]:.2f} ms: on two processors at most x{min(2.0, 2 * max(cost[0], cost[1] + cost[2]) / sum(cost)):.2f}  "
              f"goal x{TWO_MIN}: {verdict(ratio >= TWO_MIN)}", flush=True)

    def run_all(self):
        """All lines."""
        self.sent = 0
        self.load_core = None
        with Postgres("-c", "fsync=on") as database:
            place = database.create("nodes")
            with self.node("own", None, self.core) as own, self.node("a", place, self.core) as a:
                for server in (own, a):
                    self.run("push", self.program, server=server)
                self.latencies(own, a)
                with self.node("b", place, sorted(os.sched_getaffinity(0))[-1], shared=self.work / "a") as b:
                    b.token = a.token
                    self.uploads(a, b, database)
                    self.throughput(a, b)


def main():
    """Three lines."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", type=Path, default=ROOT / "build")
    p.add_argument("--seconds", type=int, default=3, help="of each load")
    p.add_argument("--uploads", type=int, default=1000, help="of each round")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--program", type=Path, help="with debug information [the command itself]")
    options = p.parse_args()
    options.program = options.program or (options.build / "cli/unhex").resolve()
    with tempfile.TemporaryDirectory(prefix="unhex-nodes-", dir="/var/tmp") as work:
        Nodes(options, Path(work)).run_all()


if __name__ == "__main__":
    main()
