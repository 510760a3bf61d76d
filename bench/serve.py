#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Times `unhex serve` against other symbol servers on loopback: A B A B, medians, one line a case.

The server under load is alone on one processor and the load on another one, where there are two. A ratio is our
throughput divided by the peer's; "cpu" is the same for the throughput in a second of the server's processor
time, which other work on the machine disturbs less.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from bench import ROOT, random_addresses  # noqa: E402
from crowd import add_modules  # noqa: E402
from servers import (Failed, clean_environment, debug_id, load, running,  # noqa: E402
                     serve_debuginfod, serve_samply, serve_unhex)

CONNECTIONS = 16
MANY = 10_000   # addresses of a large request
FEW = 100       # of a small one
KNOWN = 10_000  # modules
HOT = 100
INDEXED = 100_000
SOURCE = "int main(int argc, char **argv)\n{\n\t(void)argv;\n\treturn argc;\n}\n"
ROWS = ["file", "unknown", "v5", "json", "compact", "latency", "memory", "restart"]


def verdict(fine):
    """The last word of a line."""
    return "reached" if fine else "MISSED"


def show(name, text, goal, fine):
    """One line."""
    print(f"{name:44} {text}  goal {goal}: {verdict(fine)}", flush=True)


class Bench:
    """State shared by all rows."""

    def __init__(self, options, work):
        self.options, self.work = options, work
        self.unhex = str((options.build / "cli/unhex").resolve())
        cores = sorted(os.sched_getaffinity(0))
        self.core, self.load_core = (cores[0], cores[1]) if len(cores) > 1 else (None, None)

    def run(self, *args, server=None, check=True):
        """Returns the output of our command; with check, the command has to succeed for all of its files."""
        env = clean_environment(self.work)
        if server:
            env |= {"UNHEX_URL": server.url, "UNHEX_TOKEN": server.token}
        run = subprocess.run([self.unhex, *map(str, args)], check=False, text=True, env=env,
                             stdin=subprocess.DEVNULL, capture_output=True)
        if check and run.returncode != 0:
            raise Failed(f"unhex {args[0]}: {run.stderr}{run.stdout}")
        return run.stdout

    def serve(self, name):
        """Ours, on one processor."""
        return serve_unhex(self.unhex, self.work / name, self.work, self.core)

    def load(self, server, path, seconds=None, **more):
        """Figures of one load."""
        return load(self.options.build / "bench/load", server, path, core=self.load_core,
                    seconds=seconds or self.options.seconds, **more)

    def build_id(self, path):
        """Hex digits."""
        (line,) = self.run("id", "--quick", "--json", path).splitlines()
        return next(i for i in json.loads(line)["ids"] if i.startswith("gnu:"))[4:]

    def program(self):
        """A program of 16 KB with its debug information, alone in a folder."""
        path = self.work / "files/prog"
        if not path.exists():
            path.parent.mkdir()
            subprocess.run(["gcc", "-g", "-Wl,--build-id", "-o", path, "-x", "c", "-"], check=True,
                           input=SOURCE, text=True)
        return path

    def libjvm(self):
        """The large module of the rows about symbols."""
        path = ROOT / "corpus/libjvm-plain.debug"
        if not path.exists():
            raise Failed(f"no {path} (./dev corpus)")
        return path.resolve()

    def compare(self, name, ours, theirs, goal, work_of=1, unit="/s"):
        """ours() and theirs() give figures; they alternate after a round that warms up."""
        got = {"ours": [], "theirs": []}
        for turn in range(self.options.rounds + 1):
            for side, ask in (("ours", ours), ("theirs", theirs)):
                figures = ask()
                if turn > 0:
                    got[side].append(figures)
        rate, cpu = ({side: statistics.median(of(f) for f in rows) for side, rows in got.items()}
                     for of in (lambda f: f.rate * work_of, lambda f: work_of / f.cpu))
        ratio = rate["ours"] / rate["theirs"]
        show(name, f"{rate['ours']:12,.1f}{unit} {rate['theirs']:12,.1f}{unit}  x{ratio:<7.2f} "
             f"cpu {cpu['ours']:12,.1f}{unit} {cpu['theirs']:12,.1f}{unit}  "
             f"x{cpu['ours'] / cpu['theirs']:<7.2f}", f"x{goal}", ratio >= goal)


