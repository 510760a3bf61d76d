# SPDX-License-Identifier: Apache-2.0
"""
The clients of debuginfod that people have, of this system and, where tools/peers.sh has put them, of
Debian's unstable: programs without symbols, whose sources are nowhere here, shown by the server alone.
"""
import os
import re
import subprocess

import pytest

from tool import ROOT, build_id, compile_c, stripped, symbol

NEWER = ROOT / ".peers/clients/bin"
PLACES = ["/usr/bin"] + ([str(NEWER)] if NEWER.exists() else [])

WRONG = r"""
#include <stdlib.h>
__attribute__((noinline)) int reads_too_far(int *p)
{
	return p[3] + 1;
}
int main(void)
{
	int *p = malloc(8);
	return reads_too_far(p) > 5 ? 0 : 0;
}
"""


class Alone:
    """A stripped program, whose source was moved away after it was pushed."""

    def __init__(self, server, folder, source=None):
        folder.mkdir()
        more = {"source": source} if source else {}
        self.full = compile_c(folder, flags=("-O0", "-g"), **more)
        self.source = self.full.with_suffix(".c")
        self.text = self.source.read_bytes()
        self.exe, debug = stripped(self.full, "alone")
        result = server.unhex("push", "--with-debuginfo", "--sources", "-e", self.exe, "-d", debug)
        assert result.returncode == 0, result.stdout
        self.source.unlink()
        debug.unlink()
        self.id = build_id(self.full).removeprefix("gnu:")
        self.server = server


@pytest.fixture(scope="module")
def alone(server_of_module, tmp_path_factory):
    return Alone(server_of_module, tmp_path_factory.mktemp("clients") / "src")


@pytest.fixture(scope="module")
def wrong(server_of_module, tmp_path_factory):
    return Alone(server_of_module, tmp_path_factory.mktemp("wrong") / "src", WRONG)


@pytest.fixture(params=PLACES, ids=["system", "sid"][:len(PLACES)])
def client(request, server_of_module, tmp_path):
    """A program that speaks to this server alone, with a cache of its own."""
    def run(*args):
        env = {"PATH": f"{request.param}:{os.environ['PATH']}", "HOME": str(tmp_path),
               "LC_ALL": "C.UTF-8", "DEBUGINFOD_URLS": server_of_module.url,
               "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache"), "DEBUGINFOD_TIMEOUT": "60"}
        return subprocess.run([str(a) for a in args], env=env, text=True, timeout=300,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, cwd=tmp_path).stdout
    return run


def test_debuginfod_find_gets_a_source(client, alone):
    path = client("debuginfod-find", "source", alone.id, alone.source).strip()
    with open(path, "rb") as f:
        assert f.read() == alone.text
    assert "No such file" in client("debuginfod-find", "source", alone.id, "/etc/passwd")


def test_gdb_breaks_lists_the_source_and_walks_the_stack(client, alone):
    reported = client("gdb", "-nx", "-batch", "-iex", "set debuginfod enabled on",
                  "-iex", "set auto-load safe-path /", "-ex", "break outer", "-ex", "run",
                  "-ex", "list outer", "-ex", "backtrace", alone.exe)
    assert re.search(r"Breakpoint 1, outer \(x=1\) at .*prog\.c:\d+", reported), reported
    listed = dict(re.findall(r"^(\d+)\t(.*)$", reported, re.M))
    lines = alone.text.decode().splitlines()
    at = lines.index("__attribute__((noinline)) int outer(int x)") + 1
    for number in range(at, at + 4):
        assert listed[str(number)] == lines[number - 1], reported
    assert re.search(r"#1 .*main \(argc=1, .*prog\.c:\d+", reported), reported


def test_eu_addr2line_names_lines(client, alone):
    start, _ = symbol(alone.full, "outer")
    name, place = client("eu-addr2line", "-f", "-e", alone.exe, hex(start)).splitlines()[:2]
    assert name == "outer" and place.startswith(f"{alone.source}:"), (name, place)


def test_valgrind_says_where_it_happened(client, wrong):
    reported = client("valgrind", wrong.exe)
    assert "Invalid read of size 4" in reported, reported
    line = WRONG.splitlines().index("\treturn p[3] + 1;") + 1
    assert f"reads_too_far (prog.c:{line})" in reported, reported
