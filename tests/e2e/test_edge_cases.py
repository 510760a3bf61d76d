# SPDX-License-Identifier: Apache-2.0
"""docs/edge-cases.md and edge-cases-gsym.md: every case is there, and every test that they name."""
import re

import pytest

from tool import ROOT

PAGE = "edge-cases.md"
PAGES = [PAGE, "edge-cases-gsym.md"]


def rows(page):
    """[(number, what comes out, tests)]"""
    cells = [[c.strip() for c in line.strip("|").split(" |")]
             for line in (ROOT / "docs" / page).read_text().splitlines()
             if re.match(r"\| [A-Z]?\d+ \|", line)]
    return [(c[0], c[2], [t for t in re.split(r",\s*", c[3]) if t]) for c in cells]


def names_of_tests():
    """The names of all tests that run."""
    unit = "\n".join(p.read_text() for p in (ROOT / "tests/unit").rglob("test_*.c"))
    e2e = "\n".join(p.read_text() for p in (ROOT / "tests/e2e").glob("test_*.py"))
    return set(re.findall(r"UX_TEST\((\w+)\)", unit)) | set(re.findall(r"^def (test_\w+)", e2e, re.M))


def test_the_cases_are_numbered_from_1_to_100():
    assert [number for number, _, _ in rows(PAGE)] == [str(n) for n in range(1, 101)]


@pytest.mark.parametrize("page", PAGES)
def test_every_test_of_the_page_exists(page):
    known = names_of_tests()
    assert [(n, t) for n, _, named in rows(page) for t in named if t not in known] == []


@pytest.mark.parametrize("page", PAGES)
def test_what_has_no_test_says_why(page):
    assert [n for n, what, named in rows(page) if not named
            and not what.startswith(("comes with", "left out on purpose"))] == []


def test_the_cases_of_gsym_are_numbered_by_chapter():
    found = [number for number, _, _ in rows("edge-cases-gsym.md")]
    counts = {letter: sum(n[0] == letter for n in found) for letter in "LCF"}
    assert found == [f"{letter}{i + 1}" for letter, n in counts.items() for i in range(n)]
