# SPDX-License-Identifier: Apache-2.0
"""Extracted symbols that the next command finds, with UNHEX_CACHE or without."""
import os
import pathlib
import resource
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


@pytest.fixture(autouse=True)
def cache_as_by_default(monkeypatch):
    """Other tests run without it."""
    monkeypatch.delenv("UNHEX_CACHE", raising=False)


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


def test_what_is_read_at_once_is_not_kept_unless_requested(program, tmp_path):
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
        os.truncate(path, 900 << 20)  # without a block on the disk
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


@pytest.fixture
def large(tmp_path):
    """A program that is kept by default."""
    return compile_c(tmp_path, "large", BIG.replace("NAME", "outer").replace("5 << 20", "20 << 20"))


@pytest.fixture
def home(tmp_path):
    path = tmp_path / "home"
    path.mkdir(mode=0o700)
    return path


def ask_at(home, program, more=None, **args):
    start = symbol(program, "outer")[0]
    env = {"HOME": str(home), "XDG_CACHE_HOME": "", **(more or {})}
    r = unhex("addr2line", "-fe", program, f"{start:x}", env=env, **args)
    assert r.returncode == 0 and r.stderr == "", r.stderr
    assert r.stdout.startswith("outer\n") and ":5" in r.stdout
    return r.stdout


def make_due(home):
    """As if much had been spent on answers without it."""
    (spent,) = (home / ".cache/unhex").glob("*.spent")
    spent.write_bytes(bytes(4096))
    return spent


def test_what_costs_again_and_again_is_kept_by_default(large, home):
    first = ask_at(home, large)
    folder = home / ".cache/unhex"
    assert folder.stat().st_mode & 0o777 == (home / ".cache").stat().st_mode & 0o777 == 0o700
    (spent,) = kept(folder)
    assert spent.suffix == ".spent" and spent.stat().st_mode & 0o777 == 0o600
    before = spent.stat().st_size
    assert ask_at(home, large) == first
    assert spent.stat().st_size > before > 0
    make_due(home)
    assert ask_at(home, large) == first
    (gsym,) = kept(folder)
    assert gsym.suffix == ".gsym" and gsym.stat().st_mode & 0o777 == 0o600
    inode = gsym.stat().st_ino
    assert ask_at(home, large) == first
    (same,) = kept(folder)
    assert same.stat().st_ino == inode


def test_what_is_kept_is_used(large, home):
    ask_at(home, large)
    make_due(home)
    ask_at(home, large)
    (gsym,) = kept(home / ".cache/unhex")
    whole = gsym.read_bytes()
    assert whole.count(b"\0outer\0") == 1
    gsym.write_bytes(whole.replace(b"\0outer\0", b"\0OUTER\0"))
    start = symbol(large, "outer")[0]
    r = unhex("addr2line", "-fe", large, f"{start:x}", env={"HOME": str(home), "XDG_CACHE_HOME": ""})
    assert r.stdout.startswith("OUTER\n")


@pytest.mark.parametrize("how", ["off", "empty", "lookup", "no-home", "gone", "root", "relative", "open",
                                 "open-folder"])
def test_nothing_is_kept_where_it_may_not_be(large, home, tmp_path, how):
    more = {"off": {"UNHEX_CACHE": "off"}, "empty": {"UNHEX_CACHE": ""}, "no-home": {"HOME": ""},
            "gone": {"HOME": str(tmp_path / "gone")}, "root": {"HOME": "/"},
            "relative": {"HOME": "", "XDG_CACHE_HOME": "home"}}.get(how, {})
    if how == "open":
        home.chmod(0o777)
    if how == "open-folder":
        (home / ".cache").mkdir()
        (home / ".cache/unhex").mkdir()
        (home / ".cache/unhex").chmod(0o777)
    if how == "lookup":
        r = unhex("lookup", "--no-cache", large, f"{symbol(large, 'outer')[0]:#x}",
                  env={"HOME": str(home), "XDG_CACHE_HOME": ""})
        assert "outer" in r.stdout
    else:
        ask_at(home, large, more, cwd=tmp_path)
    assert [p for p in tmp_path.rglob("*") if p.suffix in (".spent", ".gsym")] == []
    assert not (tmp_path / "gone").exists() and not pathlib.Path("/.cache/unhex").exists()


def test_the_home_of_another_user_is_not_used(large, home):
    """sudo may leave HOME as it was."""
    if os.geteuid() == 0:
        os.chown(home, 65534, 65534)
    else:
        home = pathlib.Path("/usr/lib")
    ask_at(home, large)
    assert not (home / ".cache").exists()


