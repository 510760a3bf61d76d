#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints "PASSED FAILED" of one runner's report; a runner that broke counts as a failure.

usage: tally.py meson|junit|counts FILE EXIT_STATUS
       tally.py again FIRST.xml SECOND.xml

The second prints what a first run of pytest left for its second one: the names of the tests that
failed in FIRST and passed in SECOND, one a line.
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


def cases(path):
    """Of pytest's --junitxml: each test's name and whether it passed; a skipped one proves nothing."""
    return {(case.get("classname"), case.get("name")):
            not any(case.find(tag) is not None for tag in ("failure", "error", "skipped"))
            for case in xml.etree.ElementTree.parse(path).iter("testcase")}


def junit(path):
    """One report, or "FIRST,SECOND": then the second's word counts for the tests that it has."""
    results = {}
    for one in path.split(","):
        results.update(cases(one))
    passed = sum(results.values())
    return passed, len(results) - passed


def again(first, second):
    before = cases(first)
    for (place, name), passed in cases(second).items():
        if passed and not before[place, name]:
            print(f"{place}::{name}")


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
    if sys.argv[1] == "again":
        again(sys.argv[2], sys.argv[3])
    else:
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
