#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Times lookups inside one process, ours through the C API against LLVM's GsymReader.

Both read the GSYM that llvm-gsymutil wrote, and ours also the one that unhex wrote. Rounds alternate;
a figure is the median of them, a ratio LLVM's time divided by ours. Frames and lines found are compared:
in the same file they must be equal.
"""
import argparse
import random
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from bench import inputs, llvm, random_addresses  # noqa: E402

PROFILE_PLACES = 20_000  # different addresses in a profile
COLD = 2_000
FROM_DWARF = 20_000  # addresses for the symbolizer, which reads DWARF each time


def profile_addresses(path, count):
    """Samples as a profiler takes them: few addresses often, most of them seldom (Zipf's law)."""
    places = random_addresses(path, PROFILE_PLACES)
    weights = [1 / (rank + 1) for rank in range(len(places))]
    return random.Random(2).choices(places, weights, k=count)


def write(path, addresses):
    """A file of 64-bit numbers."""
    path.write_bytes(struct.pack(f"={len(addresses)}Q", *addresses))
    return path


def measure(sides, rounds):
    """{label: (ns an address, frames, lines)} of sides' commands, which alternate."""
    got = {label: [] for label in sides}
    for _ in range(rounds):
        for label, args in sides.items():
            out = subprocess.run([str(a) for a in args], check=True, capture_output=True, text=True)
            got[label].append([float(word) for word in out.stdout.split()])
    return {label: (statistics.median(r[0] for r in rows), rows[0][1], rows[0][2])
            for label, rows in got.items()}


def show(name, found, count):
    """One line a side; ratios are to the first one when that is LLVM's."""
    first = next(iter(found))
    base = found[first] if first.startswith("LLVM") else None
    for label, (ns, frames, _) in found.items():
        ratio = f"x{base[0] / ns:<6.1f}" if base and label != first else " " * 7
        print(f"{name:28} {label:22} {ns:10.1f} ns an address  {ratio} "
              f"{frames / count / ns * 1e3:7.1f} M frames/s", flush=True)
    ours = found.get("unhex, LLVM's file")
    if base and ours and base[1:] != ours[1:]:
        print(f"{name}: the answers differ: {base[1:]} and {ours[1:]} frames and lines in all")


def bench_file(name, path, options, work):
    """All cases on one debug file."""
    ours, theirs = work / "ours.gsym", work / "theirs.gsym"
    subprocess.run([options.build / "cli/unhex", "extract", path, "-o", ours], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run([llvm("llvm-gsymutil"), "--convert", path, "-o", theirs, "--quiet"], check=True,
                   stdout=subprocess.DEVNULL)
    lists = {"random": random_addresses(path, options.addresses),
             "profile": profile_addresses(path, options.addresses),
             "cold": random_addresses(path, COLD)}
    mine, llvms = options.build / "bench/lookup_ours", options.build / "bench/lookup_llvm"
    for kind, addresses in lists.items():
        at = write(work / kind, addresses)
        case = "cold" if kind == "cold" else "single"
        sides = {"LLVM": [llvms, case, theirs, at]} if llvms.exists() else {}
        sides["unhex, LLVM's file"] = [mine, case, theirs, at]
        sides["unhex, unhex' file"] = [mine, case, ours, at]
        if case == "single":
            sides["indexed, unhex' file"] = [mine, "indexed", ours, at]
            sides["batch, unhex' file"] = [mine, "batch", ours, at]
        show(f"{name}, {kind}", measure(sides, options.rounds), len(addresses))
    if llvms.exists():
        few = write(work / "few", lists["random"][:FROM_DWARF])
        show(f"{name}, {FROM_DWARF} random", measure({
            "LLVM's symbolizer": [llvms, "symbolizer", path, few],
            "unhex, unhex' file": [mine, "single", ours, few],
            "indexed, unhex' file": [mine, "indexed", ours, few]}, options.rounds), FROM_DWARF)


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True, help="the build folder")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--addresses", type=int, default=1_000_000)
    parser.add_argument("files", nargs="*", metavar="NAME", help="libc, libjvm")
    options = parser.parse_args()
    options.build = options.build.resolve()
    wanted = ["cli/unhex", "bench/lookup_ours"]
    wanted += ["bench/lookup_llvm"] if shutil.which("llvm-config-19") else []
    subprocess.run(["ninja", "-C", options.build, "--quiet", *wanted], check=True)
    with tempfile.TemporaryDirectory() as work:
        for name, path in inputs(options.files or ["libc", "libjvm"]):
            bench_file(name, path, options, Path(work))
    return 0


if __name__ == "__main__":
    sys.exit(main())
