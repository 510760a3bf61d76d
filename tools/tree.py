#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the shape of the source tree, and fails where it grows worse than what was agreed.

Three figures tell how much a newcomer has to open and how readable a flame graph of unhex is:

* how many source files there are;
* the share of headers that at most one file besides their own .c includes: each is a door to one room;
* how many function names are defined in more than one file: a profile cannot distinguish them.

tests/, fuzz/, bench/, tools/ and docs/ are not counted. `tools/tree.py -v` lists what is behind each figure.
"""

import collections
import os
import re
import subprocess
import sys

HEADERS_SHARE_MAX = 0.12
SHARED_NAMES_MAX = 40
LINES_MAX = 1000

NOT_COUNTED = re.compile(r"(tests|fuzz|bench|tools|docs)/")
INCLUDE = re.compile(r'#\s*include "([^"]+)"')
# clang-format puts the first line of a definition in column 0 and its brace alone on a line.
DEFINITION = re.compile(
    r"^(?:[A-Za-z_][\w\s\*]*?[\s\*])([A-Za-z_]\w*)\((?:[^;{}]|\{[^\n])*?\)[^;{}()]*?\n\{", re.M
)


def source_files():
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.c", "*.h"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return sorted(f for f in listing if not NOT_COUNTED.match(f) and os.path.exists(f))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def lonely_headers(texts):
    """Headers that at most one file includes, the .c file of the same name left out of account."""
    readers = collections.defaultdict(set)
    for path, text in texts.items():
        for name in INCLUDE.findall(text):
            readers[os.path.basename(name)].add(path)
    lonely = {}
    for path in texts:
        if not path.endswith(".h") or path.startswith("include/"):
            continue
        own = os.path.splitext(path)[0] + ".c"
        others = readers[os.path.basename(path)] - {own, path}
        if len(others) <= 1:
            lonely[path] = others
    return lonely


def definitions(texts):
    homes = collections.defaultdict(set)
    for path, text in texts.items():
        for match in DEFINITION.finditer(text):
            homes[match.group(1)].add(path)
    return homes


def main():
    os.chdir(os.path.dirname(os.path.abspath(__file__)) + "/..")
    verbose = "-v" in sys.argv[1:]
    texts = {path: read(path) for path in source_files()}
    headers = [p for p in texts if p.endswith(".h") and not p.startswith("include/")]
    lonely = lonely_headers(texts)
    homes = definitions(texts)
    shared = {name: paths for name, paths in homes.items() if len(paths) > 1}
    lengths = sorted(text.count("\n") for path, text in texts.items() if path.endswith(".c"))
    long_files = [p for p, text in texts.items() if text.count("\n") > LINES_MAX]
    share = len(lonely) / len(headers)
    print(f"files: {len(texts)}")
    print(f"lines of a .c file: median {lengths[len(lengths) // 2]}, most {lengths[-1]}")
    print(f"headers: {len(headers)}; {len(lonely)} ({share:.1%}) with at most one reader")
    print(f"functions: {len(homes)} names; {len(shared)} defined in several files")
    if verbose:
        for name, paths in sorted(shared.items(), key=lambda item: -len(item[1])):
            print(f"  {name}: {' '.join(sorted(paths))}")
        for path, others in sorted(lonely.items()):
            print(f"  {path}: {' '.join(others) or 'no reader'}")
    failures = [f"{path}: over {LINES_MAX} lines" for path in long_files]
    if share > HEADERS_SHARE_MAX:
        failures.append(f"headers with at most one reader: over {HEADERS_SHARE_MAX:.0%}")
    if len(shared) > SHARED_NAMES_MAX:
        failures.append(f"names defined in several files: over {SHARED_NAMES_MAX}")
    for failure in failures:
        print(f"tree: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
