#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Answers of POST /v1/symbolize to addresses that the server has not seen.

For each file 200,000 random addresses, each once, in requests of 10,000, to the server's handlers without sockets
(bench/symbolize). Reached: of the last fifth, an address; by then the frame cache is filled in the background, if
there is room for it. All: of all addresses, with the processor time of filling. A time is the smallest of some
rounds, in nanoseconds of processor time. --instructions counts them by callgrind as well.
"""
import argparse
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from bench import inputs, random_addresses  # noqa: E402

ADDRESSES = 200_000
LATE = ADDRESSES // 5
BATCH = "10000"
FORMS = {"json": ("JSON", 1000), "compact": ("compact", 667)}  # goals: a million a second, 1.5 million


def run(*command):
    """Returns the output of a command."""
    return subprocess.run([str(c) for c in command], check=True, capture_output=True,
                          text=True).stdout


def reached(options, form, files):
    """Returns {name: figure} of a run; "last" is ns of an address of the last fifth."""
    out = run(options.build / "bench/symbolize", form, *files, BATCH, 0)
    found = {"last": r"the last fifth (\d+) ns", "all": r"new (\d+) ns", "bytes": r"([\d.]+) bytes of answer",
             "filled": r"filled: (\d+)", "filling": r"in (\d+) ms", "memory": r"caches ([\d.]+) MB"}
    return {what: float(re.search(pattern, out)[1]) for what, pattern in found.items()}


def counted(work, functions, *command):
    """Returns callgrind_annotate's report of a run in which only calls of these functions were counted."""
    out = work / "callgrind"
    run("valgrind", "--tool=callgrind", *(f"--toggle-collect={f}*" for f in functions),
        f"--callgrind-out-file={out}", *command)
    return run("callgrind_annotate", "--inclusive=yes", "--threshold=100", out)


def calls_of(table, function):
    """Returns the instructions of a function and its callees, for an address of the last fifth."""
    return int(re.search(rf"([\d,]+) .*:{function}\b", table)[1].replace(",", "")) / LATE


def instructions(options, files, work):
    """{form: instructions an address}."""
    found = {}
    for form in FORMS:
        table = counted(work, ["time_of_last_fifth"], options.build / "bench/symbolize", form,
                        *files, BATCH, 0)
        found[form] = calls_of(table, "ux_handle_symbolize")
    return found


def show(name, found, runs):
    """Two rows of the table; runs: {form: result of reached()}."""
    for form, (title, goal) in FORMS.items():
        best = {what: min(r[what] for r in runs[form]) for what in runs[form][0]}
        cells = [f"{name}, {title}", f"{best['bytes']:.0f}", f"{goal}",
                 f"{best['last']:.0f} ({1000 / best['last']:.2f})", f"{best['all']:.0f}",
                 f"{best['filling']:.0f} ms" if best["filled"] else "not filled", f"{best['memory']:.0f} MB"]
        if found:
            cells.append(f"{found[form]:.0f}")
        print(f"| {' | '.join(cells)} |", flush=True)


def bench_file(name, path, options, work):
    """Both forms of one file."""
    gsym, addresses = work / "file.gsym", work / "addresses"
    run(options.build / "cli/unhex", "extract", path, "-o", gsym)
    addresses.write_bytes(struct.pack(f"={ADDRESSES}Q", *random_addresses(path, ADDRESSES)))
    files, runs = (gsym, addresses), {form: [] for form in FORMS}
    for _ in range(options.rounds):
        for form in FORMS:
            runs[form].append(reached(options, form, files))
    show(name, instructions(options, files, work) if options.instructions else None, runs)


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True, help="the build folder")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--instructions", action="store_true", help="takes some minutes")
    parser.add_argument("files", nargs="*", metavar="NAME|PATH",
                        help="libjvm, ceph, or a debug file")
    options = parser.parse_args()
    options.build = options.build.resolve()
    subprocess.run(["ninja", "-C", options.build, "--quiet", "cli/unhex", "bench/symbolize"],
                   check=True)
    given = options.files or ["libjvm", "ceph"]
    named = list(inputs([f for f in given if "/" not in f])) if any(
        "/" not in f for f in given) else []
    named += [(Path(f).name, Path(f)) for f in given if "/" in f]
    head = ["", "bytes", "goal", "reached (M/s)", "all", "filling", "memory"]
    if options.instructions:
        head.append("instructions")
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    with tempfile.TemporaryDirectory() as work:
        for name, path in named:
            bench_file(name, path, options, Path(work))
    return 0


if __name__ == "__main__":
    sys.exit(main())
