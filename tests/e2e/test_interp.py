# SPDX-License-Identifier: Apache-2.0
"""Frames of CPython, against what each interpreter says of itself."""
import collections
import contextlib
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from interpreters import ASK, PEERS, ask, pythons, running, walk
from tool import fails, lines, unhex
from waiting import wait_for

PYTHONS = pythons()
HERE = pathlib.Path(__file__).parent

EVERY = pytest.mark.parametrize("version", PYTHONS, ids=lambda v: "%d.%d" % v)
FIELDS = ("file", "line", "first_line", "code", "offset")


def test_there_are_old_and_new_layouts():
    """One that needs a table of ours and one that describes itself."""
    assert any(v < (3, 13) for v in PYTHONS) or not os.path.exists("/usr/bin/python3.11")
    assert any(v >= (3, 13) for v in PYTHONS), f"tools/interpreters.sh fills {PEERS}"


@EVERY
def test_every_thread_has_the_frames_that_the_interpreter_reports(version):
    """Functions, files, lines, offsets of 13 stopped threads: over 2,300 frames."""
    with running(PYTHONS[version], HERE / "interp_target.py") as (process, target):
        (walked,) = walk(target["pid"], "python")
        (said,) = ask(target["pid"], "python", "version")
    assert said == f"Python {target['version']}"
    ours = {t["handle"]: t for t in walked}
    assert set(ours) == {t["ident"] for t in target["threads"]}
    for thread in target["threads"]:
        if thread["me"]:
            continue
        mine = ours[thread["ident"]]
        assert mine["state"] == "whole"
        assert thread["tid"] in (0, mine["tid"]) and mine["tid"] > 0
        assert len(mine["frames"]) == len(thread["frames"])
        for a, b in zip(mine["frames"], thread["frames"]):
            file = a["file"].encode("utf-8", "surrogateescape").decode("latin-1")
            assert {**{k: a[k] for k in FIELDS}, "file": file} == {k: b[k] for k in FIELDS}
            assert a["function"] == b["function"]


COLLECT = r"""
import dis, json, os, sys, sysconfig, types
folder = sysconfig.get_path("stdlib")
kept, told = [], []
def lines(code):
    n = len(code.co_code)
    at = [0] * n
    if hasattr(code, "co_lines"):
        for start, end, line in code.co_lines():
            at[start:end] = [line or 0] * (end - start)
    else:
        starts = list(dis.findlinestarts(code)) + [(n, 0)]
        for (start, line), (end, _) in zip(starts, starts[1:]):
            at[start:end] = [line] * (end - start)
    return at[::2]
def take(code):
    kept.append(code)
    told.append({"code": id(code), "size": len(code.co_code), "lines": lines(code),
                 "function": getattr(code, "co_qualname", code.co_name)})
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            take(c)
for name in sorted(os.listdir(folder))[::3]:
    if name.endswith(".py") and os.path.exists(os.path.join(folder, name)):
        with open(os.path.join(folder, name), "rb") as f:
            take(compile(f.read(), name, "exec"))
sys.stdout.write(json.dumps({"pid": os.getpid(), "codes": told}) + "\n")
sys.stdout.flush()
sys.stdin.read()
"""


@EVERY
def test_every_instruction_of_the_standard_library_has_its_line(version):
    """Against co_lines() and dis.findlinestarts(), at each offset of thousands of code objects."""
    with running(PYTHONS[version], "-c", COLLECT) as (process, target):
        requested = "".join(f"{c['code']} 0 {c['size']} 2\n" for c in target["codes"])
        answers = ask(target["pid"], "python", "resolve", "lines", stdin=requested.encode())
    assert len(answers) == len(target["codes"]) > 1000
    for code, answer in zip(target["codes"], answers):
        lines, _, function = answer.partition("\t")
        assert function == code["function"]
        assert list(map(int, lines.split())) == code["lines"], function


BUSY = r"""
import json, os, sys, threading
def a(n):
    return b(n - 1) if n > 0 else 0
def b(n):
    return c(n) + 1
class C:
    def __call__(self, n):
        return sum(self.each(n))
    def each(self, n):
        for i in range(2):
            yield a(n)
c = C()
def made(n):
    space = {"a": a}
    exec(compile("def f%d(n):\n return a(n)\nf%d(2)\n" % (n % 50, n % 50), "made", "exec"), space)
def forever():
    n = 0
    while True:
        a(3)
        made(n)
        [a(1) for _ in range(3)]
        n += 1
for _ in range(3):
    threading.Thread(target=forever, daemon=True).start()
sys.stdout.write(json.dumps({"pid": os.getpid()}) + "\n")
sys.stdout.flush()
sys.stdin.read()
"""
MADE = [f"f{n}" for n in range(50)]
BUSY_FUNCTIONS = {(name, "<string>") for name in ("a", "b", "__call__", "each", "made", "forever",
                                                  "<module>", "<listcomp>")}
