#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints "PASSED FAILED" of one runner's report; a runner that broke counts as a failure.

usage: tally.py meson|junit|counts FILE EXIT_STATUS
"""
import json
import re
import sys
import xml.etree.ElementTree


def meson(path):
    """A testlog.json: one object a line. cmocka programs count as the tests inside them."""
    passed = failed = 0
    with open(path, encoding="utf-8", errors="replace") as log:
        for line in log:
            test = json.loads(line)
            output = (test.get("stdout") or "") + (test.get("stderr") or "")
            inner = len(re.findall(r"^\[       OK \] ", output, re.M))
            if test["result"] in ("OK", "EXPECTEDFAIL"):
                passed += max(inner, 1)
                continue
            named = re.findall(r"(\d+) FAILED TEST\(S\)", output)
            passed += inner
            failed += max(1, sum(map(int, named)))
    return passed, failed


def junit(path):
    """pytest's --junitxml. A skipped test proves nothing, so it counts as failed."""
    passed = failed = 0
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        bad = any(case.find(tag) is not None for tag in ("failure", "error", "skipped"))
        failed += bad
        passed += not bad
    return passed, failed


def counts(path):
    """Two numbers that a script of ours wrote."""
    with open(path, encoding="ascii") as file:
        passed, failed = map(int, file.read().split())
    return passed, failed


def main(kind, path, status):
    try:
        passed, failed = {"meson": meson, "junit": junit, "counts": counts}[kind](path)
    except (OSError, ValueError, KeyError, xml.etree.ElementTree.ParseError) as error:
        print(f"tally: {kind} report {path}: {error}", file=sys.stderr)
        passed, failed = 0, 1
    if failed == 0 and (status != 0 or passed == 0):
        failed = 1
    print(passed, failed)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
