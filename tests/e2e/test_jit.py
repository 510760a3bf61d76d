# SPDX-License-Identifier: Apache-2.0
"""Code made at run time, by real producers and by recorded files of others, against plain readers
of what they write."""
import contextlib
import json
import os
import pathlib
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import pytest

from jit_plain import in_dump, in_map, read_dump, read_map
from live import UNHEX, ask, compile_target, function, mapping_of, maps, running
from waiting import pause_for, wait_for

SEED = 20261121


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory(prefix="unhex-jit-") as name:
        os.chmod(name, 0o755)
        yield pathlib.Path(name)


@pytest.fixture(scope="module")
def target(folder):
    return compile_target(folder)


@contextlib.contextmanager
def started(*command, ready="ready", **how):
    """A program that says when it has done its work, and then waits."""
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE,
                               stdin=subprocess.PIPE, text=True, **how)
    try:
        while (line := process.stdout.readline()).strip() != ready:
            assert line, "it has ended"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
        pathlib.Path(f"/tmp/perf-{process.pid}.map").unlink(missing_ok=True)


def joined(answer):
    """The frame's parts put together as V8, CPython and LuaJIT write them."""
    frame = answer["frames"][0]
    return frame["function"], frame.get("file"), frame.get("line")


def same_name(answer, name):
    """Whether the answer says what a name of a map says, as one text or taken apart."""
    reported, file, line = joined(answer)
    if file is None:
        return reported == name
    return name in (f"{reported}:{file}", f"{reported} {file}:{line}") or \
        name.startswith(f"{reported} {file}:{line}:")


def code_maps(pid):
    """Anonymous executable memory, where compiled code is."""
    return [m for m in maps(pid) if "x" in m[2] and
            (m[4] == "" or m[4].startswith(("[anon", "/memfd:")))]


def sample(entries, mapped, count=400):
    """Addresses at starts, ends and inside of entries that lie in what is mapped."""
    rng = random.Random(SEED)
    entries = [e for e in entries if mapping_of(mapped, e[0])]
    out = []
    for start, size, _ in rng.sample(entries, min(count, len(entries))):
        for address in {start, start + size - 1, start + rng.randrange(size)}:
            if mapping_of(mapped, address):
                out.append(address)
    return sorted(out)


def ask_while_it_rests(pid, path, read):
    """What the file says, and the answers for a sample of it: none of the code changed meanwhile.
    read gives what is compared with, and the (start, size, name) to ask about."""
    def attempt():
        size, mapped = path.stat().st_size, code_maps(pid)
        said, entries = read(path)
        addresses = sample(entries, mapped)
        answers = ask(pid, addresses)
        return (said, answers) if (path.stat().st_size, code_maps(pid)) == (size, mapped) else None
    path = pathlib.Path(path)
    wait_for(path.exists)
    return wait_for(attempt)


def compare_with_map(pid, least):
    """Every answer is the last line's that has the address."""
    path = f"/tmp/perf-{pid}.map"
    entries, answers = ask_while_it_rests(pid, path, lambda p: (read_map(p), read_map(p)))
    assert len(answers) >= least
    wrong = [(a, in_map(entries, int(a["address"], 16))) for a in answers
             if not a["frames"] or not same_name(a, in_map(entries, int(a["address"], 16)))]
    assert not wrong, wrong[:3]
    assert {(a["kind"], a["module"]) for a in answers} == {("jit", path)}
    return answers


NODE = """
function hot(a, b) { let s = 0; for (let i = 0; i < 1000; i++) s += a * i % (b + i + 1); return s; }
class Shape { get area() { return hot(this.w, 3) + 1; } constructor(w) { this.w = w; } }
let sum = 0, over = false;
for (let k = 0; k < 40; k++) { // functions of their own, each hot
  const f = new Function('a', `let s = ${k}; for (let i = 0; i < 300; i++) s += a % (i + ${k + 1}); return s;`);
  for (let i = 0; i < 3000; i++) sum += f(i);
}
/(a+b)*c/.test('ababc' + sum);
function work() {
  for (let i = 0; i < 1000; i++) sum += hot(i, 7) + new Shape(i).area;
  if (over) console.log('over'); else setImmediate(work);
}
process.stdin.on('data', () => { over = true; });
work();
console.log('ready');
"""


