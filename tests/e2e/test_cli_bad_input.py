# SPDX-License-Identifier: Apache-2.0
"""Files that are not what they should be: one clear line, never a crash."""
import os
import shutil
import subprocess

import pytest

from tool import UNHEX, fails, lines, unhex


COMMANDS = [["id"], ["extract", "-o", "/dev/null/never"], ["lookup"]]


def run_on(command, path, *more):
    return unhex(command[0], path, *command[1:], *more, *(["0x1"] if command[0] == "lookup" else []))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
def test_not_an_elf(command, tmp_path):
    text = tmp_path / "text"
    text.write_text("#!/bin/sh\necho\n")
    fails(run_on(command, text), 1, text, "ELF")


@pytest.mark.parametrize("command", [*COMMANDS, ["explain"]], ids=lambda c: c[0])
def test_a_crash_report_leads_to_the_command_that_reads_it(command, tmp_path):
    text = "Program received signal SIGSEGV\n#0  0x0000555555555139 in ?? ()\n"
    report = tmp_path / "crash.txt"
    report.write_text(text)
    fails(run_on(command, report), 1, report, "is text", "unhex symbolize")
    if command[0] == "explain":
        fails(unhex("explain", "-", stdin=text), 1, "unhex symbolize")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
def test_an_empty_file(command, tmp_path):
    (tmp_path / "empty").touch()
    fails(run_on(command, tmp_path / "empty"), 1, "empty", "ELF")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
def test_a_folder_and_a_fifo_and_a_device(command, tmp_path):
    os.mkfifo(tmp_path / "fifo")  # who opened it would wait for a writer
    fails(run_on(command, tmp_path), 1, "directory")
    fails(run_on(command, tmp_path / "fifo"), 1, "FIFO")
    fails(run_on(command, "/dev/null"), 1, "device")


def test_a_truncated_elf_is_an_error_or_less_but_never_a_crash(prog, tmp_path):
    data = prog.read_bytes()
    cut = tmp_path / "cut"
    for size in [*range(0, 128, 7), *range(128, len(data), len(data) // 40)]:
        cut.write_bytes(data[:size])
        for command in (["id"], ["lookup"]):
            result = run_on(command, cut)
            assert result.returncode in (0, 1), (size, result.stderr)
            assert len(result.stderr.splitlines()) <= 1
    cut.write_bytes(data[:60])
    fails(unhex("id", cut), 1, "cut")


def test_an_elf_without_any_symbol(prog, tmp_path):
    bare = tmp_path / "bare"
    source = tmp_path / "bare.s"
    source.write_text(".globl _start\n_start:\n\tnop\n")
    subprocess.run(["gcc", "-nostdlib", "-static", "-no-pie", "-s", "-o", bare, source], check=True)
    (reported,) = lines(unhex("id", "--json", bare))
    assert reported["quality"] == "none"
    out = tmp_path / "o.gsym"
    fails(unhex("extract", bare, "-o", out), 1, bare, "no symbols")
    assert not out.exists()
    fails(unhex("lookup", bare, "1"), 1, bare, "no symbols")


def test_a_gsym_of_another_version(prog, tmp_path):
    good = tmp_path / "good.gsym"
    assert unhex("extract", prog, "-o", good).returncode == 0
    data = bytearray(good.read_bytes())
    data[4:6] = (9).to_bytes(2, "little")
    other = tmp_path / "other.gsym"
    other.write_bytes(data)
    fails(unhex("lookup", other, "1"), 1, other, "9", "1")
    short = tmp_path / "short.gsym"
    short.write_bytes(good.read_bytes()[:30])
    fails(unhex("lookup", short, "1"), 1, short)


def test_a_file_that_gets_shorter_while_it_is_read_is_reported(prog, tmp_path):
    good = tmp_path / "good.gsym"
    assert unhex("extract", prog, "-o", good).returncode == 0
    big = tmp_path / "shrinks.gsym"
    shutil.copy(good, big)
    with subprocess.Popen([UNHEX, "lookup", big, "--json"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        os.write(child.stdin.fileno(), b"0x1\n")
        assert os.read(child.stdout.fileno(), 4096)
        os.truncate(big, 0)
        os.write(child.stdin.fileno(), b"0x1139\n")
        child.stdin.close()
        complaint = child.stderr.read().decode()
        assert child.wait(30) == 1
    assert "shrinks.gsym" in complaint and "shorter" in complaint


def test_an_unreadable_file(prog, tmp_path):
    locked = tmp_path / "locked"
    shutil.copy(prog, locked)
    locked.chmod(0)
    tmp_path.chmod(0o755)
    tool = tmp_path / "unhex"
    shutil.copy(UNHEX, tool)
    tool.chmod(0o755)
    command = [tool, "id", locked]
    if os.geteuid() == 0:
        for folder in (tmp_path, *tmp_path.parents):
            if folder.stat().st_uid == 0 and folder.as_posix().startswith("/tmp/"):
                folder.chmod(0o755)
        command = ["setpriv", "--reuid=65534", "--clear-groups", *command]
    result = subprocess.run(command, capture_output=True, text=True)
    fails(result, 1, locked, "Permission denied")
