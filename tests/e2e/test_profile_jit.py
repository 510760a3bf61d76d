# SPDX-License-Identifier: Apache-2.0
"""Recordings of programs that compile at run time, named by what was at an address when a sample
was taken. The judge is perf, which writes an ELF file of each function in a jitdump."""
import collections
import os
import pathlib
import re
import subprocess

import pytest

from tool import UNHEX

HERE = pathlib.Path(__file__).parent
ROUNDS = "100000000"
# A sample may fall on an instruction that others did not: how many addresses are in doubt differs between recordings.
DOUBTFUL = re.compile(r"\b[1-9]\d* addresses have the name of the last run-time code there")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Puts second at the address of first, moves it, and puts third there."""
    folder = tmp_path_factory.mktemp("jit-profile")
    subprocess.run(["gcc", "-O1", "-fno-omit-frame-pointer", "-o", "moves", HERE / "jit_moves.c"],
                   cwd=folder, check=True)
    return folder


def record(folder, name, command, *options):
    r = subprocess.run(["perf", "record", "-q", "-N", "-g", "-F", "997", "-e", "cpu-clock:u", *options,
                        "-o", name, "--", *command], cwd=folder, capture_output=True, text=True)
    if re.search("permission|not permitted|sys_perf_event_open", r.stderr, re.I):
        pytest.skip("this machine's kernel lets nobody record")
    assert r.returncode == 0, r.stderr
    return folder / name


def inject(path):
    """The recording as perf names it: each function has a file of its own."""
    out = path.with_suffix(".jit.data")
    env = {**os.environ, "HOME": str(path.parent)}
    subprocess.run(["perf", "inject", "--jit", "-i", path, "-o", out], cwd=path.parent, check=True,
                   capture_output=True, env=env)
    return out


def leaves_of_perf(path):
    text = subprocess.run(["perf", "script", "-i", path, "-F", "comm,ip,sym", "--no-inline", "-G"],
                          capture_output=True, text=True, check=True,
                          env={**os.environ, "HOME": str(path.parent)}).stdout
    return collections.Counter(m[1] for m in re.finditer(r"^\s*\S+\s+[0-9a-f]+ (.+)$", text, re.M))


def leaves(path, *options):
    """How many samples each innermost function has, and what is said."""
    r = subprocess.run([UNHEX, "symbolize", "-v", path, "--to", "folded", "--value", "samples", *options],
                       capture_output=True, text=True, check=True)
    counts = collections.Counter()
    for line in r.stdout.splitlines():
        stack, n = line.rsplit(" ", 1)
        counts[stack.rsplit(";", 1)[1]] += int(n)
    return counts, r.stderr


def ours(counts):
    return {name: counts[name] for name in ("first", "second", "third")}


def test_code_that_moves_has_the_names_that_perf_gives_it(program):
    path = record(program, "moves.data", ["./moves", ROUNDS], "-k", "mono")
    counts, said = leaves(path)
    injected = inject(path)
    judge = leaves_of_perf(injected)
    assert ours(counts) == ours(judge)
    assert all(n > 10 for n in ours(counts).values()), counts
    # It is run at two addresses, one of which others have had: twice as often, but for what a busy machine adds.
    assert counts["second"] > 1.1 * counts["first"]
    assert re.search(r"(\S+/jit-\d+\.dump): symbols from \1\n", said)
    assert "last run-time code" not in said
    # Recordings as perf inject leaves them are read, too.
    assert ours(leaves(injected)[0]) == ours(judge)


def test_without_times_of_its_clock_that_is_said(program):
    path = record(program, "clock.data", ["./moves", ROUNDS])
    counts, said = leaves(path)
    assert counts["first"] == 0 and counts["third"] > counts["second"] > 0
    assert DOUBTFUL.search(said), said
    assert "perf record -k mono" in said


def text_of(path, *options):
    return subprocess.run(["perf", "script", "-i", path, *options], capture_output=True, text=True, check=True).stdout


def test_the_text_of_perf_script_has_the_code_of_its_times(program, tmp_path):
    path = record(program, "text.data", ["./moves", ROUNDS], "-k", "mono")
    expected, _ = leaves(path)
    text = tmp_path / "text.txt"
    for options, files, doubt in ((["--show-mmap-events"], [], True), (["--header"], ["--files", program], False),
                                  (["--header", "--ns"], ["--files", program, "--no-local"], False)):
        text.write_text(text_of(path, *options))
        counts, said = leaves(text, *files)
        assert ours(counts) == ours(expected), options
        assert ("does not name its clock" in said) == doubt, said
    # The text itself gets the names that perf gives after perf inject, line by line.
    named = subprocess.run([UNHEX, "symbolize", text, "--files", program], capture_output=True, text=True,
                           check=True).stdout
    names = re.compile(r"^\s+[0-9a-f]+ (first|second|third)(?:\+0x\w+)? ", re.M)
    assert names.findall(named) == names.findall(text_of(inject(path)))
    # A clock that is not the jitdump's is known by the header.
    text.write_text(text_of(record(program, "other.data", ["./moves", ROUNDS]), "--header"))
    counts, said = leaves(text, "--files", program)
    assert counts["first"] == 0 and DOUBTFUL.search(said), said


def test_samples_without_callchains_have_names(program):
    path = program / "plain.data"
    subprocess.run(["perf", "record", "-q", "-N", "-F", "997", "-e", "cpu-clock:u", "-k", "mono", "-o", path, "--",
                    "./moves", ROUNDS], cwd=program, capture_output=True, check=True)
    text = program / "plain.txt"
    text.write_text(text_of(path, "--header"))
    counts, _ = leaves(text, "--files", program)
    assert ours(counts) == ours(leaves(path)[0]) and counts["second"] > counts["first"] > 10


@pytest.mark.parametrize("how", ["own", "link", "other owner", "fifo", "files", "no-local"])
def test_a_perf_map_of_another_user_is_not_believed(tmp_path, how):
    """The process has ended; any user can make such a file in /tmp."""
    if how == "other owner" and os.geteuid() != 0:
        pytest.skip("only root can give a file to another user")
    ended = subprocess.Popen(["true"])
    ended.wait()
    path = pathlib.Path(f"/tmp/perf-{ended.pid}.map")
    good = "10000 100 forged\n"
    options = []
    try:
        if how == "link":
            (tmp_path / "forged").write_text(good)
            path.symlink_to(tmp_path / "forged")
        elif how == "fifo":
            os.mkfifo(path)
        elif how == "files":
            (tmp_path / path.name).write_text(good)
            options = ["--no-local", "--files", tmp_path]
        else:
            path.write_text(good)
        if how == "other owner":
            os.chown(path, 12345, 12345)
        if how == "no-local":
            options = ["--no-local"]
        text = f"x {ended.pid} 1.5: 1 cycles: \n\t 10004 [unknown] ({path})\n\n"
        r = subprocess.run([UNHEX, "symbolize", "-", "--to", "folded", *options], input=text, capture_output=True,
                           text=True, timeout=20)
    finally:
        path.unlink(missing_ok=True)
    if how in ("own", "files"):
        assert r.stdout == "x;forged 1\n"
        return
    assert r.stdout == "x;[jit+0x10004] 1\n"
    reason = {"link": "is a symbolic link, which is not followed",
              "other owner": f"belongs to user 12345: expected root, this user, or the user of process {ended.pid}",
              "fifo": "is a FIFO; expected a regular file", "no-local": "does not exist"}[how]
    assert reason in r.stderr


def test_our_own_recordings_have_the_names(program):
    r = subprocess.run([UNHEX, "record", "-F", "997", "-o", "own.pb.gz", "--", "./moves", ROUNDS], cwd=program,
                       capture_output=True, text=True)
    if "perf_event_paranoid" in r.stderr or "not permitted" in r.stderr:
        pytest.skip("this machine's kernel lets nobody record")
    assert r.returncode == 0, r.stderr
    counts, _ = leaves(program / "own.pb.gz")
    assert all(n > 0 for n in ours(counts).values()), counts
    assert counts["second"] > counts["first"]


NODE = """
function f(x) { let s = 0; for (let i = 0; i < 1e5; i++) s += Math.sqrt(i * x); return s; }
const start = process.cpuUsage();
let z = 0, n = 0;
while (process.cpuUsage(start).user < 1e6) {
  z += f(z % 3);
  const g = new Function('a', `let s = ${n++}; for (let i = 0; i < 3000; i++) s += a % (i + ${n}); return s;`);
  for (let i = 0; i < 300; i++) z += g(i);
}
"""


def scripts(counts):
    """V8's functions without file and line, which perf has behind the name."""
    out = collections.Counter()
    for name, n in counts.items():
        if name.startswith("JS:"):
            out[re.sub(r" \S*:\d+:\d+$", "", name)] += n
    return out


def test_node_has_the_names_that_perf_gives_it(program):
    (program / "busy.js").write_text(NODE)
    path = record(program, "node.data", ["node", "--perf-prof", "busy.js"], "-k", "mono")
    counts, said = leaves(path)
    judge = leaves_of_perf(inject(path))
    assert re.search(r"symbols from \S+/jit-\d+\.dump", said)
    mine, theirs = scripts(counts), scripts(judge)
    assert sum(mine.values()) > 100
    differ = sum(((mine - theirs) + (theirs - mine)).values())
    assert differ <= sum(theirs.values()) / 100, (mine - theirs, theirs - mine)


def test_a_perf_map_has_no_times_and_that_is_said(program):
    (program / "busy.js").write_text(NODE)
    path = record(program, "map.data", ["node", "--perf-basic-prof", "busy.js"])
    counts, said = leaves(path)
    assert any(name.startswith("JS:") for name in counts)
    assert re.search(r"symbols from final state of /tmp/perf-\d+\.map, which has no timestamps", said)
    for name in re.findall(r"/tmp/perf-\d+\.map", said):
        pathlib.Path(name).unlink(missing_ok=True)
