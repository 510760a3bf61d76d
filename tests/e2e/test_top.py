# SPDX-License-Identifier: Apache-2.0
"""unhex top: the table of functions and lines, and a function beside its source."""
import collections
import pty
import re
import subprocess

import pytest

from pprof_stacks import Stacks
from tool import UNHEX, fails, lines, unhex

SOURCE = "\n".join(["int work(int x)", "{", "\tint sum = 0;", "\twhile (x--)", "\t\tsum += x;", "\treturn sum;", "}", ""]
                   + [f"// line {n}" for n in range(9, 60)]) + "\n"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("top")
    (path / "src").mkdir()
    (path / "src/work.c").write_text(SOURCE)
    main = ("main", "prog", "/src/main.c", 9)
    s = Stacks(("samples", "count"), ("cpu", "nanoseconds"))
    for line, n in ((4, 3), (5, 6), (40, 1)):
        s.sample([main, ("work", "prog", "/src/work.c", line)], n, n * 10_000_000)
    s.sample([main, [("work", "prog", "/src/work.c", 6), ("std::vector<int>::size", "prog", "/src/v.h", 3)]], 5, 50_000_000)
    s.sample([main, ("work", "prog", "/src/work.c", 4), ("work", "prog", "/src/work.c", 4)], 2, 20_000_000)
    s.sample([main, (0x77, "libx.so")], 3, 30_000_000)
    s.sample([main, ("bad\x1b[31m", "prog")], 1, 1_000_000)
    return s.write(path / "cpu.pb")


def top(*args):
    done = unhex("top", *args, "--no-local")
    assert done.returncode == 0, done.stderr
    return done


def test_functions_are_ordered_by_what_they_have(recorded):
    text = top(recorded, "--value", "samples").stdout
    assert text.splitlines()[0] == "samples: 21"
    rows = [re.split(r"  +", line.strip()) for line in text.splitlines()[2:]]
    assert rows[0] == ["12", "57.1 %", "17", "81.0 %", "work", "prog"]
    assert rows[1] == ["5", "23.8 %", "5", "23.8 %", "std::vector<int>::size", "prog"]
    assert rows[2] == ["3", "14.3 %", "3", "14.3 %", "libx.so@0x77", "libx.so"]
    assert text.splitlines()[-1].split() == ["0", "0.0", "%", "21", "100.0", "%", "main", "prog"]
    assert "bad\\x1b[31m" in text and "\x1b" not in text
    assert "210.00 ms" not in text and "cpu: 201.00 ms" in top(recorded).stdout
    by_total = top(recorded, "--total", "-n", "2").stdout.splitlines()
    assert [line.split()[-2] for line in by_total[2:4]] == ["main", "work"] and "and 3 more" in by_total[4]


def test_the_sums_are_those_of_the_samples(recorded):
    """Against a count by hand, from the folded stacks."""
    own, total = collections.Counter(), collections.Counter()
    done = unhex("flame", recorded, "--no-local", "--to", "folded", "--value", "samples")
    for line in done.stdout.replace("[libx.so@0x77]", "libx.so@0x77").splitlines():
        stack, n = line.rsplit(" ", 1)
        names = stack.split(";")
        own[names[-1]] += int(n)
        total.update(dict.fromkeys(names, int(n)))
    rows = {r["function"]: (r["self"], r["total"]) for r in lines(top(recorded, "--json", "--value", "samples"))}
    assert rows == {name: (own[name], total[name]) for name in total}