@contextlib.contextmanager
def node_that_compiled(listing, script, *options, **how):
    """It goes on until its listing (the name is made of its PID) has the function that it runs most,
    optimized, which V8 does in a thread and when it likes."""
    script.write_text(NODE)
    how.setdefault("cwd", script.parent)  # where V8 leaves logs
    with started("node", *options, script, **how) as node:
        path = pathlib.Path(str(listing).format(node.pid))
        wait_for(lambda: path.exists() and b":*hot " in path.read_bytes())
        node.stdin.write("stop\n")
        node.stdin.flush()
        assert node.stdout.readline() == "over\n"
        yield node, path


def test_node_with_a_perf_map(folder):
    script = folder / "with blank.js"
    with node_that_compiled("/tmp/perf-{}.map", script, "--perf-basic-prof") as (node, path):
        answers = compare_with_map(node.pid, least=100)
        hot = [e for e in read_map(path) if re.match(r"(JS|LazyCompile):\*hot ", e[2])]
        answer, = ask(node.pid, [hot[-1][0]])
    assert joined(answer) == (hot[-1][2].split(" ")[0], str(script), 2)
    assert all(a["reason"] == "" for a in answers if "reason" in a)


def test_node_addresses_in_its_own_file_are_the_files(folder):
    """V8 lists its builtins too, which lie in the program, or in a library of it."""
    script = folder / "builtins.js"
    with node_that_compiled("/tmp/perf-{}.map", script, "--perf-basic-prof") as (node, path):
        all_maps = maps(node.pid)
        files = [(e[0], (mapping_of(all_maps, e[0]) or [""])[-1]) for e in read_map(path)]
        files = [(address, file) for address, file in files if file.startswith("/")][:50]
        answers = ask(node.pid, [address for address, _ in files])
    assert len(answers) == 50
    for answer, (_, file) in zip(answers, files):
        assert answer["module"] == file or (answer["kind"] == "jit" and function(answer))


def compare_with_dump(pid, dump, least, least_lines):
    """Every answer has the name, file and line that the last record with the address gives it."""
    def read(path):
        events = read_dump(path)
        return events, [(start, size, name) for _, start, size, name, _ in events if name]
    events, answers = ask_while_it_rests(pid, dump, read)
    assert len(answers) >= least
    with_lines = 0
    for answer in answers:
        name, line, file = in_dump(events, int(answer["address"], 16))
        reported, reported_file, reported_line = joined(answer)
        assert (answer["kind"], answer["module"]) == ("jit", str(dump))
        assert name.startswith(reported), answer
        if file and file.isprintable() and "\ufffd" not in file:
            with_lines += 1
            assert (reported_file, reported_line) == (file, line), (answer, line, file)
    assert with_lines >= least_lines
    return answers


def test_node_with_a_jitdump(folder):
    work = folder / "node dump"
    work.mkdir()
    with node_that_compiled(work / "jit-{}.dump", folder / "dump.js", "--perf-prof",
                            cwd=work) as (node, dump):
        compare_with_dump(node.pid, dump, least=100, least_lines=40)


BUSY = """
function first(a, b) { let s = 0; for (let i = 0; i < 100000; i++) s += a * i % (b + i + 1); return s; }
function second(a) { let s = 1; for (let i = 1; i < 100000; i++) s += a % i; return s; }
let sum = 0, rounds = 0;
function work() {
  sum += first(rounds, 7) + second(rounds);
  if (++rounds == 300) console.log('ready');
  setImmediate(work);
}
work();
"""


# perf samples as long as this runs, which is until the program has run for a second of its own time.
WHILE = """
import sys, time
clock = ~int(sys.argv[1]) << 3 | 2
until = time.clock_gettime(clock) + 1
while time.clock_gettime(clock) < until:
    time.sleep(0.05)
"""


