#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the tests of what has changed since a commit: tools/changed.py unit|e2e [COMMIT].

The commit is origin/main by default, or HEAD where that does not exist; files that are not committed count. Unit tests
are those of a changed file by name (store/index/keys.c: test_keys, test_keys_x), and every test that includes a changed
header of its own. End-to-end tests are changed files, those that use a changed helper, and those that tools/mutate.py
names for a folder. What a change breaks elsewhere is for ./dev test to find.
"""
import pathlib
import re
import subprocess
import sys

from mutate import E2E

ROOT = pathlib.Path(__file__).resolve().parent.parent


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)


def changed(since):
    if not since:
        since = "origin/main" if git("rev-parse", "--verify", "-q", "origin/main").returncode == 0 else "HEAD"
    base = git("merge-base", since, "HEAD").stdout.strip()
    if not base:
        sys.exit(f"changed.py: {since} is not a commit of this tree")
    listed = git("diff", "--name-only", base).stdout + git("ls-files", "--others", "--exclude-standard").stdout
    return [pathlib.PurePath(name) for name in listed.split()]


def including(folder, pattern, names):
    """The files of a folder that include or import one of these names."""
    found = set()
    for path in (ROOT / folder).rglob(pattern):
        if names & set(re.findall(r'^(?:#include "|from |import )([\w.]+)', path.read_text(), re.M)):
            found.add(path.stem)
    return found


def unit_tests(files):
    stems = {f.stem for f in files if f.suffix in (".c", ".h")}
    there = {p.stem.removeprefix("test_") for p in (ROOT / "tests/unit").rglob("test_*.c")}
    tests = {t for t in there for s in stems if t == s.removeprefix("test_") or t.startswith(s + "_")}
    headers = {f.name for f in files if f.suffix == ".h" and f.parts[0] != "lib"}
    return tests | {t.removeprefix("test_") for t in including("tests/unit", "test_*.c", headers)}


def end_to_end_tests(files):
    tests = {f.stem for f in files if f.parts[:2] == ("tests", "e2e") and f.name.startswith("test_")}
    tests |= including("tests/e2e", "test_*.py", {f.stem for f in files if "helpers" in f.parts})
    for f in files:
        folder = max((e for e in E2E if str(f).startswith(e)), key=len, default=None)
        tests |= set(E2E[folder].split()) if folder else set()
    return {t for t in tests if (ROOT / f"tests/e2e/{t}.py").exists()}


def main():
    kind, since = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    if kind not in ("unit", "e2e"):
        sys.exit(__doc__)
    files = changed(since)
    for test in sorted(unit_tests(files) if kind == "unit" else end_to_end_tests(files)):
        print(test if kind == "unit" else f"tests/e2e/{test}.py")


if __name__ == "__main__":
    main()
