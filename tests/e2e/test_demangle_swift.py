# SPDX-License-Identifier: Apache-2.0
"""Swift's names against the texts of Swift 6.2's own tool, which tools/swift.sh compares at large."""
import pathlib
import re

import pytest

from test_demangle import TOOL, filtered

FOLDER = pathlib.Path(__file__).parent / "swift"
# Names of swift/many.swift, plain and optimized, and each operator on a few types and functions;
# the texts are those of `swift-demangle -compact` and `-simplified`.
ROWS = [line.split("\t") for line in (FOLDER / "names.tsv").read_text().splitlines()]
NAMES = [name for name, _, _ in ROWS]

# A build with -Dswift=disabled reads none of them.
pytestmark = pytest.mark.skipif(filtered([TOOL], NAMES[:1]) == NAMES[:1], reason="built without Swift")


def test_names_read_as_swift_writes_them():
    assert len(ROWS) > 1500
    assert filtered([TOOL], NAMES) == [full for _, full, _ in ROWS]


def test_short_names_read_as_swift_simplifies_them():
    assert filtered([TOOL, "--short"], NAMES) == [short for _, _, short in ROWS]


def test_elided_names_have_no_generic_arguments():
    for name, elided in zip(NAMES, filtered([TOOL, "--templates-elided"], NAMES)):
        assert elided != name, name
        if "->" not in elided and "operator" not in name and "oi" not in name:
            assert not re.search(r"<(?!\.\.\.>|opaque)[A-Za-z]", elided), elided


def test_mach_o_has_an_underscore_before_them():
    marked = [name for name in NAMES if name.startswith("$s")]
    assert filtered([TOOL], ["_" + name for name in marked]) == filtered([TOOL], marked)
