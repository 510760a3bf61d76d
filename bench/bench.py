#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Times unhex against LLVM's tools: A B A B, medians, one line a case.

A ratio is the peer's figure divided by ours: 8.0 means that we take an eighth. "cpu" is the ratio of user and
system time, which other load on the machine disturbs less than the time by the clock. Memory is the peak of the
resident set and of its anonymous part, sampled from /proc while the command runs. (wait4's ru_maxrss would be
this script's wherever that is larger: it is kept across exec.) It is sampled only in the round that warms up,
since sampling takes a processor from commands with threads. Outputs are new files: the work of a file system
when a file is replaced, such as ext4's immediate writing of the new one, is in no figure of either side.
"""
import argparse
import os
import random
import re
import shutil
import statistics
import subprocess
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
NAMES = ["libc", "libjvm", "libjvm-plain", "vmlinux", "ceph"]
COMPRESSED = {"libc", "libjvm", "ceph"}
LOOKED_UP = {"libc", "libjvm-plain"}


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


def watch_memory(pid, ended, result):
    """Adds the peaks of memory until the command has ended."""
    rss = anonymous = 0
    while not ended.wait(SAMPLE_S):
        now = memory_of(pid)
        rss, anonymous = max(rss, now[0]), max(anonymous, now[1])
    result.rss.append(rss)
    result.anonymous.append(anonymous)


def run_once(args, given, result, memory=True):
    """Runs a command that has to succeed, and adds its figures; measuring memory costs it some time."""
    ended = threading.Event()
    if "-o" in args:
        Path(args[args.index("-o") + 1]).unlink(missing_ok=True)
    with open(given or os.devnull, "rb") as stdin, open(os.devnull, "wb") as null:
        start = time.perf_counter()
        pid = os.posix_spawn(args[0], args, os.environ, file_actions=[
            (os.POSIX_SPAWN_DUP2, stdin.fileno(), 0), (os.POSIX_SPAWN_DUP2, null.fileno(), 1),
            (os.POSIX_SPAWN_DUP2, null.fileno(), 2)])
        watcher = threading.Thread(target=watch_memory, args=(pid, ended, result))
        if memory:
            watcher.start()
        _, status, usage = os.wait4(pid, 0)
        seconds = time.perf_counter() - start
        ended.set()
        if memory:
            watcher.join()
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise RuntimeError(f"{' '.join(args)}: status {os.waitstatus_to_exitcode(status)}")
    result.seconds.append(seconds)
    result.cpu.append(usage.ru_utime + usage.ru_stime)


def compare(name, ours, peers, rounds, note=""):
    """ours and each of peers: (label, args, stdin); all alternate, the first round warms up."""
    results = {label: Result() for label, *_ in [ours, *peers]}
    for number in range(rounds + 1):
        for label, args, given in [ours, *peers]:
            if number == 0:
                warm = Result()
                run_once(args, given, warm)
                results[label].rss, results[label].anonymous = warm.rss, warm.anonymous
            else:
                run_once(args, given, results[label], memory=False)
    mine = results[ours[0]]
    for label, *_ in peers:
        other = results[label]
        ratio = {n: other.median(n) / max(mine.median(n), 1e-9)
                 for n in ("seconds", "cpu", "rss", "anonymous")}
        print(f"{name:34} {mine.median('seconds'):8.3f} s  {label:18} "
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


def gsymutils(options):
    """(label, path) of each llvm-gsymutil: Debian's stable one, and the newest when it is there."""
    found = [("llvm-gsymutil-19", llvm("llvm-gsymutil"))]
    if options.newest:
        newest = Path(options.newest) / "llvm-gsymutil"
        version = re.search(r"LLVM version (\d+)", subprocess.run(
            [newest, "--version"], check=True, capture_output=True, text=True).stdout)
        found.append((f"llvm-gsymutil-{version[1]}", str(newest)))
    return found


def extraction(options, path, to, *more):
    """Our command line."""
    return [options.unhex, "extract", str(path), "-o", str(to), *more]


def bench_extract(name, path, options, work):
    """Extractions by us and each peer, on one thread and on two; their sizes."""
    ours, theirs = work / "ours.gsym", work / "theirs.gsym"
    for threads in (1, 2):
        compare(f"extract {name}, {threads} thread{'s' * (threads > 1)}",
                ("unhex", extraction(options, path, ours, f"--threads={threads}"), None),
                [(label, [tool, "--convert", str(path), "-o", str(theirs),
                          f"--num-threads={threads}", "--quiet"], None)
                 for label, tool in gsymutils(options)], options.rounds)
    sizes = ours.stat().st_size, theirs.stat().st_size
    print(f"{'size ' + name:34} {sizes[0]:>10} B  {gsymutils(options)[-1][0]:18} "
          f"{sizes[1]:>10} B  x{sizes[1] / sizes[0]:.2f} (ours is {sizes[0] / sizes[1]:.3f})")


def run_pair(pair, results):
    """Runs two commands at the same time; returns the seconds until both have ended."""
    threads = [threading.Thread(target=run_once, args=(args, None, result, False))
               for args, result in zip(pair, results)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


def bench_threads(name, path, options, work):
    """Compares two threads with one, and shows the machine's limit: two extractions by one thread each at the same
    time against two in succession. Processors that share a core give less than 2."""
    outputs = [work / "ours.gsym", work / "other.gsym"]
    one, two, beside = Result(), Result(), Result()
    pairs = []
    for number in range(options.rounds + 1):
        last = number > 0
        run_once(extraction(options, path, outputs[0], "--threads=1"), None,
                 one if last else Result(), memory=False)
        run_once(extraction(options, path, outputs[0], "--threads=2"), None,
                 two if last else Result(), memory=False)
        seconds = run_pair([extraction(options, path, to, "--threads=1") for to in outputs],
                           [beside, beside])
        if last:
            pairs.append(seconds)
    gain = one.median("seconds") / two.median("seconds")
    most = 2 * one.median("seconds") / statistics.median(pairs)
    print(f"{'threads ' + name:34} {one.median('seconds'):8.3f} s  by one thread, "
          f"{two.median('seconds'):.3f} s by two: x{gain:.2f}; "
          f"two processes at once: x{most:.2f}", flush=True)


def bench_floor(name, path, options, work):
    """Against a cost that every reader has: one inflate of the input, with libdeflate."""
    compare(f"floor {name}, 1 thread",
            ("unhex", extraction(options, path, work / "ours.gsym", "--threads=1"), None),
            [("one inflate", [options.inflate, str(path)], None)], options.rounds,
            note="  (1 / 1.6 = x0.63)")


def bench_walk(name, path, options, work):
    """Against reading each byte once, running each line program, and writing as many bytes."""
    ours = work / "ours.gsym"
    size = str(ours.stat().st_size)
    compare(f"floor {name}, 1 thread",
            ("unhex", extraction(options, path, ours, "--threads=1"), None),
            [(f"walk {step}", [options.walk, str(path), step, *more], None)
             for step, *more in (["touch"], ["entries"], ["lines"], ["write", size])],
            options.rounds)


def bench_memory(name, path, options, work):
    """Measures the cost of a bound of 100 MB."""
    compare(f"memory {name}, 1 thread",
            ("--memory=100M", extraction(options, path, work / "ours.gsym", "--threads=1",
                                         "--memory=100M"), None),
            [("unhex", extraction(options, path, work / "whole.gsym", "--threads=1"), None)],
            options.rounds, note="  (twice as slow = x0.50)")
    if (work / "ours.gsym").read_bytes() != (work / "whole.gsym").read_bytes():
        raise RuntimeError(f"{name}: --memory=100M gave another file")


def bench_lookup(name, path, options, work):
    """Lookups in the GSYM and in the ELF file, text in and text out."""
    ours, theirs = work / "ours.gsym", work / "theirs.gsym"
    addresses = random_addresses(path, options.addresses)
    plain, paired = work / "plain", work / "paired"
    plain.write_text("".join(f"0x{a:x}\n" for a in addresses), encoding="ascii")
    paired.write_text("".join(f"0x{a:x} {theirs}\n" for a in addresses), encoding="ascii")
    # gsymutil prints plain text, the symbolizer prints the same lines as JSON
    compare(f"lookup {name}, {len(addresses)} random",
            ("unhex", [options.unhex, "lookup", "--demangle=none", str(ours)], str(plain)),
            [(label, [tool, "--addresses-from-stdin"], str(paired))
             for label, tool in gsymutils(options)[-1:]], options.rounds)
    compare(f"lookup {name}, from the ELF file",
            ("unhex", [options.unhex, "lookup", "--no-cache", "--json", "--demangle=none", str(path)],
             str(plain)),
            [("llvm-symbolizer", [llvm("llvm-symbolizer"), f"--obj={path}", "--inlines",
                                  "--no-demangle", "--output-style=JSON"], str(plain))],
            options.rounds)


def bench_file(name, path, options, work):
    """Everything about one debug file."""
    bench_extract(name, path, options, work)
    bench_threads(name, path, options, work)
    if name in COMPRESSED:
        bench_floor(name, path, options, work)
    else:
        bench_walk(name, path, options, work)
    if options.extract:
        return
    if name != "libc":
        bench_memory(name, path, options, work)
    if name in LOOKED_UP:
        bench_lookup(name, path, options, work)


def inputs(wanted):
    """Lists the (name, path) of existing files; all but libc need `./dev corpus`."""
    corpus = ROOT / "corpus"
    with open("/proc/self/maps", encoding="ascii") as maps:
        libc = next(line.split()[-1] for line in maps if "/libc.so.6" in line)
    every = {"libc": debug_file_of(libc), "libjvm": corpus / "libjvm.debug",
             "libjvm-plain": corpus / "libjvm-plain.debug", "vmlinux": corpus / "vmlinux",
             "ceph": corpus / "ceph.debug"}
    for name in wanted or every:
        if every[name].exists():
            yield name, every[name].resolve()
        else:
            print(f"bench: {name} is left out: no {every[name]} (./dev corpus)", file=sys.stderr)


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--unhex", required=True, help="the command to time")
    parser.add_argument("--rounds", type=int, default=3, help="measured rounds")
    parser.add_argument("--extract", action="store_true",
                        help="extractions, threads and the floor alone")
    parser.add_argument("--addresses", type=int, default=100_000, help="addresses to look up")
    parser.add_argument("--inflate", required=True, help="the program of bench/inflate.c")
    parser.add_argument("--walk", required=True, help="the program of bench/walk.c")
    parser.add_argument("--newest", help="folder of a newer LLVM's tools")
    parser.add_argument("files", nargs="*", choices=[*NAMES, []], metavar="NAME",
                        help=", ".join(NAMES))
    options = parser.parse_args()
    options.unhex = str(Path(options.unhex).resolve())
    options.inflate = str(Path(options.inflate).resolve())
    options.walk = str(Path(options.walk).resolve())
    with tempfile.TemporaryDirectory() as work:
        for name, path in inputs(options.files):
            bench_file(name, path, options, Path(work))
    return 0


if __name__ == "__main__":
    sys.exit(main())
