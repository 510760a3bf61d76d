# SPDX-License-Identifier: Apache-2.0
"""unhex record: samples in BPF programs have their names, by what the recording says of them: the
programs are gone when names are looked up. The judge is perf script."""
import collections
import ctypes
import os
import re
import struct
import subprocess
import threading

import pytest

from test_proc_bpf import bpf, loaded, needs_number
from tool import UNHEX
from waiting import wait_for

TEST_RUN = 10
NAME = r"bpf_prog_[0-9a-f]{16}_(watch_every_packet_that_comes|helper_with_a_name_that_is_long)"


def run_program(fd, repeat=1 << 22):
    """Lets the kernel run it, for a packet of nothing."""
    packet = ctypes.create_string_buffer(64)
    bpf(TEST_RUN, struct.pack("<IIIIQQIIIIQQII", fd, 0, 64, 0, ctypes.addressof(packet), 0, repeat,
                              0, 0, 0, 0, 0, 0, 0))


class Runner:
    """A thread that runs a program until it is told to stop."""

    def __init__(self, program):
        self.program, self.over = program, False
        self.thread = threading.Thread(target=self.work)

    def work(self):
        while not self.over:
            run_program(self.program.fd, 1 << 16)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.thread.join()


def leaves(lines):
    return collections.Counter(m[1] for line in lines if (m := re.search(f"({NAME})", line)))


def compare(path):
    """The samples in programs, as they are named here and by perf."""
    r = subprocess.run([UNHEX, "symbolize", path, "--to", "folded", "--value", "samples"],
                       capture_output=True, text=True)
    assert r.returncode in (0, 1), r.stderr
    mine = collections.Counter()
    for line in r.stdout.splitlines():
        stack, n = line.rsplit(" ", 1)
        if m := re.fullmatch(f"({NAME})", stack.rsplit(";", 1)[1]):
            mine[m[1]] += int(n)
    text = subprocess.run(["perf", "script", "-i", path, "-F", "ip,sym", "-G"], capture_output=True,
                          text=True, check=True).stdout
    assert mine == leaves(text.splitlines())
    return mine


def record(path, seconds):
    return subprocess.Popen([UNHEX, "record", "-F", "997", "--pid", str(os.getpid()), "--call-graph",
                             "fp", "--duration", str(seconds), "-o", path], stderr=subprocess.PIPE, text=True)


def finish(process):
    _, said = process.communicate(timeout=60)
    if "not permitted" in said or "without the kernel" in said:
        pytest.skip("this machine's kernel lets nobody record its code")
    assert process.returncode == 0, said


@needs_number
def test_a_program_that_was_loaded_before(tmp_path):
    path = tmp_path / "perf.data"
    with loaded(tmp_path) as program, Runner(program):
        finish(record(path, 1))
    counts = compare(path)
    assert sum(counts.values()) > 50, counts


@needs_number
def test_a_program_that_is_loaded_meanwhile(tmp_path):
    path = tmp_path / "perf.data"
    process = record(path, 4)
    # It has written what was there before.
    wait_for(lambda: any(f.stat().st_size > 0 for f in tmp_path.iterdir()))
    with loaded(tmp_path) as program:
        for _ in range(10):
            run_program(program.fd, 1 << 20)
        functions, _ = program.info()
    finish(process)
    counts = compare(path)
    assert sum(counts.values()) > 5, counts
    # The kernel has written where it was, and that it left.
    text = subprocess.run(["perf", "script", "-i", path, "--show-bpf-events"], capture_output=True,
                          text=True, check=True).stdout
    records = [line for line in text.splitlines() if "PERF_RECORD_KSYMBOL" in line and
               f"{functions[0][0]:x}" in line]
    assert any("flags 0x0" in line for line in records) and any("flags 0x1" in line for line in records)