def bench_files(bench, rows):
    """A hot file, and IDs that are unknown, against elfutils' debuginfod."""
    prog = bench.program()
    with running(bench.serve("files-data")) as ours, \
            running(serve_debuginfod(prog.parent, bench.work, bench.core)) as theirs:
        bench.run("push", "--with-debuginfo", "-e", prog, server=ours)
        path = f"/buildid/{bench.build_id(prog)}/debuginfo"
        for server in (ours, theirs):
            if server.ask("GET", path) != (200, prog.read_bytes()):
                raise Failed(f"{server.name} does not give the file")
        if "file" in rows:
            size = prog.stat().st_size / 1024
            bench.compare(f"hot file of {size:.0f} KB, {CONNECTIONS} connections",
                          *(lambda s=s: bench.load(s, path, connections=CONNECTIONS)
                            for s in (ours, theirs)), 2)
        if "unknown" in rows:
            bench.compare(f"unknown ID, {CONNECTIONS} connections",
                          *(lambda s=s: bench.load(s, "/buildid/{id}/debuginfo", expect=404,
                                                   connections=CONNECTIONS)
                            for s in (ours, theirs)), 3)


def write_bodies(bench, name, count, make):
    """Files with the JSON that make(number) gives."""
    paths = [bench.work / f"{name}-{i}.json" for i in range(count)]
    for i, path in enumerate(paths):
        path.write_text(json.dumps(make(i), separators=(",", ":")), encoding="ascii")
    return paths


def push_libjvm(bench, server):
    """Pushed, and looked up once."""
    bench.run("push", bench.libjvm(), server=server)
    return bench.build_id(bench.libjvm())


def bench_v5(bench, _rows):
    """The Firefox Profiler's requests, against samply's server."""
    path = bench.libjvm()
    library = {"name": "libjvm.so", "debugName": "libjvm.so", "path": str(path),
               "debugPath": str(path), "breakpadId": debug_id(bench.build_id(path)),
               "codeId": bench.build_id(path), "arch": "x86_64"}
    addresses = random_addresses(path, MANY)
    bodies = write_bodies(bench, "v5", 1, lambda _: {"jobs": [{
        "memoryMap": [["libjvm.so", library["breakpadId"]]],
        "stacks": [[[0, a] for a in addresses]]}]})
    with running(bench.serve("symbols-data")) as ours, \
            running(serve_samply(bench.options.samply, [library], bench.work,
                                 bench.core)) as theirs:
        push_libjvm(bench, ours)
        for server in (ours, theirs):
            status, text = server.ask("POST", "/symbolicate/v5", bodies[0].read_bytes())
            (found,) = json.loads(text)["results"] if status == 200 else ({"found_modules": {}},)
            if list(found["found_modules"].values()) != [True]:
                raise Failed(f"{server.name} does not know libjvm: {status} {text[:200]}")
        bench.compare(f"/symbolicate/v5, {MANY} addresses of libjvm",
                      lambda: bench.load(ours, "/symbolicate/v5", bodies=bodies, connections=1),
                      lambda: bench.load(theirs, "/symbolicate/v5", bodies=bodies, connections=1,
                                         requests=2), 5, MANY)


def json_body(build_id, addresses):
    """Of POST /v1/symbolize."""
    return {"modules": [{"id": f"gnu:{build_id}", "addresses": addresses}]}


def leb(value):
    """Signed LEB128."""
    out = bytearray()
    while not -64 <= value < 64:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out + bytes([value & 0x7f]))


