# SPDX-License-Identifier: Apache-2.0
"""`./dev test changed`: which tests a change selects (tools/changed.py)."""
import pathlib
import sys

import pytest

from tool import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import changed


def files(*names):
    return [pathlib.PurePath(n) for n in names]


@pytest.mark.parametrize("name, test", [
    ("lib/cubin/fatbin.c", "fatbin"),
    ("lib/cubin/fatbin.c", "fatbin_choose"),  # more tests of the same file
    ("tests/unit/lib/base/test_base.c", "base"),
    ("store/index/key_text.h", "key_text"),  # a test that includes the header
])
def test_a_file_selects_its_unit_tests(name, test):
    assert (ROOT / name).exists()
    assert test in changed.unit_tests(files(name))


@pytest.mark.parametrize("name, test", [
    ("tests/e2e/test_changed.py", "test_changed"),
    ("tests/e2e/helpers/far_server.py", "test_agent_far"),
    ("server/gate/auth.c", "test_access"),
])
def test_a_file_selects_its_end_to_end_tests(name, test):
    assert (ROOT / name).exists()
    assert test in changed.end_to_end_tests(files(name))


def test_a_document_selects_nothing():
    assert changed.unit_tests(files("docs/store.md")) == set()
    assert changed.end_to_end_tests(files("docs/store.md")) == set()
