# SPDX-License-Identifier: Apache-2.0
"""Each promise of docs/threats.md, and each fault of docs/faults.md, names a test that exists."""
import re

import pytest

from tool import ROOT

FILES = {p.name: p for folder in ("e2e", "attack", "unit") for p in (ROOT / "tests" / folder).rglob("test_*.*")}


def named(page):
    """(file, function or "") of each test that the page names."""
    text = (ROOT / "docs" / page).read_text()
    return re.findall(r"`(?:tests/\w+/)?(test_\w+\.(?:py|c))(?:(?:::|: )(\w+))?`", text)


@pytest.mark.parametrize("page", ["threats.md", "faults.md"])
def test_every_test_that_is_named_exists(page):
    found = named(page)
    assert len(found) > 15
    for file, function in found:
        assert file in FILES, f"{page} names {file}"
        pattern = rf"^(?:def|static void) {function}\(" if function else "."
        assert re.search(pattern, FILES[file].read_text(), re.M), f"{page} names {file}: {function}"


def test_every_attack_is_named_in_the_threats():
    listed = {file for file, _ in named("threats.md")}
    attacks = {p.name for p in (ROOT / "tests/attack").glob("test_*.py")}
    assert attacks <= listed
