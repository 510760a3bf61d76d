# SPDX-License-Identifier: Apache-2.0
"""The fixtures that tests share, and the tests that are left out here."""
import os
import pathlib
import sys
import xml.etree.ElementTree

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "helpers"))

import beyond
import permissions
import turns
from browser import Browser
from postgres_server import Postgres
from tool import ROOT, compile_c, cuda_toolkit, unhex
from unhex_server import Server

# Tests that ask an LLVM newer than the system's are there where that is (tools/peers.sh llvm).
collect_ignore = [] if (ROOT / ".peers/llvm/bin").exists() else ["test_gsym_llvm.py"]
if not (ROOT / ".peers/samply/bin/samply").exists():  # tools/peers.sh samply
    collect_ignore += ["test_samply.py"]
# Proprietary, and in no distribution that we test on.
if cuda_toolkit() is None:
    collect_ignore += ["test_cuda_toolkit.py", "test_cuda_jit.py"]


def pytest_ignore_collect(collection_path):
    """A file that is left out is not even imported: it may need modules that are not here."""
    return beyond.left_out(collection_path.name, None) or None


def passed_elsewhere():
    """The tests that passed in another run on this commit, of which UNHEX_PASSED names the report (--junitxml)."""
    report = os.environ.get("UNHEX_PASSED")
    cases = xml.etree.ElementTree.parse(report).iter("testcase") if report else ()
    return {(c.get("classname"), c.get("name")) for c in cases
            if not any(c.find(tag) is not None for tag in ("failure", "error", "skipped"))}


def pytest_collection_modifyitems(config, items):
    """Tests that are left out are not there."""
    passed = passed_elsewhere()
    out = [i for i in items if any(reason(i.path.name, i.function.__name__)
                                   for reason in (beyond.left_out, turns.left_out, permissions.lacking)) or
           (f"tests.e2e.{i.path.stem}", i.name) in passed]
    if out:
        config.hook.pytest_deselected(items=out)
        items[:] = [i for i in items if i not in out]
    for item in items:
        if reason := permissions.forbidden(item.path.name, item.function.__name__):
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_report_header():
    if not permissions.may_run_i386():
        return "left out: " + ", ".join(permissions.I386.values()) + ": this kernel runs no programs of i386"
    return None


@pytest.fixture(scope="module")
def prog(tmp_path_factory):
    """A program with debug information and inlined calls, and nothing beside it in its folder."""
    return compile_c(tmp_path_factory.mktemp("prog"))


@pytest.fixture(scope="module")
def gsym(prog):
    """The bytes of its GSYM, which is also in a file beside it."""
    out = prog.with_suffix(".gsym")
    assert unhex("extract", prog, "-o", out).returncode == 0
    return out.read_bytes()


@pytest.fixture(scope="module")
def postgres():
    """One PostgreSQL server for all tests of a file."""
    with Postgres() as p:
        yield p


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """One Chromium for all tests of a file."""
    b = Browser(tmp_path_factory.mktemp("chromium"))
    yield b
    b.close()


@pytest.fixture
def server(tmp_path):
    """A fresh server, stopped afterwards; stopping it must succeed."""
    s = Server(tmp_path / "server").start()
    yield s
    assert s.stop() in (0, None)


@pytest.fixture(scope="module")
def server_of_module(tmp_path_factory):
    """The same for all tests of a file that only read."""
    s = Server(tmp_path_factory.mktemp("module") / "server").start()
    yield s
    assert s.stop() in (0, None)
