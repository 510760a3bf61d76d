# SPDX-License-Identifier: Apache-2.0
"""Bounds on memory hold for large real files, and for files that are made to exceed them"""
import os
import resource
import subprocess
import tarfile
import threading
from pathlib import Path

import pytest

from unhex_server import Server
from tool import UNHEX, unhex
from waiting import pause_for

MB = 1000 * 1000
CORPUS = Path(__file__).resolve().parents[2] / "corpus"
SAMPLE_S = 0.005


def anonymous(pid):
    """Anonymous memory of a process and of its children, in bytes."""
    total, pids = 0, [pid]
    while pids:
        one = pids.pop()
        try:
            for line in Path(f"/proc/{one}/status").read_text(encoding="ascii", errors="replace").splitlines():
                if line.startswith(("RssAnon:", "VmSwap:")):
                    total += int(line.split()[1]) * 1024
            for task in os.listdir(f"/proc/{one}/task"):
                pids += map(int, Path(f"/proc/{one}/task/{task}/children").read_text(encoding="ascii").split())
        except (OSError, ValueError):
            pass  # it has ended
    return total


def peak_of(*command, env=None):
    """Runs a command: (its result, the largest sum of anonymous memory of it and its children)."""
    peak, ended = 0, threading.Event()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=env or dict(os.environ)) as process:
        def watch():
            nonlocal peak
            while not ended.is_set():
                peak = max(peak, anonymous(process.pid))
                pause_for(SAMPLE_S, "the rate of samples")

        watcher = threading.Thread(target=watch)
        watcher.start()
        out, err = process.communicate()
        ended.set()
        watcher.join()
    return subprocess.CompletedProcess(command, process.returncode, out, err), peak


@pytest.fixture(scope="module")
def large():
    """The largest files with DWARF that this machine has: this command, and those of the corpus."""
    found = [CORPUS / name for name in ("libjvm.debug", "vmlinux", "ceph.debug")]
    return [Path(UNHEX).resolve(), *(path.resolve() for path in found if path.exists())]


@pytest.mark.parametrize("more", [[], ["--no-dwarf"]])
def test_an_extraction_stays_under_its_limit_and_gives_the_same_bytes(tmp_path, large, more):
    limit = "40M" if more else "64M"
    for path in large:
        whole = unhex("extract", path, "-o", tmp_path / "whole.gsym", "--threads=1", *more)
        assert whole.returncode == 0, whole.stderr
        bound, peak = peak_of(UNHEX, "extract", str(path), "-o", str(tmp_path / "bound.gsym"), "--threads=1",
                              "--memory", limit, *more)
        assert bound.returncode == 0, bound.stderr
        assert (tmp_path / "bound.gsym").read_bytes() == (tmp_path / "whole.gsym").read_bytes()
        assert peak < (40 if more else 64) * 1024 * 1024, f"{path}: {peak / MB:.1f} MB"


@pytest.fixture(scope="module")
def many_symbols(tmp_path_factory):
    """A program of 1.2 million functions, whose symbols alone are more than the smallest limit."""
    folder = tmp_path_factory.mktemp("symbols")
    source, made = folder / "many.s", folder / "many.o"
    source.write_text(".text\n.macro one\n.type f\\@, @function\nf\\@: nop\n.size f\\@, 1\n.endm\n"
                      ".rept 1200000\none\n.endr\n", encoding="ascii")
    subprocess.run(["as", "-o", str(made), str(source)], check=True)
    return made


def test_a_million_symbols_stay_under_the_limit_or_are_refused_by_it(tmp_path, many_symbols):
    out = tmp_path / "many.gsym"
    bound, peak = peak_of(UNHEX, "extract", str(many_symbols), "-o", str(out), "--threads=1", "--memory=40M")
    assert peak < 40 * 1024 * 1024, f"{peak / MB:.1f} MB"
    if bound.returncode == 0:
        assert "1200000 functions" in bound.stdout
    else:
        assert "needs more memory than --memory allows, 41943040 bytes" in bound.stderr
        assert not out.exists()


FUNCTIONS = {
    "symbols": "f\\@:\n.type f\\@, @function\nnop\n.size f\\@, 1\n",
    "frames": ".cfi_startproc\nnop\n.cfi_endproc\n",  # a stripped library has .eh_frame alone
}


@pytest.mark.parametrize("tables, count", [("symbols", 170000), ("frames", 250000), ("frames", 1200000)])
def test_names_alone_are_extracted_within_what_the_agent_has(tmp_path, tables, count):
    """The kernel enforces the limit here, as for the agent's children."""
    limit = 40 << 20
    source, made = tmp_path / "many.s", tmp_path / "many.so"
    source.write_text(f".text\n.globl first\n.type first, @function\nfirst: nop\n.size first, 1\n.macro one\n{FUNCTIONS[tables]}.endm\n.rept {count}\none\n"
                      ".endr\n", encoding="ascii")
    subprocess.run(["gcc", "-shared", "-nostdlib", "-o", made, source], check=True)
    result = subprocess.run([UNHEX, "extract", "--no-dwarf", "--threads=1", "--memory", str(limit), made, "-o",
                             tmp_path / "many.gsym"], capture_output=True, text=True, check=False,
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)))
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_the_sum_of_all_jobs_of_a_push_stays_under_its_limit(tmp_path, large, jobs):
    """Files are read in this process, members of archives in confined children; both count."""
    archives = []
    for i, path in enumerate(large):
        archive = tmp_path / f"{i}.tar"
        with tarfile.open(archive, "w") as tar:
            tar.add(path, arcname=path.name)
        archives.append(archive)
    server = Server(tmp_path / "server").start()
    try:
        for inputs in (large, archives):
            result, peak = peak_of(UNHEX, "push", "--url", server.url, "--token", server.token, "--force", "--jobs",
                                   str(jobs), "--memory", "128M", *map(str, inputs))
            assert result.returncode == 0, result.stdout + result.stderr
            assert f"{len(large)} uploaded" in result.stdout or "already there" in result.stdout
            assert peak < 128 * 1024 * 1024, f"{peak / MB:.1f} MB"
    finally:
        assert server.stop() == 0