def test_node_sampled_by_perf_is_named_as_perf_names_it(folder):
    """perf writes an ELF file of each function in a jitdump, and looks samples up in them."""
    script = folder / "busy.js"
    script.write_text(BUSY)
    work = folder / "perf"
    work.mkdir()
    # Inlined into node's own loop, the functions would not be in any sample's name.
    with started("node", "--perf-prof", "--no-turbo-inlining", script, cwd=work) as node:
        perf = ["perf", "record", "-q", "-N", "-k", "mono", "-e", "cpu-clock:u", "-F", "400", "-o",
                "perf.data", "-p", str(node.pid), "--", sys.executable, "-c", WHILE, str(node.pid)]
        recorded = subprocess.run(perf, cwd=work, capture_output=True, text=True)
        if recorded.returncode != 0:
            pytest.skip(f"perf cannot record here: {recorded.stderr.strip()[:200]}")
        subprocess.run(["perf", "inject", "--jit", "-i", "perf.data", "-o", "jit.data"], cwd=work,
                       check=True, capture_output=True, env={**os.environ, "HOME": str(work)})
        text = subprocess.run(["perf", "script", "-i", "jit.data", "-F", "time,ip,sym,dso"],
                              cwd=work, check=True, capture_output=True, text=True,
                              env={**os.environ, "HOME": str(work)}).stdout
        samples = re.findall(r"(\d+\.\d+):\s+([0-9a-f]+) (.*) \(\S*jitted-\d+-\d+\.so\)", text)
        assert len(samples) > 50
        seen = {}
        for when, address, name in samples:
            seen.setdefault((address, name), when)
        scripts = [s for s in seen.items() if s[0][1].startswith("JS:")]
        others = [s for s in seen.items() if not s[0][1].startswith("JS:")]
        for (address, name), when in scripts[:20] + others[:2]:
            answer, = ask(node.pid, [int(address, 16)], options=["--at", when])
            if answer["kind"] == "file":  # V8 lists its builtins, which the program names itself
                name = re.sub(r"^BytecodeHandler:(\w+)", r"Builtins_\1Handler", name.replace("Builtin:", "Builtins_"))
            assert answer["frames"] and name.startswith(joined(answer)[0]), (answer, name)
    assert any("first" in name or "second" in name for _, name in seen)


JAVA = """
public class Hot {
    static int work(int x) { int s = 0; for (int i = 1; i < 2000; i++) s += x % i; return s; }
    public static void main(String[] a) throws Exception {
        long sum = 0;
        for (int i = 0; i < 20000; i++) sum += work(i);
        System.out.println(sum == 1 ? "" : "ready");
        Thread.sleep(1000000);
    }
}
"""


def test_java_with_a_map_on_request(folder):
    (folder / "Hot.java").write_text(JAVA)
    subprocess.run(["javac", "Hot.java"], cwd=folder, check=True)
    with started("java", "-XX:+UseSerialGC", "-cp", folder, "Hot") as java:
        subprocess.run(["jcmd", str(java.pid), "Compiler.perfmap"], check=True,
                       capture_output=True)
        answers = compare_with_map(java.pid, least=300)
        work = [e for e in read_map(f"/tmp/perf-{java.pid}.map") if "Hot.work(int)" in e[2]]
        answer, = ask(java.pid, [work[-1][0] + 1])
    assert function(answer) == "int Hot.work(int)"
    assert any("Interpreter" in a["frames"][0]["function"] for a in answers)


ERLANG = ("io:format(\"ready~n\"), receive nothing -> ok end.")


@pytest.mark.parametrize("kind", ["map", "dump", "true"])
def test_erlang_with_a_perf_map_and_a_jitdump(folder, kind):
    with started("erl", "+JPperf", kind, "-noshell", "-eval", ERLANG,
                 env={**os.environ, "HOME": str(folder), "ERL_CRASH_DUMP": "/dev/null"}) as shell:
        pid = wait_for(lambda: beam_of(shell.pid))
        dump = pathlib.Path(f"/tmp/jit-{pid}.dump")
        try:
            if kind == "map":
                answers = compare_with_map(pid, least=300)
            else:
                answers = compare_with_dump(pid, dump, least=300, least_lines=100)
        finally:
            pathlib.Path(f"/tmp/perf-{pid}.map").unlink(missing_ok=True)
            dump.unlink(missing_ok=True)
    assert all(a["frames"][0]["function"].startswith("$") == (kind == "map") for a in answers)


