#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Peak of anonymous memory of extractions, with and without a limit; the limit must hold.

Each file is read as a whole and without DWARF, without a limit and with the agent's limit (100 and 40 MB). The
output must not depend on the limit.
"""
import argparse
import sys
import tempfile
from pathlib import Path

from bench import NAMES, Result, extraction, inputs, run_once

WAYS = [("DWARF", [], 100), ("symbols", ["--no-dwarf"], 40)]


def measure(name, path, options, work):
    """Prints a line for each way; false when a limit was exceeded or changed the result."""
    held = True
    for label, more, limit in WAYS:
        whole, bound = Result(), Result()
        for args, to, result in ((more, work / "whole.gsym", whole),
                                 ([*more, f"--memory={limit * 1000 * 1000}"], work / "bound.gsym", bound)):
            for _ in range(options.rounds):
                run_once(extraction(options, path, to, f"--threads={options.threads}", *args), None, result)
        peak = max(bound.anonymous)
        same = (work / "whole.gsym").read_bytes() == (work / "bound.gsym").read_bytes()
        held &= same and peak <= limit * 1e6
        print(f"memory {name + ', ' + label:28} {max(whole.anonymous) / 1e6:7.1f} MB without a limit, "
              f"{peak / 1e6:6.1f} MB with {limit} MB, processor time x{bound.median('cpu') / whole.median('cpu'):.2f}"
              f"{'' if same else '  OTHER BYTES'}{'' if peak <= limit * 1e6 else '  EXCEEDED'}", flush=True)
    return held


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--unhex", required=True, help="the command to measure")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each")
    parser.add_argument("--threads", type=int, default=1, help="threads of each")
    parser.add_argument("files", nargs="*", metavar="NAME|PATH",
                        help=f"{', '.join(NAMES)}, or other files with DWARF")
    options = parser.parse_args()
    options.unhex = str(Path(options.unhex).resolve())
    given = [(Path(path).name, Path(path)) for path in options.files if path not in NAMES]
    named = [name for name in options.files if name in NAMES]
    held = True
    with tempfile.TemporaryDirectory() as work:
        for name, path in [*(inputs(named) if named or not given else []), *given]:
            held &= measure(name, path, options, Path(work))
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