def test_what_another_user_put_there_is_not_believed(large, home):
    ask_at(home, large)
    make_due(home)
    first = ask_at(home, large)
    (gsym,) = kept(home / ".cache/unhex")
    gsym.write_bytes(gsym.read_bytes().replace(b"\0outer\0", b"\0OUTER\0"))
    if os.geteuid() == 0:
        os.chown(gsym, 65534, 65534)
    else:
        gsym.chmod(0o620)
    assert ask_at(home, large) == first


def test_a_damaged_record_is_made_anew(large, home):
    ask_at(home, large)
    make_due(home)
    first = ask_at(home, large)
    (gsym,) = kept(home / ".cache/unhex")
    whole = gsym.read_bytes()
    tail = len(whole) - whole.rindex(b"\0outer\0") - 7
    assert tail > 100  # records are behind the names
    gsym.write_bytes(whole[:-tail] + b"\xff" * tail)
    assert ask_at(home, large) == first
    assert [p.suffix for p in kept(home / ".cache/unhex")] == [".spent"]


def test_many_at_once_by_default(large, home):
    first = ask_at(home, large)
    make_due(home)
    start = symbol(large, "outer")[0]
    env = {k: v for k, v in os.environ.items() if k not in ("UNHEX_CACHE", "XDG_CACHE_HOME")}
    many = [subprocess.Popen([UNHEX, "addr2line", "-fe", large, f"{start:x}"], text=True,
                             env={**env, "HOME": str(home)}, stdout=subprocess.PIPE) for _ in range(8)]
    assert {p.communicate(timeout=120)[0] for p in many} == {first}
    assert [p.suffix for p in kept(home / ".cache/unhex")] in ([".gsym"], [".gsym", ".spent"])
    assert ask_at(home, large) == first


@pytest.mark.parametrize("used", [0, 4096])
def test_a_full_disk_costs_nothing(large, home, used):
    """A file system of one page."""
    inside = f"""
        mount -t tmpfs -o size=4096,mode=0700 none {home} && head -c {used} /dev/zero > {home}/file &&
        for i in 1 2 3; do
            {UNHEX} addr2line -fe {large} {symbol(large, 'outer')[0]:x} || exit 1
            for f in {home}/.cache/unhex/*.spent; do truncate -s 1000 "$f"; done
        done; ls {home}/.cache/unhex >&2"""
    env = {k: v for k, v in os.environ.items() if k not in ("UNHEX_CACHE", "XDG_CACHE_HOME")}
    r = subprocess.run(["unshare", "-rm", "sh", "-c", inside], env={**env, "HOME": str(home)}, text=True,
                       capture_output=True, timeout=120)
    assert r.returncode == 0, r.stderr
    assert r.stdout.count("outer\n") == 3 and ".gsym" not in r.stderr


def test_a_limit_on_the_size_of_files_kills_no_process(large, home):
    ask_at(home, large)
    make_due(home)
    start = symbol(large, "outer")[0]
    env = {k: v for k, v in os.environ.items() if k not in ("UNHEX_CACHE", "XDG_CACHE_HOME")}
    r = subprocess.run([UNHEX, "addr2line", "-fe", large, f"{start:x}"], env={**env, "HOME": str(home)},
                       capture_output=True, text=True, timeout=120,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)))
    assert r.returncode == 0 and r.stdout.startswith("outer\n")
    assert kept(home / ".cache/unhex") == []


def test_the_end_of_a_question_of_perf_costs_nothing(large, home):
    """It writes the address and ",", which is 0, and waits for both answers."""
    start = symbol(large, "outer")[0]
    env = {k: v for k, v in os.environ.items() if k not in ("UNHEX_CACHE", "XDG_CACHE_HOME")}
    with subprocess.Popen([UNHEX, "addr2line", "-fe", large], env={**env, "HOME": str(home)}, text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1) as p:
        sizes = []
        for question, answer in (f"{start:x}", "outer"), (",", "??"), (f"{start:x}", "outer"), (",", "??"):
            p.stdin.write(question + "\n")
            assert p.stdout.readline() == answer + "\n"
            p.stdout.readline()
            (spent,) = (home / ".cache/unhex").glob("*.spent")
            sizes.append(spent.stat().st_size)
    assert sizes == sizes[:1] * 4


def test_what_a_killed_command_left_is_removed(large, home):
    ask_at(home, large)
    folder = home / ".cache/unhex"
    old, new = folder / "x.gsym.tmp-abcdef", folder / "y.gsym.tmp-abcdef"
    for path in old, new:
        path.touch(0o600)
    os.utime(old, (10**9, 10**9))
    make_due(home)
    ask_at(home, large)
    assert not old.exists() and new.exists()


# --- profiles, and lookup --------------------------------------------------------------------------

