#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The stand-in for addr2line against binutils' own, on libjvm. Processor seconds, one line a case.

first: the cache is empty. later: the cache has the extracted symbols, as after some calls. without:
UNHEX_CACHE=off. Then many calls of one address each from an empty cache, as perf and scripts make them; for
binutils, one call's time is multiplied. A ratio is binutils' figure divided by ours.
"""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from names import ROOT, cpu_of

FILES = ["libjvm.debug", "libjvm-plain.debug"]
CALLS_MAX = 100
TIMES = 200


def write_addresses(path, count, requested):
    """Addresses in functions of one file."""
    random.seed(1)
    text = subprocess.run(["nm", "-S", str(path)], check=True, capture_output=True, text=True).stdout
    functions = [(int(a, 16), int(n, 16)) for a, n in
                 re.findall(r"^(\w+) (\w+) [tTwW] ", text, re.M) if int(n, 16) > 16]
    with open(requested, "w", encoding="ascii") as out:
        for _ in range(count):
            start, size = random.choice(functions)
            out.write(f"{start + random.randrange(size):x}\n")


class Cache:
    """A user's cache of our own."""

    def __init__(self, folder):
        self.folder = folder
        self.env = {k: v for k, v in os.environ.items() if k != "UNHEX_CACHE"}
        self.env["XDG_CACHE_HOME"] = str(folder)

    def clear(self):
        """Nothing is kept."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o700)

    def is_filled(self):
        """Something is."""
        return any((self.folder / "unhex").glob("*.gsym"))


def bench(path, count, unhex, work):
    """One number of addresses, read from standard input."""
    requested, cache = work / "requests", Cache(work / "cache")
    write_addresses(path, count, requested)
    args = ["-fie", str(path)]

    def ours(env):
        return cpu_of([unhex, "addr2line", *args], env=env, stdin=open(requested, encoding="ascii"))

    theirs = cpu_of(["addr2line", *args], stdin=open(requested, encoding="ascii"))
    first = []
    for _ in range(3):
        cache.clear()
        first.append(ours(cache.env))
    calls = 1
    while not cache.is_filled() and calls < CALLS_MAX:
        ours(cache.env)
        calls += 1
    figures = {"first": min(first), "later": min(ours(cache.env) for _ in range(5)),
               "without": min(ours({**cache.env, "UNHEX_CACHE": "off"}) for _ in range(3))}
    text = "  ".join(f"{name} {s:.3f} s x{theirs / s:.1f}" for name, s in figures.items())
    print(f"addr2line {path.name:18} {count:>6} addresses  binutils {theirs:.3f} s  {text}  "
          f"(kept by call {calls})", flush=True)
    return theirs


def bench_calls(path, each, unhex, work):
    """Many calls; `each` is the time of one of binutils' calls."""
    requested, cache = work / "requests", Cache(work / "cache")
    write_addresses(path, TIMES, requested)
    addresses = requested.read_text(encoding="ascii").split()
    cache.clear()
    ours = sum(cpu_of([unhex, "addr2line", "-fie", str(path), a], env=cache.env) for a in addresses)
    print(f"addr2line {path.name:18} {TIMES:>6} calls      binutils {TIMES * each:.3f} s  ours {ours:.3f} s "
          f"x{TIMES * each / ours:.1f}", flush=True)


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build folder to time")
    options = parser.parse_args()
    unhex = str(Path(options.build).resolve() / "cli/unhex")
    with tempfile.TemporaryDirectory() as folder:
        for name in FILES:
            path = ROOT / "corpus" / name
            if not path.exists():
                print(f"bench: {name} is left out: ./dev corpus makes it", file=sys.stderr)
                continue
            each = bench(path, 1, unhex, Path(folder))
            for count in 1_000, 20_000:
                bench(path, count, unhex, Path(folder))
            bench_calls(path, each, unhex, Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