def beam_of(pid):
    """erl is a script or starts children: the one of them that is the machine."""
    todo = [pid]
    while todo:
        at = todo.pop()
        if pathlib.Path(f"/proc/{at}/comm").read_text().startswith("beam"):
            return at
        todo += pathlib.Path(f"/proc/{at}/task/{at}/children").read_text().split()
    return None


def pythons():
    """Interpreters with perf support on this machine."""
    found = [shutil.which(f"python3.{minor}", path="/usr/bin") for minor in range(12, 16)]
    found += sorted(map(str, pathlib.Path.home().glob(".pyenv/versions/3.*/bin/python3.1?")))
    code = """if True:
        import os, sys
        sys.activate_stack_trampoline("perf")
        if os.path.exists(f"/tmp/perf-{os.getpid()}.map"):
            os.unlink(f"/tmp/perf-{os.getpid()}.map")"""
    return [p for p in found if p and subprocess.run([p, "-c", code], capture_output=True).returncode == 0]


PYTHON = """
import sys, time
class K:
    def meth(self, n):
        return sum(i * n for i in range(n))
def outer(n):
    return K().meth(n) + len(str(n))
for i in range(200):
    outer(i)
print("ready", flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize("python", pythons())
def test_cpython_with_a_perf_map(folder, python):
    script = folder / "script.py"
    script.write_text(PYTHON)
    with started(python, "-X", "perf", script) as process:
        compare_with_map(process.pid, least=100)
        meth = [e for e in read_map(f"/tmp/perf-{process.pid}.map") if e[2] == f"py::K.meth:{script}"]
        answer, = ask(process.pid, [meth[-1][0]])
    assert joined(answer)[:2] == ("py::K.meth", str(script))


# What others write, as it was recorded or as their sources print it; {0:x} is a place.
RECORDED = [
    (".NET", "{0:016X} 0d8 void [Asm] Ns.Type::Method(int32)[Tier0]\n",
     "void [Asm] Ns.Type::Method(int32)[Tier0]"),
    (".NET, prefixed", "0x{0:x} d8 stub<12> Kind<owner>\n", "stub<12> Kind<owner>"),
    ("perf-map-agent", "{0:x} 60 Lpkg/Cls;::method\n", "Lpkg/Cls;::method"),
    ("perf-map-agent, unfolded", "{0:x} 60 pkg.Cls::outer->pkg.Cls::inner\n",
     "pkg.Cls::outer->pkg.Cls::inner"),
    ("PHP", "{0:x} 1f0 JIT$Class::fn\n", "JIT$Class::fn"),
    ("LuaJIT", "{0:x} 40 TRACE_3::/srv/x.lua:99\n", "TRACE_3"),
    ("Mono", "{0:x} 2a (wrapper managed-to-native) object:__icall ()\n",
     "(wrapper managed-to-native) object:__icall ()"),
    ("wasmtime", "{0:x} 5c wasm[0]::function[1]::main\n", "wasm[0]::function[1]::main"),
    ("Ruby", "{0:x} 38 Integer#times@<internal:numeric>:237\n",
     "Integer#times@<internal:numeric>:237"),
    ("Erlang", "0x{0:x} 68 '-start/2-fun-0-'-CodeInfoPrologue\n",
     "'-start/2-fun-0-'-CodeInfoPrologue"),
    ("CPython", "{0:x} c py::K.meth:/tmp/t.py\n", "py::K.meth"),
    ("V8 of 2015", "{0:x} 1e0 LazyCompile:*hot /path/t.js:1:13\n", "LazyCompile:*hot"),
]


@contextlib.contextmanager
def with_map(target, text="", **how):
    """A target and its map, whose text may name {0}, the first byte of its code."""
    with running(target, **how) as live:
        path = pathlib.Path(f"/tmp/perf-{live.pid}.map")
        try:
            path.write_text(text.format(live["code"]))
            yield live, path
        finally:
            path.unlink(missing_ok=True)


@pytest.mark.parametrize("line,name", [r[1:] for r in RECORDED], ids=[r[0] for r in RECORDED])
def test_lines_of_other_producers(target, line, name):
    with with_map(target, line) as (live, _):
        first, inside = live.ask(live["code"], live["code"] + 11)
    assert function(first) == function(inside) == name


def test_decimal_sizes_are_seen(target):
    with with_map(target) as (live, path):
        path.write_text("".join(f"{live['code'] + i * 100:x} 100 f{i}\n" for i in range(50)))
        answers = live.ask(*[live["code"] + i * 100 + 99 for i in range(50)])
        beyond, = live.ask(live["code"] + 5000)
    assert [function(a) for a in answers] == [f"f{i}" for i in range(50)]
    assert beyond["frames"] == []


def test_overlaps_are_split_as_the_last_line_says(target):
    rng = random.Random(SEED)
    with with_map(target) as (live, path):
        with open(path, "w", encoding="utf-8") as out:
            for i in range(3000):
                size = rng.choice([1, 16, 200, 5000])
                out.write(f"{live['code'] + rng.randrange(60000):x} {size:x} f{i}\n")
        entries = read_map(path)
        addresses = [live["code"] + rng.randrange(66000) for _ in range(3000)]
        answers = live.ask(*addresses)
    assert [function(a) for a in answers] == [in_map(entries, a) for a in addresses]


def test_a_map_names_only_executable_memory(target):
    with with_map(target) as (live, path):
        path.write_text(f"{live['data']:x} 100 byte code\n")
        answer, = live.ask(live["data"])
    assert answer["frames"] == [] and "not executable" in answer["reason"]


def test_a_growing_and_a_replaced_map_are_followed(target):
    with with_map(target, "{0:x} 10 first\n") as (live, path):
        from tool import UNHEX  # the command itself, run by hand
        with subprocess.Popen([UNHEX, "proc", str(live.pid), "--json"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, bufsize=1) as asker:
            def reported(address):
                pause_for(0.15, "the map is read again after 100 ms")
                asker.stdin.write(f"{address:#x}\n")
                return asker.stdout.readline()
            assert '"first"' in reported(live["code"])
            with open(path, "a", encoding="utf-8") as out:
                out.write(f"{live['code'] + 16:x} 10 sec")
                out.flush()
                assert '"frames":[]' in reported(live["code"] + 16)
                out.write("ond\n")
            assert '"second"' in reported(live["code"] + 16)
            other = path.with_suffix(".new")
            other.write_text(f"{live['code']:x} 10 replaced\n{live['code'] + 32:x} 10 new\n")
            other.rename(path)
            assert '"new"' in reported(live["code"] + 32)
            assert '"replaced"' in reported(live["code"])
            asker.stdin.close()


def test_a_forked_child_has_its_parents_names_until_it_has_its_own(target):
    with with_map(target, "{0:x} 10 of the parent\n") as (live, path):
        live.tell("f")
        children = pathlib.Path(f"/proc/{live.pid}/task/{live.pid}/children")
        child = int(wait_for(children.read_text).split()[0])
        own = pathlib.Path(f"/tmp/perf-{child}.map")
        try:
            answer, beyond = ask(child, [live["code"] + 3, live["code"] + 16])
            assert (function(answer), answer["module"]) == ("of the parent", str(path))
            assert beyond["frames"] == []
            own.write_text(f"{live['code']:x} 10 of the child\n")
            answer, = ask(child, [live["code"] + 3])
            assert (function(answer), answer["module"]) == ("of the child", str(own))
        finally:
            os.kill(child, 9)
            own.unlink(missing_ok=True)


@pytest.mark.parametrize("how", ["link", "fifo", "folder", "other owner", "old", "binary"])
def test_maps_that_are_not_the_programs_are_not_believed(target, folder, how):
    if how == "other owner" and os.geteuid() != 0:
        pytest.skip("only root can give a file to another user")
    with with_map(target) as (live, path):
        good = f"{live['code']:x} 10 forged\n"
        path.unlink()
        if how == "link":
            (folder / "forged").write_text(good)
            path.symlink_to(folder / "forged")
        elif how == "fifo":
            os.mkfifo(path)
        elif how == "folder":
            path.mkdir()
        else:
            path.write_text(good)
        if how == "other owner":
            os.chown(path, 12345, 12345)
        elif how == "old":
            os.utime(path, (time.time() - 3600, time.time() - 3600))
        elif how == "binary":
            path.write_bytes(os.urandom(100000).replace(b"\n", b"\0"))
        answer, = live.ask(live["code"])
        if how == "folder":
            path.rmdir()
            path.touch()
    assert answer["frames"] == []
    assert answer["reason"] == "anonymous memory without a perf map or jitdump"


def record(kind, body, when):
    return struct.pack("<IIQ", kind, 16 + len(body), when) + body


def load(when, address, size, index, name):
    return record(0, struct.pack("<IIQQQQ", 1, 1, address, address, size, index) +
                  name.encode() + b"\0" + b"\xcc" * size, when)


def lines_of(address, rows):
    body = struct.pack("<QQ", address, len(rows))
    for at, line, file in rows:
        body += struct.pack("<Qii", at, line, 0) + file + b"\0"
    return record(2, body, 0)


def test_a_jitdump_is_found_through_maps_and_read_before_the_map(target, folder):
    dump = folder / "jit-7.dump"
    with with_map(target, "{0:x} 100 by the map\n") as (live, _):
        code = live["code"]
        dump.write_bytes(
            struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, 7, 0, 0) +
            lines_of(code, [(code, 3, b"/src/a.lang"), (code + 8, 4, b"\xff")]) +
            record(4, b"\0" * 60, 0) + load(100, code, 0x40, 1, "by the dump") +
            load(200, code + 0x20, 0x20, 2, "over it") +
            record(1, struct.pack("<IIQQQQQ", 1, 1, code, code, code + 0x200, 0x20, 1), 300))
        live.tell(f"d {dump}", "mapped")
        events = read_dump(dump)
        addresses = range(code, code + 0x280, 4)
        answers = live.ask(*addresses)
        for when in (99, 100, 199, 200, 299, 300):
            then = live.ask(*addresses, options=["--at", f"0.{when:09}"])
            for answer, address in zip(then, addresses):
                expected = in_dump(events, address, when)
                if expected:
                    assert function(answer) == expected[0]
                else:
                    assert function(answer) in ("by the map", None)
    for answer, address in zip(answers, addresses):
        expected = in_dump(events, address)
        if address < code + 0x20:
            assert function(answer) == "by the map"  # the dump says the code has moved
        elif expected:
            assert function(answer) == expected[0]
        else:
            assert function(answer) == ("by the map" if address < code + 0x100 else None)
    assert joined(answers[(0x200 + 8) // 4]) == ("by the dump", "/src/a.lang", 4)


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_a_huge_and_hostile_map_costs_bounded_time(target):
    with with_map(target) as (live, path):
        start = f"{live['code']:x}"
        with open(path, "w", encoding="utf-8") as out:
            out.write("x" * 3000000 + "\n")
            for i in range(60000):
                out.write(f"{start} {0x100000 - i:x} f{i}\n")  # each inside the one before
        begin = cpu_of_children()
        answer, = live.ask(live["code"] + 5)
        assert cpu_of_children() - begin < 20
    assert function(answer) == "f59999"


def test_code_that_is_younger_than_the_last_read_is_found(target):
    """Code is run before its compiler has described it, or a moment after the perf map was read: the command looks
    once more when the library says that it will be read again."""
    with running(target) as live:
        perf_map = pathlib.Path(f"/tmp/perf-{live.pid}.map")
        with subprocess.Popen([UNHEX, "proc", str(live.pid), "--json"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as command:
            try:
                for i in range(5):  # each is younger than 100 ms when it is looked up
                    with open(perf_map, "a", encoding="ascii") as file:
                        file.write(f"{live['code'] + 16 * i:x} 10 young_{i}\n")
                    command.stdin.write(f"{live['code'] + 16 * i:#x}\n")
                    command.stdin.flush()
                    answer = json.loads(command.stdout.readline())
                    assert [f["function"] for f in answer["frames"]] == [f"young_{i}"]
            finally:
                command.stdin.close()
                perf_map.unlink()
