#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares unhex with other symbolizers on real files, address by address.

Without FILE: all that `./dev corpus` fetched, and programs of many languages. With --sample: what
`./dev test` looks at. Prints tables of agreement and of every class of difference; ends with status
1 when fewer than 99.99 % of the addresses agree with one of them and no class says why.
"""
import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import classes
import corpus
import languages
import peers
import programs
import report
from elfread import Elf
from score import Judge
from targets import Target, debug_file_of, libc

LEAST = {"sample": 100_000, "corpus": 1_000_000}  # addresses, for a run without FILE
GOAL = 0.9999


class Checks:
    """Named yes-or-no results."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def that(self, fine, what):
        """Counts one result; a failure is printed."""
        self.passed += bool(fine)
        self.failed += not fine
        if not fine:
            print(f"FAILED: {what}")


def compare_one(target, options, work, judge, checks):
    """All comparisons for one file."""
    gsym = Path(work) / "ours.gsym"
    target.extract(options.unhex, gsym)
    target.prepare(work)
    addresses = target.addresses(options.unhex, gsym)
    ours = peers.unhex(options.unhex, gsym, [a - target.bias for a in addresses])
    if target.readers:
        check_readers(target, options, gsym, ours, checks)
    ours = {address + target.bias: frames for address, frames in ours.items()}
    elf, sup = target.elf, target.supplementary
    answers = {
        "llvm": peers.in_halves(lambda a: peers.symbolizer(elf.path, a), addresses),
        "gimli": peers.in_halves(lambda a: peers.gimli(options.gimli, elf, a, sup), addresses),
    }
    judge.add(target, ours, answers,
              lambda a: peers.elfutils(target.for_elfutils(work), a))


def check_readers(target, options, gsym, ours, checks):
    """LLVM's reader has our answers from our file, and so has the file itself."""
    addresses = list(ours)
    if not target.debug:
        direct = peers.unhex(options.unhex, target.exe, addresses)
        checks.that(direct == ours, f"{target.name}: lookups in the file and in its GSYM differ")
    complaints = peers.gsym_dump(gsym)
    checks.that(not complaints, f"{target.name}: llvm-gsymutil's dump: {complaints[:500]}")
    theirs = peers.gsymutil(gsym, addresses)
    wrong = [a for a in addresses if ours[a] != theirs.get(a)]
    checks.that(not wrong, f"{target.name}: llvm-gsymutil reads {len(wrong)} addresses of our "
                           f"GSYM otherwise: {[hex(a) for a in wrong[:5]]}")


def target_of(path, count):
    """A file as it was named; with its debug file, where it has no DWARF and one is installed."""
    try:
        if Elf(path).has_lines:
            return Target(Path(path).name, path, count=count)
        return Target(Path(path).name, path, debug_file_of(path), count)
    except ValueError as error:
        raise SystemExit(f"oracle: {error}") from error
    except (IndexError, OSError, subprocess.SubprocessError) as error:
        raise SystemExit(f"oracle: {path} is stripped, and no debug file of it is installed: there "
                         "is nothing to compare; name the unstripped or the .debug file") from error


def targets_of(options):
    """(what to compare, what it says about what is missing)."""
    if options.files:
        return [target_of(f, options.count) for f in options.files], []
    others, missing = languages.compile_all(options.programs / "languages")
    notes = [f"no compiler for {name} here: left out" for name in missing]
    compiled = [Target(f.name, f, count=options.count) for f in others]
    if options.sample:
        matrix = [Target(p.name, p, count=1200, readers=True, group="C and C++")
                  for p in programs.compile_all(options.programs / "matrix")]
        for target in compiled:
            target.count = 6_000
        return matrix + compiled + [libc(20_000)] + list(corpus.sample()), notes
    return [libc(), Target("gimli_lookup (rust)", options.gimli)] + compiled + list(
        corpus.everything()), notes


def run_all(targets, options, judge, checks):
    """Each target in turn."""
    for target in targets:
        started = time.monotonic()
        try:
            with tempfile.TemporaryDirectory() as work:
                compare_one(target, options, work, judge, checks)
            checks.that(True, target.name)
            if options.verbose:
                print(f"{target.name}: {time.monotonic() - started:.1f} s", file=sys.stderr)
        except (RuntimeError, OSError, ValueError, subprocess.SubprocessError) as error:
            checks.that(False, f"{target.name}: {error}")


def conclude(judge, options, checks):
    """What the run as a whole must show."""
    total = judge.total
    unknown = len(judge.unexplained["none"])
    checks.that(total.addresses > 0, "there were no addresses to compare")
    if not options.files:
        least = LEAST["sample" if options.sample else "corpus"]
        checks.that(total.addresses >= least,
                    f"only {total.addresses} addresses, not {least}")
    checks.that(total.share(total.none) <= 1 - GOAL or unknown == 0,
                f"{total.none} of {total.addresses} addresses agree with no other tool, and "
                f"{unknown} of these are in no class")


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--unhex", required=True, help="the command to test")
    parser.add_argument("--programs", default="build/oracle", help="folder for compiled programs")
    parser.add_argument("--sample", action="store_true", help="the small set of ./dev test")
    parser.add_argument("--count", type=int, help="addresses for each file, instead of by its size")
    parser.add_argument("--only", help="with no FILE: inputs whose name has this in it")
    parser.add_argument("--counts", help="write 'PASSED FAILED' to this file")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("files", nargs="*", metavar="FILE", help="ELF files with their own DWARF")
    options = parser.parse_args()
    options.unhex = str(Path(options.unhex).resolve())
    options.programs = Path(options.programs).resolve()

    started = time.monotonic()
    checks = Checks()
    judge = Judge(classes.CLASSES)
    options.gimli = peers.gimli_build(options.programs / "gimli")
    targets, notes = targets_of(options)
    for target in targets:
        target.count = options.count or target.count
    if options.only:
        targets = [t for t in targets if options.only in t.name]
    run_all(targets, options, judge, checks)
    for note in notes:
        print(note)
    report.agreement(judge)
    report.differences(judge)
    report.unexplained(judge)
    conclude(judge, options, checks)
    print(f"\n{len(targets)} files, {time.monotonic() - started:.0f} s")
    print(f"{checks.passed} passed, {checks.failed} failed")
    if options.counts:
        Path(options.counts).write_text(f"{checks.passed} {checks.failed}\n", encoding="ascii")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