def profile_of(program, folder):
    """Folded stacks with an address of a file: what a profiler without symbols writes."""
    path = folder / "profile.folded"
    path.write_text(f"main;[{program}+{symbol(program, 'outer')[0]:#x}] 7\n")
    return path


COMMANDS = {"symbolize": ["symbolize", "--to", "folded"], "top": ["top"], "flame": ["flame", "-o", "-"]}


def name_at(home, program, folder, command, *more):
    """The output of a command that names the profile, or the address."""
    args = (["lookup", program, f"{symbol(program, 'outer')[0]:#x}"] if command == "lookup" else
            [*COMMANDS[command], profile_of(program, folder)])
    r = unhex(*args, *more, env={"HOME": str(home), "XDG_CACHE_HOME": ""})
    assert r.returncode == 0, r.stderr
    assert "outer" in r.stdout or "OUTER" in r.stdout
    return r.stdout


@pytest.mark.parametrize("command", [*COMMANDS, "lookup"])
def test_a_file_that_is_named_again_and_again_is_kept(large, home, tmp_path, command):
    first = name_at(home, large, tmp_path, command)
    (spent,) = kept(home / ".cache/unhex")
    assert spent.suffix == ".spent" and spent.stat().st_size > 0
    make_due(home)
    assert name_at(home, large, tmp_path, command) == first
    (gsym,) = kept(home / ".cache/unhex")
    assert gsym.suffix == ".gsym" and gsym.stat().st_mode & 0o777 == 0o600
    assert name_at(home, large, tmp_path, command) == first


@pytest.mark.parametrize("command", [*COMMANDS, "lookup"])
def test_what_one_command_has_kept_is_used_by_the_others(large, home, tmp_path, command):
    first = name_at(home, large, tmp_path, command)
    other = "symbolize" if command == "lookup" else "lookup"
    name_at(home, large, tmp_path, other)
    make_due(home)
    name_at(home, large, tmp_path, other)
    (gsym,) = kept(home / ".cache/unhex")
    gsym.write_bytes(gsym.read_bytes().replace(b"\0outer\0", b"\0OUTER\0"))
    assert name_at(home, large, tmp_path, command) == first.replace("outer", "OUTER")
    assert name_at(home, large, tmp_path, command, "--no-cache") == first


@pytest.mark.parametrize("command", COMMANDS)
def test_no_cache_keeps_nothing(large, home, tmp_path, command):
    name_at(home, large, tmp_path, command, "--no-cache")
    assert not (home / ".cache").exists()


def test_what_a_changed_file_had_is_not_used_for_a_profile(large, home, tmp_path):
    name_at(home, large, tmp_path, "symbolize")
    make_due(home)
    name_at(home, large, tmp_path, "symbolize")
    other = compile_c(tmp_path, "other", BIG.replace("NAME", "another").replace("5 << 20", "20 << 20"))
    start = symbol(other, "another")[0]
    os.replace(other, large)
    (tmp_path / "profile.folded").write_text(f"[{large}+{start:#x}] 1\n")
    r = unhex("symbolize", tmp_path / "profile.folded", env={"HOME": str(home), "XDG_CACHE_HOME": ""})
    assert "another" in r.stdout and "outer" not in r.stdout


def test_a_damaged_record_does_not_cost_a_profile_its_names(large, home, tmp_path):
    first = name_at(home, large, tmp_path, "symbolize")
    make_due(home)
    name_at(home, large, tmp_path, "symbolize")
    (gsym,) = kept(home / ".cache/unhex")
    whole = gsym.read_bytes()
    tail = len(whole) - whole.rindex(b"\0outer\0") - 7
    gsym.write_bytes(whole[:-tail] + b"\xff" * tail)
    assert name_at(home, large, tmp_path, "symbolize") == first
    assert gsym not in kept(home / ".cache/unhex")


def test_names_without_dwarf_are_kept_on_their_own(large, home, tmp_path):
    """They have no lines, which the others have."""
    cache = {"HOME": str(home), "XDG_CACHE_HOME": "", "UNHEX_CACHE": "on"}
    (home / ".cache").mkdir(mode=0o700)
    profile = profile_of(large, tmp_path)
    for args, files in ([], 1), (["--no-dwarf"], 2), ([], 2), (["--no-dwarf"], 2):
        r = unhex("symbolize", profile, *args, "-o", tmp_path / "out.pb", env=cache)
        assert r.returncode == 0, r.stderr
        assert (b"big.c" in (tmp_path / "out.pb").read_bytes() or
                b"large.c" in (tmp_path / "out.pb").read_bytes()) == (not args)
        assert len(kept(home / ".cache/unhex")) == files
