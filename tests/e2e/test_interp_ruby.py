# SPDX-License-Identifier: Apache-2.0
"""The stacks of Ruby's threads, against Thread#backtrace_locations."""
import pathlib
import re

from interpreters import PEERS, ask, found, instants, running, walk
from tool import fails, lines, unhex

RUBY = found(r"ruby(3)\.(1)", pathlib.Path("/usr/bin"), *sorted(PEERS.glob("*/bin"))).get((3, 1))
TARGET = pathlib.Path(__file__).parent / "interp_target.rb"
PLAIN = "--disable=gems"

# Methods that are written in C have no instructions; backtraces have them with the caller's place.
C_METHODS = {"sleep", "each", "map", "call", "send", "new", "instance_eval", "sort_by", "times", "resume",
             "next", "initialize", "eval", "loop", "backtrace_locations"}


def test_there_is_a_ruby():
    assert RUBY, f"tools/interpreters.sh fills {PEERS}"


def test_every_thread_is_told_as_ruby_tells_it():
    """26 stopped threads: functions, files, lines, the kernel's IDs."""
    with running(RUBY, PLAIN, TARGET) as (process, told):
        (walked,) = walk(told["pid"], "ruby")
        (said,) = ask(told["pid"], "ruby", "version")
    assert said == f"Ruby {told['version']}"
    ours = {t["tid"]: t for t in walked}
    assert len(ours) == len(told["threads"]) + 1 == 27
    frames = 0
    for thread in told["threads"]:
        mine = ours.pop(thread["tid"])
        assert mine["state"] == "whole"
        assert [{k: f[k] for k in ("function", "file", "line")} for f in mine["frames"]] == \
            [f for f in thread["frames"] if f["function"] not in C_METHODS]
        frames += len(mine["frames"])
    assert frames > 1500
    (main,) = ours.values()
    assert main["tid"] == told["pid"]
    assert [f["function"] for f in main["frames"]] == ["<main>"]


BUSY = r"""
def a(n) = n > 0 ? b(n - 1) { |x| c(x) } : 0
def b(n) = yield(n)
def c(n)
  [n].each { |x| a(x) }
end
n = 0
2.times { Thread.new { loop { n += 1; eval("def f#{n % 50}(x) = a(x)\nf#{n % 50}(3)", nil, "made") } } }
puts "{\"pid\":#{Process.pid}}"
$stdout.flush
loop { a(4) }
"""
CALLS = {("a", "b"), ("b", "block in a"), ("block in a", "c"), ("c", "block in c"), ("block in c", "a"),
         ("<main>", "block in <main>"), ("block in <main>", "a"), ("f", "a"), ("eval", "f"),
         ("block (3 levels) in <main>", "f"), ("block (2 levels) in <main>", "block (3 levels) in <main>"),
         ("block (3 levels) in <main>", "block (3 levels) in <main>"), ("loop", "block in <main>")}


def calls_of(thread):
    """Who calls whom in a whole stack; each function and file is one of the program's."""
    names = [re.sub(r"^f\d+$", "f", f["function"]) for f in thread["frames"]]
    assert {n for n in names if n} <= {name for call in CALLS for name in call}
    assert all(f["file"] in ("-e", "made", "", "<internal:kernel>") for f in thread["frames"])
    return {c for c in zip(names[1:], names) if "" not in c} if thread["state"] == "whole" else set()


def test_a_busy_ruby_is_never_told_wrong():
    """10,000 stacks of three threads that call and compile all the time. How many of them are whole, and
    which calls are met, is up to the machine."""
    with running(RUBY, PLAIN, "-e", BUSY) as (process, told):
        walked = [t for threads in walk(told["pid"], "ruby", 4000) for t in threads]
    calls = set().union(*map(calls_of, walked))
    assert len(walked) >= 10000
    assert calls <= CALLS, calls - CALLS


def test_a_ruby_that_is_stopped_anywhere_is_told_whole():
    calls, torn = set(), 0
    with running(RUBY, PLAIN, "-e", BUSY) as (process, told):
        for threads in instants(told["pid"], "ruby", 400):
            calls |= set().union(*map(calls_of, threads))
            torn += sum(t["state"] != "whole" for t in threads)
    assert calls <= CALLS, calls - CALLS
    assert len(calls) > 6 and torn < 60


def test_the_command_prints_the_stacks():
    with running(RUBY, PLAIN, TARGET) as (process, told):
        text = unhex("proc", told["pid"], "--ruby")
        threads = lines(unhex("proc", told["pid"], "--ruby", "--json"))
        fails(unhex("proc", told["pid"], "--ruby", "--php"), 2, "more than one")
        fails(unhex("proc", told["pid"], "--php"), 1, "no interpreter")
    assert text.returncode == 0
    assert text.stdout.startswith(f"Ruby {told['version']}\nthread ")
    assert len(threads) == 27
    assert {t["thread"] for t in threads} == {told["pid"], *(t["tid"] for t in told["threads"])}
