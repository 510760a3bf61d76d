#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints "PASSED FAILED SKIPPED" of one runner's report; a runner that broke counts as a failure.

usage: tally.py meson|junit|counts FILE EXIT_STATUS
       tally.py again FIRST.xml SECOND.xml
       tally.py failed LOG.json
       tally.py names meson|junit FILE
       tally.py skipped FILE
       tally.py unlisted LIST <LINES

A skipped test counts as failed, except where UNHEX_TESTS is "bare": ./dev test runs on any machine.
The second prints what a first run of pytest left for its second one: the names of the tests that
failed in FIRST and passed in SECOND, one a line. The third prints the names of the programs that
failed in a log of meson's, as `meson test` takes them. The fourth prints what the first counts as
failed, by name; the fifth why tests were skipped, and how many for each reason. The last prints the lines
"CHECK: TEST" whose test the list (tests/repeated.txt) does not name.
"""
import collections
import json
import os
import re
import sys
import xml.etree.ElementTree


SKIPS_ALLOWED = os.environ.get("UNHEX_TESTS") == "bare"


def programs(path):
    """Of a testlog.json, one object a line: each program's tests that passed, and those that failed.

    A program of cmocka counts as the tests inside it.
    """
    results = {}
    with open(path, encoding="utf-8", errors="replace") as log:
        for line in log:
            test = json.loads(line)
            output = (test.get("stdout") or "") + (test.get("stderr") or "")
            inner = len(re.findall(r"^\[       OK \] ", output, re.M))
            if test["result"] in ("OK", "EXPECTEDFAIL"):
                results[test["name"]] = max(inner, 1), 0
                continue
            named = re.findall(r"(\d+) FAILED TEST\(S\)", output)
            results[test["name"]] = inner, max(1, sum(map(int, named)))
    return results


def merged(read, path):
    """Of one report, or of "FIRST,SECOND": then the second decides about the tests that it has."""
    results = {}
    for one in path.split(","):
        results.update(read(one))
    return results


def meson(path):
    results = merged(programs, path)
    return tuple(map(sum, zip(*results.values()))) if results else (0, 0)


def cases(path):
    """Of pytest's --junitxml: each test's name and whether it passed; a skipped one proves nothing."""
    bad = ("failure", "error") if SKIPS_ALLOWED else ("failure", "error", "skipped")
    return {(case.get("classname"), case.get("name")): not any(case.find(tag) is not None for tag in bad)
            for case in xml.etree.ElementTree.parse(path).iter("testcase")}


def reasons(path):
    """Of pytest's --junitxml: why each skipped test was."""
    return {(case.get("classname"), case.get("name")): case.find("skipped").get("message")
            for case in xml.etree.ElementTree.parse(path).iter("testcase") if case.find("skipped") is not None}


def junit(path):
    results = merged(cases, path)
    passed = sum(results.values())
    left = len(merged(reasons, path)) if SKIPS_ALLOWED else 0
    return passed - left, len(results) - passed, left


def skipped(path):
    for reason, count in collections.Counter(merged(reasons, path).values()).most_common():
        print(f"== skipped: {count}: {reason}")


def again(first, second):
    before = cases(first)
    for (place, name), passed in cases(second).items():
        if passed and not before[place, name]:
            print(f"{place}::{name}")


def failed(path):
    for name, (_, bad) in programs(path).items():
        if bad:
            print(name.rpartition(" / ")[2])


def names(kind, path):
    if kind == "meson":
        for name, (_, bad) in merged(programs, path).items():
            if bad:
                print(name)
    elif kind == "junit":
        for (place, name), passed in merged(cases, path).items():
            if not passed:
                print(f"{place}::{name}")


def listed(path):
    """The tests that a file names, with the cause after each: "TEST # cause"."""
    with open(path, encoding="utf-8") as file:
        return {line.partition(" # ")[0].strip() for line in file if not line.startswith("#")}


def unlisted(path):
    known = listed(path)
    for line in sys.stdin:
        if line.partition(": ")[2].strip() not in known:
            print(line, end="")


def counts(path):
    """Two numbers that a script of ours wrote."""
    with open(path, encoding="ascii") as file:
        passed, wrong = map(int, file.read().split())
    return passed, wrong


def main(kind, path, status):
    try:
        passed, wrong, *left = {"meson": meson, "junit": junit, "counts": counts}[kind](path)
    except (OSError, ValueError, KeyError, xml.etree.ElementTree.ParseError) as error:
        print(f"tally: {kind} report {path}: {error}", file=sys.stderr)
        passed, wrong, left = 0, 1, []
    if wrong == 0 and (status != 0 or passed == 0):
        wrong = 1
    print(passed, wrong, *left)


if __name__ == "__main__":
    if sys.argv[1] == "again":
        again(sys.argv[2], sys.argv[3])
    elif sys.argv[1] == "failed":
        failed(sys.argv[2])
    elif sys.argv[1] == "unlisted":
        unlisted(sys.argv[2])
    elif sys.argv[1] == "skipped":
        skipped(sys.argv[2])
    elif sys.argv[1] == "names":
        names(sys.argv[2], sys.argv[3])
    else:
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