def uleb(value):
    """Unsigned LEB128."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def compact_body(build_id, addresses):
    """Of POST /v1/symbolize, as docs/formats/symbolize-binary.md has it."""
    number = bytes.fromhex(build_id)
    deltas = b"".join(leb(a - b) for a, b in zip(addresses, [0, *addresses]))
    return (b"UXQ\1\0\2\0" + b"\1" + uleb(len(number)) + number + b"\1" + uleb(len(addresses))
            + uleb(len(deltas)) + deltas + b"\0")


def bench_json(bench, rows):
    """Many addresses a request, and how long small requests take while half of them comes."""
    with running(bench.serve("symbols-data")) as ours:
        build_id = push_libjvm(bench, ours)
        some = random_addresses(bench.libjvm(), 8 * MANY)
        bodies = write_bodies(bench, "json", 8, lambda i: json_body(
            build_id, some[i * MANY:(i + 1) * MANY]))
        if "json" in rows:
            alone(bench, ours, "JSON", "/v1/symbolize", bodies, 700_000)
        if "compact" in rows:
            bodies = [bench.work / f"compact-{i}" for i in range(8)]
            for i, path in enumerate(bodies):
                path.write_bytes(compact_body(build_id, some[i * MANY:(i + 1) * MANY]))
            alone(bench, ours, "compact form", "/v1/symbolize", bodies, 3_000_000,
                  header="Content-Type: application/x-unhex-symbolize")
        if "latency" in rows:
            small = write_bodies(bench, "few", 200, lambda i: json_body(
                build_id, some[i * FEW:(i + 1) * FEW]))
            latency(bench, ours, small)


def alone(bench, ours, name, path, bodies, goal, **more):
    """Addresses a second on one processor."""
    bench.load(ours, path, bodies=bodies, connections=2, **more)
    got = [bench.load(ours, path, bodies=bodies, connections=2, **more)
           for _ in range(bench.options.rounds)]
    rate = statistics.median(f.rate for f in got) * MANY
    cpu = MANY / statistics.median(f.cpu for f in got)
    size = got[0].bytes / got[0].requests / MANY
    show(f"{name}, {MANY} addresses of libjvm", f"{rate:12,.0f}/s  cpu {cpu:12,.0f}/s  "
         f"({size:.0f} bytes an address)", f"{goal:,}/s", rate >= goal)


def latency(bench, ours, bodies):
    """The slowest hundredth, counted from when each was due."""
    path, seconds = "/v1/symbolize", 2 * bench.options.seconds
    bench.load(ours, path, bodies=bodies, connections=CONNECTIONS)
    peak = bench.load(ours, path, bodies=bodies, connections=CONNECTIONS)
    half = [bench.load(ours, path, seconds, bodies=bodies, connections=4 * CONNECTIONS,
                       rate=peak.rate / 2) for _ in range(bench.options.rounds)]
    p99 = statistics.median(f.p99_us for f in half)
    show(f"JSON, {FEW} addresses, half of peak load",
         f"p99 {p99 / 1000:.2f} ms  p50 {statistics.median(f.p50_us for f in half) / 1000:.2f} ms  "
         f"at {half[0].rate:,.0f}/s of {peak.rate:,.0f}/s  cpu {peak.cpu * 1e6:.0f} us a request",
         "5 ms", p99 < 5000)


def hot_files(bench):
    """(build ID, path) of libjvm, libc with its debug file, and large libraries of this machine."""
    with open("/proc/self/maps", encoding="ascii") as maps:
        libc = Path(next(line.split()[-1] for line in maps if "/libc.so.6" in line))
    libraries = {p.resolve() for p in libc.parent.glob("*.so*") if p.is_file()} - {libc.resolve()}
    by_size = sorted(libraries, key=lambda p: (-p.stat().st_size, p))
    paths = [bench.libjvm(), libc, *by_size[:HOT + HOT // 2]]
    reported = bench.run("id", "--quick", "--json", *paths, check=False)
    ids = {Path(line["file"]): i[4:] for line in map(json.loads, reported.splitlines())
           for i in line["ids"] if i.startswith("gnu:")}
    return [(ids[p], p) for p in paths if p in ids]


def push_hot(bench, server):
    """Pushes them; requests for addresses all over each of HOT that the server now knows."""
    files = hot_files(bench)
    bench.run("push", *(path for _, path in files), server=server, check=False)
    pushed = [(i, p) for i, p in files if server.ask("GET", f"/v1/modules/gnu:{i}")[0] == 200][:HOT]
    return write_bodies(bench, "hot", len(pushed), lambda i: json_body(
        pushed[i][0], random_addresses(pushed[i][1], 10 * FEW)))


def ask_each(server, ids):
    """Every module answers."""
    for at in range(0, len(ids), 1000):
        body = {"modules": [{"id": i, "addresses": [0]} for i in ids[at:at + 1000]]}
        status, text = server.ask("POST", "/v1/symbolize", json.dumps(body))
        if status != 200 or {m["status"] for m in json.loads(text)["modules"]} != {"found"}:
            raise Failed(f"the copies are not found: {status} {text[:200]}")


def bench_memory(bench, _rows):
    """Anonymous memory with many modules known, some of them under load."""
    like = "gnu:" + bench.build_id(bench.program())
    with running(bench.serve("crowd-data")) as ours:
        bench.run("push", bench.program(), server=ours)
        hot = push_hot(bench, ours)
    known = add_modules(bench.work / "crowd-data", like, KNOWN - len(hot) - 1, blobs=True)
    with running(bench.serve("crowd-data")) as ours:
        start = ours.anonymous()
        ask_each(ours, known)
        figures = bench.load(ours, "/v1/symbolize", 2 * bench.options.seconds, bodies=hot,
                             connections=CONNECTIONS)
        used = ours.anonymous()
    show(f"memory, {KNOWN} modules, {len(hot)} hot",
         f"{used / 1e6:.1f} MB anonymous after {figures.requests} requests of {10 * FEW} "
         f"addresses, {start / 1e6:.1f} MB before", "200 MB", used < 200e6 and len(hot) == HOT)


def bench_restart(bench, _rows):
    """From the start of the process to the first 200 of /readyz."""
    with running(bench.serve("index-data")) as ours:
        bench.run("push", bench.program(), server=ours)
    like = "gnu:" + bench.build_id(bench.program())
    add_modules(bench.work / "index-data", like, INDEXED, blobs=False)
    took = []
    for _ in range(bench.options.rounds + 1):
        start = time.perf_counter()
        with running(bench.serve("index-data")) as ours:
            while ours.ask("GET", "/readyz")[0] != 200:
                time.sleep(0.001)
            took.append((time.perf_counter() - start, ours.cpu()))
    show(f"restart, {INDEXED} modules in the index",
         f"{statistics.median(t for t, _ in took[1:]):.3f} s  cpu "
         f"{statistics.median(c for _, c in took[1:]):.3f} s", "1 s",
         statistics.median(t for t, _ in took[1:]) < 1)


WORK = {("file", "unknown"): bench_files, ("v5",): bench_v5,
        ("json", "compact", "latency"): bench_json, ("memory",): bench_memory,
        ("restart",): bench_restart}


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True, help="the build folder")
    parser.add_argument("--samply", help="samply's program; without it, that row is left out")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds")
    parser.add_argument("--seconds", type=float, default=2, help="of load a round and server")
    parser.add_argument("rows", nargs="*", choices=[*ROWS, []], metavar="ROW", help=", ".join(ROWS))
    options = parser.parse_args()
    rows = set(options.rows or ROWS)
    if not options.samply and "v5" in rows:
        print("serve: the row v5 is left out: there is no samply", file=sys.stderr)
        rows.remove("v5")
    failed = 0
    for names, work_on in WORK.items():
        if not rows & set(names):
            continue
        with tempfile.TemporaryDirectory() as work:
            try:
                work_on(Bench(options, Path(work)), rows)
            except Failed as err:
                failed = 1
                print(f"serve: {', '.join(names)}: {err}", file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main())
