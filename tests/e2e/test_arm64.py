# SPDX-License-Identifier: Apache-2.0
"""The lists about arm64 are exact: unit programs that may fail under qemu-user, code that x86-64 alone has"""
import re
import subprocess
import sys

import pytest

from tool import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import arm64_try  # noqa: E402 pylint: disable=wrong-import-position


@pytest.mark.parametrize("results,known,words", [
    ({"a": True}, {}, []),
    ({"a": False}, {}, ["a fails"]),
    ({"a": False}, {"a": False}, []),
    ({"a": True}, {"a": False}, ["a passes"]),
    ({"a": True}, {"a": True}, []),  # a slow one may pass on a faster machine
    ({"a": True}, {"b": True}, ["b of tools/arm64.exceptions is not"]),
])
def test_exceptions_are_exact(results, known, words):
    wrong = arm64_try.judge(results, known)
    assert len(wrong) == len(words) and all(w in line for w, line in zip(words, wrong))


def test_each_exception_is_a_unit_program():
    programs = (ROOT / "tests/unit/meson.build").read_text()
    for name in arm64_try.exceptions():
        assert f"'{name}'" in programs


def test_the_documents_list_the_code_of_x86_64_alone():
    names = subprocess.run(["git", "grep", "-l", "__x86_64__", "--", "*.c", "*.h", ":!tests", ":!tools"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split()
    alone = [name for name in names if "__aarch64__" not in (ROOT / name).read_text()]
    table = (ROOT / "docs/install.md").read_text().split("Only x86-64 has:")[1].split("\n## ")[0]
    assert alone and re.findall(r"^\|.*?\(`(.*?)`\) \|", table, re.M) == alone