BUSY_FUNCTIONS |= {("<module>", "made"), *((name, "made") for name in MADE)}
BUSY_CALLS = {("a", "b"), ("b", "__call__"), ("__call__", "each"), ("each", "a"), ("made", "<module>"),
              ("forever", "a"), ("forever", "made"), ("forever", "<listcomp>"), ("<listcomp>", "a"),
              ("run", "forever"), *(("<module>", name) for name in MADE), *((name, "a") for name in MADE)}


def short(function):
    """Without its class, which is not always found before 3.11."""
    return function.rpartition(".")[2]


@EVERY
def test_a_busy_interpreter_never_gives_a_wrong_stack(version):
    """10,000 stacks of three threads that call all the time: every frame that is reported exists."""
    with running(PYTHONS[version], "-c", BUSY) as (process, target):
        seen, states, calls = (collections.Counter() for _ in range(3))
        for threads in walk(target["pid"], "python", 2500):
            for t in threads:
                states[t["state"]] += 1
                names = [short(f["function"]) for f in t["frames"]]
                calls.update(zip(names[1:], names) if t["state"] == "whole" else ())
                seen.update((name, f["file"].rpartition("/")[2])
                            for name, f in zip(names, t["frames"]))
    assert sum(states.values()) >= 10000
    assert not {s for s in seen if s not in BUSY_FUNCTIONS and s[1] != "threading.py" and s[0]}
    # No whole stack is put together from two: who calls whom is right as well.
    assert not {c for c in calls if c not in BUSY_CALLS and "" not in c and
                c[1] not in {name for name, file in seen if file == "threading.py"}}
    assert states["whole"] > 1000 and seen["a", "<string>"] > 100


