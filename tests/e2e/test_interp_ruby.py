# SPDX-License-Identifier: Apache-2.0
"""The stacks of Ruby's threads, against Thread#backtrace_locations."""
import pathlib
import re

import pytest

from interpreters import PEERS, ask, found, instants, running, walk
from tool import fails, lines, unhex

RUBIES = found(r"ruby(3)\.(1|3)", pathlib.Path("/usr/bin"), *sorted(PEERS.glob("*/bin")))
TARGET = pathlib.Path(__file__).parent / "interp_target.rb"
PLAIN = "--disable=gems"

# Methods that are written in C have no instructions; backtraces have them with the caller's place.
C_METHODS = {"sleep", "each", "map", "call", "send", "new", "instance_eval", "sort_by", "times", "resume",
             "next", "initialize", "eval", "loop", "backtrace_locations"}
# Since 3.3 some of them are Ruby.
RUBY_METHODS = {(3, 1): set(), (3, 3): {"times"}}

each_ruby = pytest.mark.parametrize("version", [(3, 1), (3, 3)], ids="{0[0]}.{0[1]}".format)


@each_ruby
def test_there_is_a_ruby(version):
    assert version in RUBIES, f"tools/interpreters.sh fills {PEERS}"


@each_ruby
def test_every_thread_has_the_frames_that_ruby_reports(version):
    """26 stopped threads: functions, files, lines, the kernel's IDs."""
    written_in_c = C_METHODS - RUBY_METHODS[version]
    with running(RUBIES[version], PLAIN, TARGET) as (process, reported):
        (walked,) = walk(reported["pid"], "ruby")
        (said,) = ask(reported["pid"], "ruby", "version")
    assert said == f"Ruby {reported['version']}"
    ours = {t["tid"]: t for t in walked}
    assert len(ours) == len(reported["threads"]) + 1 == 27
    frames = 0
    for thread in reported["threads"]:
        mine = ours.pop(thread["tid"])
        assert mine["state"] == "whole"
        assert [{k: f[k] for k in ("function", "file", "line")} for f in mine["frames"]] == \
            [f for f in thread["frames"] if f["function"] not in written_in_c]
        frames += len(mine["frames"])
    assert frames > 1500
    (main,) = ours.values()
    assert main["tid"] == reported["pid"]
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
# Calls of methods that are Ruby since then.
MORE_CALLS = {(3, 1): set(), (3, 3): {
    ("<main>", "times"), ("times", "block in <main>"), ("<main>", "loop"), ("block (2 levels) in <main>", "loop"),
    ("loop", "block (3 levels) in <main>")}}


def calls_of(thread, possible):
    """Who calls whom in a whole stack; each function and file is one of the program's."""
    names = [re.sub(r"^f\d+$", "f", f["function"]) for f in thread["frames"]]
    assert {n for n in names if n} <= {name for call in possible for name in call}
    assert all(f["file"] in ("-e", "made", "", "<internal:kernel>", "<internal:numeric>") for f in thread["frames"])
    return {c for c in zip(names[1:], names) if "" not in c} if thread["state"] == "whole" else set()


@each_ruby
def test_a_busy_ruby_never_gives_a_wrong_stack(version):
    """10,000 stacks of three threads that call and compile all the time. How many of them are whole, and
    which calls are met, is up to the machine."""
    with running(RUBIES[version], PLAIN, "-e", BUSY) as (process, reported):
        walked = [t for threads in walk(reported["pid"], "ruby", 4000) for t in threads]
    possible = CALLS | MORE_CALLS[version]
    calls = set().union(*(calls_of(t, possible) for t in walked))
    assert len(walked) >= 10000
    assert calls <= possible, calls - possible


@each_ruby
def test_the_stack_of_a_ruby_that_is_stopped_anywhere_is_whole(version):
    calls, torn, possible = set(), 0, CALLS | MORE_CALLS[version]
    with running(RUBIES[version], PLAIN, "-e", BUSY) as (process, reported):
        for threads in instants(reported["pid"], "ruby", 200):
            calls |= set().union(*(calls_of(t, possible) for t in threads))
            torn += sum(t["state"] != "whole" for t in threads)
    assert calls <= possible, calls - possible
    assert len(calls) > 6 and torn < 30


@each_ruby
def test_the_command_prints_the_stacks(version):
    with running(RUBIES[version], PLAIN, TARGET) as (process, reported):
        text = unhex("proc", reported["pid"], "--ruby")
        threads = lines(unhex("proc", reported["pid"], "--ruby", "--json"))
        fails(unhex("proc", reported["pid"], "--ruby", "--php"), 2, "more than one")
        fails(unhex("proc", reported["pid"], "--php"), 1, "no interpreter")
    assert text.returncode == 0
    assert text.stdout.startswith(f"Ruby {reported['version']}\nthread ")
    assert len(threads) == 27
    assert {t["thread"] for t in threads} == {reported["pid"], *(t["tid"] for t in reported["threads"])}