def test_go_tool_pprof_has_the_same_table(tmp_path):
    s = Stacks(("samples", "count"))
    for i in range(400):
        stack = [("main", "prog", "/src/main.c", 1)]
        for d in range(i % 7 + 1):
            name = f"f{(i * 7 + d * d) % 23}"
            frame = (name, "prog", "/src/x.c", d + 1)
            stack.append([frame, (f"in{i % 5}", "prog", "/src/x.h", 2)] if i % 3 == d else frame)
        s.sample(stack, i % 11 + 1)
    profile = s.write(tmp_path / "cpu.pb")
    text = subprocess.run(["go", "tool", "pprof", "-symbolize=none", "-top", "-nodefraction=0", "-nodecount=1000", profile],
                          check=True, capture_output=True, text=True).stdout
    theirs = {}
    for line in text.split("flat%")[1].splitlines()[1:]:
        flat, _, _, cum, _, name, *_ = line.split()
        theirs[name] = int(flat), int(cum)
    assert len(theirs) == 29
    assert {r["function"]: (r["self"], r["total"]) for r in lines(top(profile, "--json", "-n", "100"))} == theirs


def test_lines_are_rows_of_their_own(recorded):
    rows = lines(top(recorded, "--lines", "--json", "--value", "samples"))
    found = {(r["function"], r.get("file"), r.get("line")): (r["self"], r["total"]) for r in rows}
    assert found["work", "/src/work.c", 4] == (5, 5)  # once, though it is twice in a stack
    assert found["work", "/src/work.c", 6] == (0, 5)  # of an inlined call
    assert found["std::vector<int>::size", "/src/v.h", 3] == (5, 5)
    assert found["libx.so@0x77", None, None] == (3, 3)
    assert not next(r for r in rows if r["function"].startswith("libx"))["named"]
    assert "/src/work.c:5" in top(recorded, "--lines").stdout


def test_a_function_beside_its_source(recorded):
    text = top(recorded, "--annotate", "work", "--source", recorded.parent, "--value", "samples").stdout
    rows = text.splitlines()
    assert rows[0] == "work" and rows[2] == "/src/work.c"
    four = next(r for r in rows if r.endswith("while (x--)"))
    assert four.split() == ["5", "23.8", "%", "5", "23.8", "%", "4", "while", "(x--)"]
    assert next(r for r in rows if "sum += x" in r).split()[:3] == ["6", "28.6", "%"]
    assert next(r for r in rows if "return sum" in r).split()[3:6] == ["5", "23.8", "%"]
    assert any(r.split() == ["1", "int", "work(int", "x)"] for r in rows)
    assert any(r.strip() == "..." for r in rows) and not any("line 20" in r for r in rows)
    assert any(r.endswith("// line 43") for r in rows) and not any("line 44" in r for r in rows)


def test_without_the_source_there_are_lines_alone(recorded):
    text = top(recorded, "--annotate", "work", "--value", "samples").stdout
    assert "/src/work.c (not shown: " in text
    assert [r.split()[-1] for r in text.splitlines()[3:]] == ["4", "5", "6", "40"]


def test_what_cannot_be_done_is_said(recorded):
    fails(unhex("top", recorded, "--no-local", "--annotate", "zzz"), 1, "zzz", "no function")
    fails(unhex("top", recorded, "--no-local", "--annotate", "a"), 1, "several functions match", "main")
    fails(unhex("top", recorded, "--annotate", "work", "--json"), 2, "--lines")
    fails(unhex("top"), 2, "no profile")


def test_a_terminal_gets_lines_that_fit(recorded, tmp_path):
    s = Stacks()
    s.sample([("n::" + "long_" * 60 + "name<int>", "prog")], 1)
    s.write(tmp_path / "long.pb")
    ours, theirs = pty.openpty()
    done = subprocess.run([UNHEX, "top", tmp_path / "long.pb", "--no-local"], stdout=theirs, stderr=subprocess.DEVNULL,
                          env={"TERM": "xterm", "NO_COLOR": "1", "PATH": "/usr/bin"}, timeout=60, check=False)
    assert done.returncode == 0
    with open(ours, "rb", buffering=0) as f:
        text = f.read(65536).decode()
    assert "n::long_" in text and all(len(line) <= 80 for line in text.split("\r\n")), text