def test_a_process_that_ends_is_no_failure():
    """What is left of the walk says that there is nothing more to read."""
    with running(PYTHONS[max(PYTHONS)], "-c", BUSY) as (process, target):
        asking = subprocess.Popen([ASK, str(target["pid"]), "python", "walk", "1000000"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert asking.stdout.readline().startswith(b"[{")
        process.kill()
        process.wait()
        _, words = asking.communicate(timeout=60)
    assert asking.returncode == 1 and b"the interpreter has ended" in words


STILL = r"""
import sys
def stays():
    sys.stdout.write('{"pid": %d}\n' % __import__("posix").getpid())
    sys.stdout.flush()
    sys.stdin.read()
stays()
"""


def renamed(version, folder, *names):
    """A command for a copy of that version's program, in which names of symbols or sections are
    spelled otherwise: the copy's file is not called like an interpreter either."""
    path = PYTHONS[version]
    program = path.resolve() if path.parent == pathlib.Path("/usr/bin") \
        else path.parents[1] / "root/usr/bin" / path.name
    data = program.read_bytes()
    for name in names:
        assert b"\0" + name + b"\0" in data
        data = data.replace(b"\0" + name + b"\0", b"\0" + name[:-1] + b"?\0")
    copy = folder / "renamed"
    copy.write_bytes(data)
    copy.chmod(0o755)
    if program == path.resolve():
        return [copy]
    script = folder / "run"
    script.write_text(path.read_text().replace('$(cd "$(dirname "$0")/.." && pwd)', str(path.parents[1]))
                      .replace(f"$here/root/usr/bin/{path.name}", str(copy)))
    script.chmod(0o755)
    return [script]


ALONE = [v for v in PYTHONS if PYTHONS[v].parent == pathlib.Path("/usr/bin")
         or PEERS in PYTHONS[v].parents]


@pytest.mark.parametrize("version", ALONE, ids=lambda v: "%d.%d" % v)
@pytest.mark.parametrize("names", [[b"_PyRuntime"], [b"_PyRuntime", b".PyRuntime"]],
                         ids=["no symbol", "no section"])
def test_state_is_found_without_names(version, names, tmp_path):
    """By the section .PyRuntime, or by searching the data for what only _PyRuntime looks like."""
    if version < (3, 13):
        names = names[:1]
    command = renamed(version, tmp_path, *names)
    with running(*command, "-S", "-c", STILL) as (process, target):
        (threads,) = walk(target["pid"], "python")
    (main,) = threads
    assert [f["function"] for f in main["frames"]] == ["stays", "<module>"]
    assert main["frames"][0]["line"] in (5, 6) and main["frames"][1]["line"] == 7


SHARED = [v for v in PYTHONS if list(PYTHONS[v].parents[1].glob("lib/libpython3*.so.1.0"))]


@contextlib.contextmanager
def nameless(version, folder, *args):
    """A running Python without the names that say where its state is. A program has others from the start; of a
    library, by whose names the program is linked, the file is changed while it runs."""
    if version not in SHARED:
        with running(*renamed(version, folder, b"_PyRuntime"), *args) as both:
            yield both
        return
    (library,) = PYTHONS[version].parents[1].glob("lib/libpython3.*.so.1.0")
    copy = folder / library.name
    shutil.copy(library, copy)
    with running(PYTHONS[version], *args, env={"LD_PRELOAD": str(copy)}) as both:
        data = copy.read_bytes()
        with open(copy, "r+b") as file:
            for name in (b"_PyRuntime\0", b".PyRuntime\0", b"Py_Version\0"):
                for match in re.finditer(re.escape(name), data):
                    file.seek(match.start() + 1)
                    file.write(b"Q")
        yield both


NAMELESS = sorted({*ALONE, *SHARED})
# Those that have a module for subinterpreters; Debian's is linked by names of the program.
DIVIDED = [(v, named) for v in NAMELESS if v >= (3, 8) for named in (True, False) if named or v in SHARED]
SUBINTERPRETERS = """
import json, os, sys, threading
try:
    import _interpreters as some
except ImportError:
    import _xxsubinterpreters as some
number = some.create()
def outside():
    some.run_string(number, "def within():\\n import time\\n time.sleep(1000)\\nwithin()")
threading.Thread(target=outside, daemon=True).start()
print(json.dumps({"pid": os.getpid(), "number": int(number)}), flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("version", NAMELESS, ids=lambda v: "%d.%d" % v)
def test_state_that_is_found_by_search_alone_is_the_right_one(version, tmp_path):
    """Other data can look like _PyRuntime, but has no frames: its threads were "changed while they were read"."""
    with nameless(version, tmp_path, "-S", "-c", STILL) as (process, target):
        ((main,),) = walk(target["pid"], "python")
    assert main["state"] == "whole"
    assert [f["function"] for f in main["frames"]] == ["stays", "<module>"]


@pytest.mark.parametrize("version,named", DIVIDED, ids=lambda v: "%d.%d" % v if isinstance(v, tuple) else str(v))
def test_subinterpreters_are_distinguished(version, named, tmp_path):
    """One thread runs code of two interpreters: it is reported for each."""
    started = running(PYTHONS[version], "-c", SUBINTERPRETERS) if named \
        else nameless(version, tmp_path, "-c", SUBINTERPRETERS)
    with started as (process, target):
        def both():
            (threads,) = walk(target["pid"], "python")
            found = {(t["interpreter"], f["function"]) for t in threads for f in t["frames"]}
            return found if any(f == "within" for _, f in found) else None
        wait_for(both)
        found = both()
        text = unhex("proc", target["pid"], "--python").stdout
        answers = lines(unhex("proc", target["pid"], "--python", "--json"))
    assert target["number"] > 0
    assert (target["number"], "within") in found and (0, "outside") in found
    assert not {(0, "within"), (target["number"], "outside")} & found
    assert f" in subinterpreter {target['number']}\n    within at " in text
    assert {a.get("subinterpreter", 0) for a in answers} == {0, target["number"]}


def test_what_has_no_interpreter_says_so():
    with subprocess.Popen(["sleep", "100"]) as sleeper:
        done = subprocess.run([ASK, str(sleeper.pid), "python", "walk"], capture_output=True, text=True)
        sleeper.kill()
    assert done.returncode == 1 and "no interpreter in process" in done.stderr
    done = subprocess.run([ASK, "4194305", "any", "walk"], capture_output=True, text=True)
    assert done.returncode == 1 and "process 4194305" in done.stderr


@EVERY
def test_the_command_prints_what_the_library_tells(version):
    with running(PYTHONS[version], "-S", "-c", STILL) as (process, target):
        text = unhex("proc", target["pid"], "--python")
        (thread,) = lines(unhex("proc", target["pid"], "--python", "--json"))
        fails(unhex("proc", target["pid"], "0x1000", "--python"), 2, "--python: unexpected address")
    assert text.returncode == 0 and text.stderr == ""
    first, second, *frames = text.stdout.splitlines()
    assert first.startswith("Python %d.%d" % version) and second == f"thread {target['pid']}"
    assert [f.rpartition(":")[0] for f in frames] == ["    stays at <string>", "    <module> at <string>"]
    assert thread["thread"] == target["pid"] and thread["stack"] == "whole"
    assert thread["interpreter"] == first
    assert [(f["function"], f["file"]) for f in thread["frames"]] == [("stays", "<string>"),
                                                                      ("<module>", "<string>")]


def test_the_command_says_that_there_is_no_python():
    with subprocess.Popen(["sleep", "100"]) as sleeper:
        fails(unhex("proc", sleeper.pid, "--python"), 1, "no interpreter", sleeper.pid)
        sleeper.kill()
