#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares unhex with LLVM's tools on real files, address by address.

With no FILE: the programs of programs.py and libc6-dbg's libc, as `./dev test` does. Prints a table
of every class of difference; ends with status 1 when one is not explained or explains too much.
"""
import argparse
import sys
import tempfile
import time
from pathlib import Path

import classes
import peers
import programs
from compare import Tally
from targets import Target, libc

LEAST = 100_000  # addresses, for a run without FILE


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


def compare_one(target, options, work, tallies, checks):
    """All comparisons for one file."""
    addresses = target.addresses(options.random)
    gsym = Path(work) / "ours.gsym"
    target.extract(options.unhex, gsym)
    target.prepare(addresses, work)
    ours = peers.unhex(options.unhex, gsym, addresses)
    by_symbolizer = peers.symbolizer(target.symbols, addresses)
    tallies["symbolizer"].add(target.name, ours, by_symbolizer, target)
    if not target.debug:
        direct = peers.unhex(options.unhex, target.exe, addresses)
        checks.that(direct == ours, f"{target.name}: lookups in the file and in its GSYM differ")
    complaints = peers.gsym_dump(gsym)
    checks.that(not complaints, f"{target.name}: llvm-gsymutil's dump: {complaints[:500]}")
    tallies["gsymutil"].add(target.name, ours, peers.gsymutil(gsym, addresses), target)
    gsym.unlink()
    target.forget()


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--unhex", required=True, help="the command to test")
    parser.add_argument("--programs", default="build/oracle", help="folder for compiled programs")
    parser.add_argument("--random", type=int, default=500, help="random addresses a file")
    parser.add_argument("--counts", help="write 'PASSED FAILED' to this file")
    parser.add_argument("files", nargs="*", metavar="FILE", help="ELF files with their own DWARF")
    options = parser.parse_args()
    options.unhex = str(Path(options.unhex).resolve())
    options.programs = Path(options.programs).resolve()

    started = time.monotonic()
    if options.files:
        targets = [Target(Path(f).name, f) for f in options.files]
    else:
        targets = [Target(p.name, p) for p in programs.compile_all(options.programs)] + [libc()]
    checks = Checks()
    tallies = {"symbolizer": Tally("llvm-symbolizer", classes.SYMBOLIZER),
               "gsymutil": Tally("llvm-gsymutil on our GSYM", classes.GSYMUTIL)}
    with tempfile.TemporaryDirectory() as work:
        for target in targets:
            try:
                compare_one(target, options, work, tallies, checks)
                checks.that(True, target.name)
            except (RuntimeError, OSError) as error:
                checks.that(False, f"{target.name}: {error}")
    for tally in tallies.values():
        tally.report()
        failures = list(tally.failures())
        for failure in failures:
            checks.that(False, f"{tally.title}: {failure}")
        checks.that(not failures, f"{tally.title}: {len(failures)} failures")
        if not options.files:
            checks.that(tally.addresses >= LEAST,
                        f"{tally.title}: only {tally.addresses} addresses, not {LEAST}")
    print(f"{len(targets)} files, {time.monotonic() - started:.0f} s")
    print(f"{checks.passed} passed, {checks.failed} failed")
    if options.counts:
        Path(options.counts).write_text(f"{checks.passed} {checks.failed}\n", encoding="ascii")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
