# SPDX-License-Identifier: Apache-2.0
"""UNHEX_CACHE: extracted symbols that the next command finds."""
import os
import pathlib
import subprocess

import pytest

from tool import UNHEX, compile_c, symbol, unhex

BIG = r"""
#include <stdlib.h>
char filling[5 << 20] = {1};
__attribute__((noinline)) int NAME(int x)
{
	return atoi("7") + x + filling[x];
}
int main(int argc, char **argv)
{
	(void)argv;
	return NAME(argc);
}
"""


@pytest.fixture
def program(tmp_path):
    return compile_c(tmp_path, "big", BIG.replace("NAME", "outer"))


def ask(program, cache, command="addr2line", name="outer"):
    start = symbol(program, name)[0]
    r = unhex(command, "-fe", program, f"{start:x}", env={"UNHEX_CACHE": str(cache)})
    assert r.returncode == 0, r.stderr
    return r.stdout


def kept(folder):
    return sorted(p for p in pathlib.Path(folder).iterdir())


def test_nothing_is_kept_unless_asked_for(program, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    unhex("addr2line", "-e", program, "0", env={"HOME": str(home), "XDG_CACHE_HOME": ""})
    assert kept(home) == []


def test_the_second_answer_is_the_firsts(program, tmp_path):
    cache = tmp_path / "cache"
    first = ask(program, cache)
    assert first.startswith("outer\n") and ":5" in first
    (file,) = kept(cache)
    assert file.stat().st_mode & 0o777 == 0o600
    before = file.stat()
    assert ask(program, cache) == first
    (same,) = kept(cache)
    assert same.stat().st_ino == before.st_ino and same.stat().st_mtime_ns >= before.st_mtime_ns


def test_on_means_the_users_cache(program, tmp_path):
    for env in {"XDG_CACHE_HOME": str(tmp_path)}, {"HOME": str(tmp_path), "XDG_CACHE_HOME": ""}:
        (tmp_path / ".cache").mkdir(exist_ok=True)
        unhex("addr2line", "-e", program, "0", env={"UNHEX_CACHE": "on", **env})
    assert len(kept(tmp_path / "unhex")) == len(kept(tmp_path / ".cache/unhex")) == 1


def test_small_files_are_not_worth_it(tmp_path):
    small = compile_c(tmp_path)
    ask(small, tmp_path / "cache")
    assert kept(tmp_path / "cache") == [] if (tmp_path / "cache").exists() else True


def test_a_replaced_program_is_read_anew(program, tmp_path):
    cache = tmp_path / "cache"
    assert ask(program, cache).startswith("outer\n")
    other = compile_c(tmp_path, "other", BIG.replace("NAME", "another"))
    os.replace(other, program)
    assert ask(program, cache, name="another").startswith("another\n")
    assert len(kept(cache)) == 2


@pytest.mark.parametrize("damage", ["empty", "text", "cut", "writable", "link", "folder"])
def test_what_is_damaged_or_not_ours_is_passed_over(program, tmp_path, damage):
    cache = tmp_path / "cache"
    first = ask(program, cache)
    (file,) = kept(cache)
    whole = file.read_bytes()
    if damage == "empty":
        file.write_bytes(b"")
    elif damage == "text":
        file.write_bytes(b"no GSYM" * 1000)
    elif damage == "cut":
        file.write_bytes(whole[:40])
    elif damage == "writable":
        file.chmod(0o666)
    elif damage == "link":
        file.rename(tmp_path / "elsewhere")
        file.symlink_to(tmp_path / "elsewhere")
    else:
        file.unlink()
        file.mkdir()
    assert ask(program, cache) == first


def test_a_folder_that_cannot_be_used_costs_nothing(program, tmp_path):
    (tmp_path / "file").write_text("")
    for cache in tmp_path / "file", tmp_path / "no/such/folder", "/proc/cache":
        assert ask(program, cache).startswith("outer\n")


def test_many_at_once_leave_one_whole_file(program, tmp_path):
    cache = tmp_path / "cache"
    env = {**os.environ, "UNHEX_CACHE": str(cache)}
    start = symbol(program, "outer")[0]
    many = [subprocess.Popen([UNHEX, "addr2line", "-fe", program, f"{start:x}"], env=env, text=True,
                             stdout=subprocess.PIPE) for _ in range(8)]
    answers = {p.communicate(timeout=120)[0] for p in many}
    assert len(answers) == 1 and answers.pop().startswith("outer\n")
    assert len(kept(cache)) == 1
    assert ask(program, cache).startswith("outer\n")


def test_what_was_used_least_recently_makes_room(program, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    for age, name in enumerate(["newer", "older", "oldest"]):
        path = cache / f"{name}.gsym"
        path.touch(0o600)
        os.truncate(path, 1900 << 20)  # without a block on the disk
        os.utime(path, (10**9 - age, 10**9 - age))
    (cache / "mine.txt").write_text("not a GSYM")
    ask(program, cache)
    names = {p.name for p in kept(cache)}
    assert "oldest.gsym" not in names and {"newer.gsym", "older.gsym", "mine.txt"} <= names
    assert len(names) == 4


def test_the_stand_ins_share_it_and_lookup_which_knows_stubs_has_its_own(program, tmp_path):
    cache = tmp_path / "cache"
    start = symbol(program, "outer")[0]
    for args, files in (["llvm-symbolizer", "-e", program], 1), (["addr2line", "-fe", program], 1), (
            ["lookup", program], 2), (["lookup", program], 2):
        r = unhex(*args, f"{start:#x}", env={"UNHEX_CACHE": str(cache)})
        assert "outer" in r.stdout
        assert len(kept(cache)) == files
