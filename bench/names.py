#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Names a second. One line a case.

Names from libLLVM and from other installed libraries, by bench/demangle on one core; c++filt and llvm-cxxfilt
are timed as whole processes, reading and writing included, as ours is in the third figure.
"""
import argparse
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib/llvm-19/lib",
           "/usr/lib/llvm-14/lib"]


def cpu_of(command, **how):
    """Processor seconds of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **how)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def best(command, rounds, **how):
    """The least of some runs."""
    return min(cpu_of(command, **how) for _ in range(rounds))


def names_of(pattern):
    """C++ names that the libraries export."""
    names = set()
    for folder in FOLDERS:
        for path in Path(folder).glob(pattern):
            text = subprocess.run(["nm", "-D", "--defined-only", str(path)], check=False,
                                  capture_output=True, text=True).stdout
            names.update(re.findall(r"^\S+ \S (_Z[^@\s]+)", text, re.M))
    return sorted(names)


def bench_names(label, pattern, build, work):
    """One set of names."""
    names = names_of(pattern)
    if not names:
        print(f"bench: {label} is left out: no {pattern}", file=sys.stderr)
        return
    path = work / "names"
    path.write_text("\n".join(names) + "\n", encoding="ascii")
    ours = str(build / "bench/demangle")
    with open(path, encoding="ascii") as text:
        inner = subprocess.run([ours, "--time", "5"], stdin=text, check=True, capture_output=True,
                               text=True).stdout.split(", ")[1].strip()
    figures = []
    for tool in [ours], ["c++filt"], ["/usr/lib/llvm-19/bin/llvm-cxxfilt"]:
        seconds = min(cpu_of(tool, stdin=open(path, encoding="ascii")) for _ in range(5))
        figures.append(len(names) / seconds * 1e-6)
    print(f"{'names ' + label:24} {len(names):>7}  {inner}; as processes: ours {figures[0]:.2f}, "
          f"c++filt {figures[1]:.2f}, llvm-cxxfilt {figures[2]:.2f} million a second")


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build folder to time")
    options = parser.parse_args()
    build = Path(options.build).resolve()
    with tempfile.TemporaryDirectory() as work:
        bench_names("libLLVM-14", "libLLVM-14.so.1", build, Path(work))
        bench_names("all of /usr/lib", "lib*.so*", build, Path(work))
    return 0


if __name__ == "__main__":
    sys.exit(main())
