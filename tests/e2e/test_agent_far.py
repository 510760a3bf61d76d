# SPDX-License-Identifier: Apache-2.0
"""The agent and a server whose answers take 100 ms: a library with many modules, and what starts meanwhile"""
import contextlib
import os
import pathlib
import re
import struct
import subprocess
import time
import types

import pytest

from far_server import far_server
from running_agent import running_agent
from tool import ROOT, compile_c
from waiting import wait_for

CUBIN = ROOT / "fuzz/corpus/fatbin/cubin"
# Of each one the announcement, the bytes and the end are requests: 180 s, one after the other.
CUBINS = 600
# As many connections as docs/agent.md says: senders, and that of the agent's own thread.
CONNECTIONS = 17

SLEEPER = """
#include <unistd.h>
int %s(int n) { return n + 1; }
int main(void) { for (;;) { sleep(%s(0)); } }
"""
FAT = """
.section .nv_fatbin, "a"
.balign 8
.incbin "%s"
.section .note.GNU-stack, "", @progbits
"""


def fat_binary(n):
    """A container with n cubins that differ in their machine code, which nothing reads."""
    cubin, run, entries = CUBIN.read_bytes(), os.urandom(4), []
    at = cubin.index(bytes(range(256)))
    for i in range(n):
        content = cubin[:at] + run + struct.pack("<I", i) + cubin[at + 8:]
        entries.append(struct.pack("<HHIQIIHHIIIQQQ", 2, 0x101, 64, len(content), 0, 0, 8, 1, 90, 0, 0, 0x11, 0, 0) + content)
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xba55ed50, 1, 16, len(body)) + body


def cuda_program(folder, n):
    """A program with so many cubins."""
    (folder / "fat").write_bytes(fat_binary(n))
    (folder / "fat.s").write_text(FAT % (folder / "fat"))
    return compile_c(folder, "cuda", SLEEPER % ("cuda", "cuda"), flags=("-O0", folder / "fat.s"))


@contextlib.contextmanager
def sleeping(path):
    process = subprocess.Popen([path])
    try:
        yield time.monotonic()
    finally:
        process.kill()
        process.wait()


def resident_kib(agent):
    status = pathlib.Path(f"/proc/{agent.process.pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+) kB", status)[1])


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """When the server knew each module of a program with cubins, and a small one that was started in between."""
    folder = tmp_path_factory.mktemp("far")
    path, name = cuda_program(folder, CUBINS), f"small_{os.getpid()}"
    small = compile_c(folder, "small", SLEEPER % (name, name), flags=("-O0",))
    with far_server() as far, running_agent(far, folder, "--exclude", "/usr/*", "--exclude", "/work/*") as agent, sleeping(path):
        there = far.there[str(path)]
        wait_for(lambda: agent.running() and there)
        with sleeping(small) as started:
            wait_for(lambda: agent.running() and far.there[str(small)], 120)
            wait_for(lambda: agent.running() and len(there) > CUBINS, 120)
        wait_for(lambda: len(agent.uploaded(path)) > CUBINS)
        results = [r["gpu"] for r in agent.uploaded(path) if "gpu" in r]
        wait_for(lambda: far.open <= 1)
        return types.SimpleNamespace(there=there, started=started, results=results, small=far.there[str(small)][0],
                                     connections=far.connections, kib=resident_kib(agent))


def test_modules_do_not_wait_for_each_others_answers(course):
    seconds = course.there[-1] - course.there[0]
    print(f"{CUBINS} modules were sent in {seconds:.1f} s over {course.connections} connections; then {course.kib} KiB")
    assert seconds < 60
    assert course.connections <= CONNECTIONS
    assert course.kib < 8 << 10


def test_results_are_in_the_order_of_the_modules(course):
    assert course.results == sorted(course.results) and len(course.results) == CUBINS


def test_a_small_program_does_not_wait_for_a_library_with_many_modules(course):
    waited = course.small - course.started
    print(f"the small program was known after {waited:.1f} s")
    assert waited < 12
    assert course.small < course.there[-1], "all cubins were sent before"
