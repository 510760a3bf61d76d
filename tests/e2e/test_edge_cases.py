# SPDX-License-Identifier: Apache-2.0
"""docs/edge-cases.md: every case is there, and every test that it names."""
import re

from tool import ROOT

PAGE = ROOT / "docs/edge-cases.md"


def rows():
    """[(number, what comes out, tests)]"""
    cells = [[c.strip() for c in line.strip("|").split(" |")]
             for line in PAGE.read_text().splitlines() if re.match(r"\| \d+ \|", line)]
    return [(int(c[0]), c[2], [t for t in re.split(r",\s*", c[3]) if t]) for c in cells]


def names_of_tests():
    """The names of all tests that run."""
    unit = "\n".join(p.read_text() for p in (ROOT / "tests/unit").glob("test_*.c"))
    e2e = "\n".join(p.read_text() for p in (ROOT / "tests/e2e").glob("test_*.py"))
    return set(re.findall(r"UX_TEST\((\w+)\)", unit)) | set(re.findall(r"^def (test_\w+)", e2e, re.M))


def test_the_cases_are_numbered_from_1_to_100():
    assert [number for number, _, _ in rows()] == list(range(1, 101))


def test_every_test_of_the_page_exists():
    known = names_of_tests()
    assert [(n, t) for n, _, named in rows() for t in named if t not in known] == []


def test_what_has_no_test_says_what_it_comes_with():
    assert [n for n, what, named in rows() if not named and not what.startswith("comes with")] == []
