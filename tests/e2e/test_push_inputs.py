# SPDX-License-Identifier: Apache-2.0
"""unhex push of processes, lists, ready GSYMs, and what it warns of"""
import os
import pathlib
import shutil
import subprocess
import zipfile

import pytest

from tool import build_id, compile_c, fails, lines, stripped, symbol, unhex

SLEEPER = """
#include <unistd.h>
static __attribute__((noinline)) int inner(int n) { return n + 1; }
int outer(int n) { return inner(n) * 3; }
int main(void) { write(1, "x", 1); for (int i = 0;; i += outer(i)) sleep(60); }
"""


def push(server, *args, **more):
    result = server.unhex("push", "--json", *args, **more)
    return result.returncode, lines(result)


@pytest.fixture
def sleeper(tmp_path):
    path = compile_c(tmp_path, "sleeper", SLEEPER)
    process = subprocess.Popen([path], stdout=subprocess.PIPE)
    process.stdout.read(1)
    yield path, process
    process.kill()
    process.wait()
    process.stdout.close()


# --- processes ----------------------------------------------------------------------------------------

def test_what_a_process_has_mapped_is_pushed(server, sleeper):
    path, process = sleeper
    status, reported = push(server, "--pid", process.pid)
    names = {r["file"]: r for r in reported}
    assert status == 0 and names[str(path)]["status"] == "uploaded" and names[str(path)]["quality"] == "lines"
    assert any(os.path.basename(name).startswith("libc.so") for name in names)
    assert "[vdso]" in names
    mapped = {line.split()[-1] for line in pathlib.Path(f"/proc/{process.pid}/maps").read_text().splitlines()
              if "r-xp" in line and line.split()[-1] != "[vsyscall]"}
    assert mapped == set(names)


def test_a_program_that_was_deleted_is_pushed_from_the_process(server, sleeper):
    path, process = sleeper
    ident, (start, _) = build_id(path), symbol(path, "outer")
    path.unlink()
    _, reported = push(server, "-p", process.pid)
    (mine,) = [r for r in reported if r["file"] == str(path)]
    assert (mine["status"], mine["id"], mine["quality"]) == ("uploaded", ident, "lines")
    (answer,) = lines(server.unhex("lookup", "--json", ident, hex(start)))
    assert answer["frames"][-1]["function"] == "outer"


def test_a_program_that_was_replaced_is_not_taken_for_the_one_that_runs(server, sleeper, prog):
    path, process = sleeper
    ident = build_id(path)
    path.unlink()
    shutil.copy(prog, path)
    _, reported = push(server, "-p", process.pid)
    (mine,) = [r for r in reported if r["file"] == str(path)]
    assert mine["id"] == ident != build_id(prog)


def test_two_processes_of_one_program_are_one_module(server, sleeper):
    path, process = sleeper
    with subprocess.Popen([path], stdout=subprocess.PIPE) as second:
        second.stdout.read(1)
        _, reported = push(server, "-p", process.pid, "-p", second.pid)
        second.kill()
    assert len([r for r in reported if r["file"] == str(path)]) == 1


def test_a_process_that_is_none(server):
    status, (reported,) = push(server, "--pid", 2 ** 22 - 7)
    assert (status, reported["status"]) == (1, "failed")
    for bad in ("0", "x", "-1", "99999999999"):
        fails(unhex("push", f"--pid={bad}"), 2, "process ID")


# --- lists --------------------------------------------------------------------------------------------

@pytest.mark.parametrize("end", ["\n", "\0"])
def test_a_list_of_paths(server, prog, tmp_path, end):
    odd = tmp_path / ("a b" if end == "\n" else "a\nb")
    shutil.copy(prog, odd)
    other = compile_c(tmp_path, "other", flags=("-O1", "-g"))
    text = f"{odd}{end}{other}{end}"
    (tmp_path / "list").write_text(text)
    status, reported = push(server, "--files-from", tmp_path / "list")
    assert status == 0 and [r["file"] for r in reported] == [str(odd), str(other)]
    assert [r["status"] for r in push(server, "--files-from", "-", stdin=text)[1]] == ["already-there"] * 2


def test_a_list_adds_to_operands_and_its_faults_are_reported(server, prog, tmp_path):
    (tmp_path / "list").write_text(f"\n{tmp_path}/none\n")
    status, reported = push(server, prog, "--files-from", tmp_path / "list")
    assert status == 1 and [r["status"] for r in reported] == ["failed", "uploaded"]
    (tmp_path / "list").write_text("a\0b")
    fails(unhex("push", "--files-from", tmp_path / "list"), 2, "ends in the middle of a path")
    fails(unhex("push", "--files-from", tmp_path / "none"), 2, "none")


# --- ready GSYMs --------------------------------------------------------------------------------------

def test_a_ready_gsym_is_sent_as_it_is(server, prog, tmp_path):
    gsym = tmp_path / "prog.gsym"
    unhex("extract", prog, "-o", gsym)
    status, (reported,) = push(server, gsym)
    assert (status, reported["status"], reported["id"]) == (0, "uploaded", build_id(prog))
    assert reported["quality"] == "inlines" and reported["size"] == gsym.stat().st_size
    got = subprocess.run(["curl", "-sf", f"{server.url}/v1/gsym/{build_id(prog)}"], capture_output=True, check=True)
    assert got.stdout == gsym.read_bytes()


def test_of_a_program_and_its_gsym_the_better_one_is_sent(server, prog, tmp_path):
    gsym = tmp_path / "prog.gsym"
    unhex("extract", prog, "-o", gsym)
    bare, _ = stripped(prog, "bare")
    status, reported = push(server, "--debug-dir", "", bare, gsym)
    assert status == 0 and {r["file"]: r["status"] for r in reported} == {str(bare): "skipped", str(gsym): "uploaded"}


def test_a_gsym_in_an_archive(server, prog, tmp_path):
    unhex("extract", prog, "-o", tmp_path / "prog.gsym")
    with zipfile.ZipFile(tmp_path / "symbols.zip", "w") as out:
        out.write(tmp_path / "prog.gsym", "prog.gsym")
    status, (reported,) = push(server, tmp_path / "symbols.zip")
    assert (status, reported["status"], reported["id"]) == (0, "uploaded", build_id(prog))


def test_a_damaged_gsym_is_refused_before_the_server_is_queried(prog, tmp_path):
    gsym = tmp_path / "prog.gsym"
    unhex("extract", prog, "-o", gsym)
    data = bytearray(gsym.read_bytes())
    data[60:120] = b"\xff" * 60
    gsym.write_bytes(data)
    result = unhex("push", "--url", "http://127.0.0.1:9", gsym)
    assert result.returncode == 1 and result.stdout.startswith("failed")


# --- warnings -----------------------------------------------------------------------------------------

def without_build_id(tmp_path, prog, *strip):
    path = tmp_path / "bare"
    subprocess.run(["objcopy", "--remove-section", ".note.gnu.build-id", *strip, prog, path], check=True)
    return path


def test_a_file_id_that_strip_will_change_is_warned_of(server, prog, tmp_path):
    path = without_build_id(tmp_path, prog)
    status, (reported,) = push(server, path)
    assert (status, reported["status"]) == (0, "uploaded") and reported["id"].startswith("file:")
    assert "strip" in reported["warning"] and "--build-id" in reported["warning"]
    result = server.unhex("push", path)
    assert f"{path}: it has no build ID" in result.stderr


def test_no_warning_for_what_is_stripped_or_has_a_build_id(server, prog, tmp_path):
    assert all("warning" not in r for r in push(server, prog, without_build_id(tmp_path, prog, "--strip-all"))[1])
