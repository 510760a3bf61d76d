# SPDX-License-Identifier: Apache-2.0
"""What docs/hacking.md tells a newcomer to type works."""
import ast
import os
import pathlib
import re
import subprocess

from tool import UNHEX

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(UNHEX).resolve().parents[1]


def test_one_function_of_a_unit_test_is_run_by_its_name():
    text = (ROOT / "docs/hacking.md").read_text()
    said = re.search(r"`build/(tests/unit/\w+) (\w+)`.*`CMOCKA_TEST_FILTER='([^']+)'`", text)
    env = dict(os.environ, CMOCKA_TEST_FILTER=said[3])
    run = subprocess.run([BUILD / said[1], said[2]], env=env, capture_output=True, text=True, check=True)
    ran = re.findall(r"^\[       OK \] (\w+)$", run.stdout + run.stderr, re.M)
    assert ran and all(re.fullmatch(said[3].replace("*", ".*"), name) for name in ran), ran


def sleeps(path):
    """Lines that call time.sleep(), outside of the texts of programs."""
    return [node.lineno for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute) and
            node.attr == "sleep" and isinstance(node.value, ast.Name) and node.value.id == "time"]


def test_tests_wait_by_helpers():
    """interp_target.py is a program that the tests look at."""
    found = {path.name: sleeps(path) for path in (ROOT / "tests").rglob("*.py")}
    assert {name for name, at in found.items() if at} == {"waiting.py", "interp_target.py"}


def test_every_verb_it_names_is_one_of_dev():
    verbs = subprocess.run([ROOT / "dev", "help"], capture_output=True, text=True,
                           check=True).stdout
    for page in ("docs/hacking.md", "README.md"):
        for verb in set(re.findall(r"\./dev ([a-z]+)", (ROOT / page).read_text())):
            assert re.search(rf"^  {verb}\b", verbs, re.M), (page, verb)
