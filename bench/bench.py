#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Times unhex against LLVM's tools: A B A B, medians, one line a case.

A ratio is the peer's figure divided by ours: 8.0 means that we take an eighth. "cpu" is the ratio of
user and system time, which other load on the machine disturbs less than the time by the clock.
Memory is the peak of the resident set and of its anonymous part, sampled from /proc while the command
runs. (wait4's ru_maxrss would be this script's wherever that is larger: it is kept across exec.)
"""
import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "oracle"))

# pylint: disable=wrong-import-position
from elfread import Elf  # noqa: E402
from targets import debug_file_of  # noqa: E402

SAMPLE_S = 0.002


@dataclass
class Result:
    """Figures of several runs of one command."""
    seconds: list = field(default_factory=list)
    cpu: list = field(default_factory=list)
    rss: list = field(default_factory=list)
    anonymous: list = field(default_factory=list)

    def median(self, name):
        """The middle of one figure."""
        return statistics.median(getattr(self, name))


def memory_of(pid):
    """(peak of the resident set, anonymous memory now) in bytes; zeros when it is gone."""
    peak = anonymous = 0
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    peak = int(line.split()[1]) * 1024
                elif line.startswith("RssAnon:"):
                    anonymous = int(line.split()[1]) * 1024
    except OSError:
        pass
    return peak, anonymous


def run_once(args, given, result):
    """Runs a command that has to work, and adds its figures."""
    rss = anonymous = 0
    ended = threading.Event()
    with open(given or os.devnull, "rb") as stdin, open(os.devnull, "wb") as null:
        start = time.perf_counter()
        pid = os.posix_spawn(args[0], args, os.environ, file_actions=[
            (os.POSIX_SPAWN_DUP2, stdin.fileno(), 0), (os.POSIX_SPAWN_DUP2, null.fileno(), 1),
            (os.POSIX_SPAWN_DUP2, null.fileno(), 2)])

        def watch():
            nonlocal rss, anonymous
            while not ended.wait(SAMPLE_S):
                now = memory_of(pid)
                rss, anonymous = max(rss, now[0]), max(anonymous, now[1])

        watcher = threading.Thread(target=watch)
        watcher.start()
        _, status, usage = os.wait4(pid, 0)
        seconds = time.perf_counter() - start
        ended.set()
        watcher.join()
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise RuntimeError(f"{' '.join(args)}: status {os.waitstatus_to_exitcode(status)}")
    result.seconds.append(seconds)
    result.cpu.append(usage.ru_utime + usage.ru_stime)
    result.rss.append(rss)
    result.anonymous.append(anonymous)


def compare(name, ours, peers, rounds, note=""):
    """ours and each of peers: (label, args, stdin); all alternate, the first round warms up."""
    results = {label: Result() for label, *_ in [ours, *peers]}
    for number in range(rounds + 1):
        for label, args, given in [ours, *peers]:
            run_once(args, given, Result() if number == 0 else results[label])
    mine = results[ours[0]]
    for label, *_ in peers:
        other = results[label]
        ratio = {n: other.median(n) / max(mine.median(n), 1e-9)
                 for n in ("seconds", "cpu", "rss", "anonymous")}
        print(f"{name:34} {mine.median('seconds'):8.3f} s  {label:16} "
              f"{other.median('seconds'):8.3f} s  x{ratio['seconds']:<6.2f} cpu x{ratio['cpu']:<6.2f} "
              f"rss {mine.median('rss') / 1e6:7.1f} MB x{ratio['rss']:<6.2f} "
              f"anon {mine.median('anonymous') / 1e6:7.1f} MB x{ratio['anonymous']:<6.2f}{note}",
              flush=True)


def llvm(name):
    """LLVM 19's tool."""
    path = shutil.which(f"{name}-19")
    if not path:
        raise FileNotFoundError(f"{name}-19 is not installed (package llvm-19)")
    return path


def random_addresses(path, count):
    """The same every time; spread over the code by size."""
    elf = Elf(path)
    dice = random.Random(1)
    spans = dice.choices(elf.code, [high - low for low, high in elf.code], k=count)
    return [dice.randrange(low, high) for low, high in spans]


def bench_file(name, path, options, work):
    """Extract and lookups on one debug file."""
    ours, theirs = work / "ours.gsym", work / "theirs.gsym"
    gsymutil = llvm("llvm-gsymutil")
    for threads in (1, 2):
        compare(f"extract {name}, {threads} thread{'s' * (threads > 1)}",
                ("unhex", [options.unhex, "extract", str(path), "-o", str(ours),
                           f"--threads={threads}"], None),
                [("llvm-gsymutil", [gsymutil, "--convert", str(path), "-o", str(theirs),
                                    f"--num-threads={threads}", "--quiet"], None)], options.rounds)
    sizes = ours.stat().st_size, theirs.stat().st_size
    print(f"{'size ' + name:34} {sizes[0]:>10} B  {'llvm-gsymutil':16} {sizes[1]:>10} B  "
          f"x{sizes[1] / sizes[0]:.2f}")
    addresses = random_addresses(path, options.addresses)
    plain, paired = work / "plain", work / "paired"
    plain.write_text("".join(f"0x{a:x}\n" for a in addresses), encoding="ascii")
    paired.write_text("".join(f"0x{a:x} {theirs}\n" for a in addresses), encoding="ascii")
    # gsymutil prints plain text, the symbolizer is asked for the same lines as JSON
    compare(f"lookup {name}, {len(addresses)} random",
            ("unhex", [options.unhex, "lookup", "--demangle=none", str(ours)], str(plain)),
            [("llvm-gsymutil", [gsymutil, "--addresses-from-stdin"], str(paired))],
            options.rounds)
    compare(f"lookup {name}, from the ELF file",
            ("unhex", [options.unhex, "lookup", "--json", "--demangle=none", str(path)],
             str(plain)),
            [("llvm-symbolizer", [llvm("llvm-symbolizer"), f"--obj={path}", "--inlines",
                                  "--no-demangle", "--output-style=JSON"], str(plain))],
            options.rounds)


def inputs(wanted):
    """(name, path) of what is there; libjvm needs `./dev corpus`."""
    corpus = ROOT / "corpus"
    with open("/proc/self/maps", encoding="ascii") as maps:
        libc = next(line.split()[-1] for line in maps if "/libc.so.6" in line)
    every = {"libc": debug_file_of(libc), "libjvm": corpus / "libjvm.debug",
             "libjvm-plain": corpus / "libjvm-plain.debug"}
    for name in wanted or every:
        if every[name].exists():
            yield name, every[name].resolve()
        else:
            print(f"bench: {name} is left out: no {every[name]} (./dev corpus)", file=sys.stderr)


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--unhex", required=True, help="the command to time")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds")
    parser.add_argument("--addresses", type=int, default=100_000, help="addresses to look up")
    parser.add_argument("files", nargs="*", choices=["libc", "libjvm", "libjvm-plain", []],
                        metavar="NAME", help="libc, libjvm, libjvm-plain")
    options = parser.parse_args()
    options.unhex = str(Path(options.unhex).resolve())
    with tempfile.TemporaryDirectory() as work:
        for name, path in inputs(options.files):
            bench_file(name, path, options, Path(work))
    return 0


if __name__ == "__main__":
    sys.exit(main())
