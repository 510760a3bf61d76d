# SPDX-License-Identifier: Apache-2.0
"""The stack of PHP, against debug_backtrace()."""
import pathlib
import re

import pytest

from interpreters import PEERS, ask, found, instants, running, walk
from tool import fails, lines, unhex

PHPS = found(r"php(\d+)\.(\d+)", pathlib.Path("/usr/bin"), *sorted(PEERS.glob("*/bin")))
PHPS = {v: p for v, p in PHPS.items() if v in ((8, 2), (8, 4))}
TARGET = pathlib.Path(__file__).parent / "interp_target.php"
JOBS = re.findall(r'^    "(\w+)" => function', TARGET.read_text(), re.M)

EVERY = pytest.mark.parametrize("version", PHPS, ids=lambda v: "%d.%d" % v)


def test_there_are_both_layouts():
    assert set(PHPS) == {(8, 2), (8, 4)} or not pathlib.Path("/usr/bin/php8.2").exists()
    assert (8, 4) in PHPS


def expected(reported):
    """Function, file and line of each frame, innermost first. debug_backtrace() names a function and
    where it is called, which is where the next one stands; functions of PHP's own have no place."""
    place = {"file": reported["file"], "line": reported["line"]}
    frames = [("fgets", "", 0)]
    for called in reported["trace"]:
        name = called["function"]
        if "class" in called:
            name = called["class"].partition("\0")[0] + "::" + name
        if name in ("include", "eval"):
            name = "{main}"
        frames.append((name, place.get("file", ""), place.get("line", 0)))
        place = called
    return [*frames, ("{main}", place.get("file", ""), place.get("line", 0))]


@EVERY
@pytest.mark.parametrize("job", JOBS)
def test_the_stack_is_the_one_that_php_tells(version, job, tmp_path):
    (tmp_path / "some.php").write_text("<?php\n\nreturn Some\\Space\\stop();\n")
    with running(PHPS[version], TARGET, job, tmp_path / "some.php") as (process, reported):
        while True:  # it has printed, and stops a moment later
            ((thread,),) = walk(reported["pid"], "php")
            if thread["frames"] and thread["frames"][0]["function"] == "fgets":
                break
        (said,) = ask(reported["pid"], "php", "version")
    assert said == f"PHP {reported['version']}"
    assert thread["state"] == "whole" and thread["tid"] == reported["pid"]
    ours = [(f["function"], f["file"], f["line"]) for f in thread["frames"]]
    assert ours == expected(reported)


BUSY = r"""
class C {
    function b($n) { return $this->__call("c", [$n]); }
    function __call($name, $a) { return array_sum(array_map(fn($x) => a($x - 1), $a)); }
}
function a($n) { return $n > 0 ? (new C)->b($n) : 1; }
echo json_encode(["pid" => getmypid()]), "\n";
function each() { for ($i = 0; $i < 3; $i++) yield a($i); }
for ($n = 0; ; $n = ($n + 1) % 50) {
    foreach (each() as $x) eval("(function() { return a($n % 3); })();");
}
"""
CALLS = {("a", "C::b"), ("C::b", "C::__call"), ("C::__call", "array_map"), ("array_map", "{closure}"),
         ("{closure}", "a"), ("{main}", "each"), ("each", "a"), ("{main}", "{main}"), ("{main}", "{closure}"),
         ("C::__call", "array_sum"), ("C::__call", "C::{closure}"),
         ("array_map", "C::{closure}"), ("C::{closure}", "a")}


def calls_of(thread):
    """Who calls whom in a whole stack; each function and file is one of the program's."""
    names = [re.sub(r"\{closure.*", "{closure}", f["function"]) for f in thread["frames"]]
    assert {n for n in names if n} <= {name for call in CALLS for name in call}
    assert all(f["file"] in ("", "Command line code") or "eval()'d" in f["file"]
               for f in thread["frames"])
    if thread["state"] != "whole":
        return set()
    assert names[-1] == "{main}"
    return {c for c in zip(names[1:], names) if "" not in c}


@EVERY
def test_a_busy_php_never_gives_a_wrong_stack(version):
    """10,000 stacks of a program that calls and compiles all the time. How many of them are whole, and
    which calls are met, is up to the machine."""
    with running(PHPS[version], "-r", BUSY) as (process, reported):
        walked = walk(reported["pid"], "php", 10000)
    calls = set().union(*(calls_of(thread) for (thread,) in walked))
    assert len(walked) == 10000 and calls <= CALLS, calls - CALLS


@EVERY
def test_the_stack_of_a_php_that_is_stopped_anywhere_is_whole(version):
    calls, torn = set(), 0
    with running(PHPS[version], "-r", BUSY) as (process, reported):
        for (thread,) in instants(reported["pid"], "php", 200):
            calls |= calls_of(thread)
            torn += thread["state"] != "whole"
    assert calls <= CALLS, calls - CALLS
    assert len(calls) > 5 and torn < 10


@EVERY
def test_the_command_prints_the_stack(version):
    with running(PHPS[version], TARGET, "plain") as (process, reported):
        text = unhex("proc", reported["pid"], "--php")
        (thread,) = lines(unhex("proc", reported["pid"], "--php", "--json"))
        fails(unhex("proc", reported["pid"], "0x1000", "--php"), 2, "--php: unexpected address")
        fails(unhex("proc", reported["pid"], "--python"), 1, "no interpreter")
    assert text.returncode == 0
    assert text.stdout.startswith(f"PHP {reported['version']}\nthread {reported['pid']}\n")
    assert thread["frames"][-1]["function"] == "{main}"
