# SPDX-License-Identifier: Apache-2.0
"""Stacks that are unwound here, against gdb, elfutils and perf at the same moments."""
import collections
import os
import pathlib
import re
import signal
import subprocess

import pytest

from interpreters import cpu_time, pythons
from live import may_record
from tool import UNHEX, unhex
from waiting import pause_for, wait_for

BUILD = pathlib.Path(UNHEX).resolve().parents[1]
PRINT = BUILD / "tests/make/print_perf"
STACK = BUILD / "tests/make/print_stack"

CPP = r"""
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <sys/time.h>
#include <vector>
static volatile unsigned long sink;
__attribute__((noinline)) double burn(int n)
{
	double s = 0;
	for (int i = 0; i < n; i++) {
		s += i * 1.0 / (s + 1);
		sink = sink + i;
	}
	return s;
}
struct shape {
	virtual ~shape() {}
	virtual double area(int n) const = 0;
};
struct square : shape {
	double area(int n) const override { return burn(n) + 1; }
};
struct circle : shape {
	double area(int n) const override { return burn(n / 2) * 2; }
};
__attribute__((noinline)) double recurse(const shape &s, int depth)
{
	volatile char pad[32];
	pad[depth % 32] = (char)depth;
	return depth == 0 ? s.area(2000) : recurse(s, depth - 1) + pad[depth % 32];
}
__attribute__((noinline)) int compare(const void *a, const void *b)
{
	sink = sink + 1;
	return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) void sorts()
{
	std::vector<int> v(3000);
	for (auto &x : v)
		x = rand();
	qsort(v.data(), v.size(), sizeof(int), compare);
	std::sort(v.begin(), v.end(), [](int a, int b) { sink = sink + 1; return a > b; });
}
__attribute__((noinline)) void maps()
{
	std::map<std::string, int> m;
	for (int i = 0; i < 500; i++)
		m["key" + std::to_string(rand())]++;
	sink = sink + m.size();
}
__attribute__((noinline)) double throws(int n)
{
	try {
		if (n % 2)
			throw n;
		return burn(500);
	} catch (int v) {
		return burn(v % 700);
	}
}
static void on_timer(int)
{
	burn(20000);
	sink = sink + 1;
}
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1000000000;
	itimerval often = {{0, 5000}, {0, 5000}};
	square s;
	circle k;
	double d = 0;
	signal(SIGPROF, on_timer);
	setitimer(ITIMER_PROF, &often, nullptr);
	for (int i = 0; i < n; i++) {
		d += recurse(s, i % 20) + recurse(k, 7) + throws(i);
		sorts();
		maps();
	}
	printf("%f\n", d);
}
"""

# Built for 32 bits, of which perf in Debian unwinds nothing: what is known of the stacks is the judge.
SMALL = r"""
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile double sink;

__attribute__((noinline)) static double burn(int n)
{
	double d = 1;
	for (int i = 0; i < n; i++)
		d += sqrt(d) / (i + 1.5);
	return d;
}

__attribute__((noinline)) static double recurse(int depth, const char *text)
{
	char copy[200];
	size_t n = strlen(text) % sizeof(copy);
	memset(copy, depth, sizeof(copy));
	double d = depth > 0 ? recurse(depth - 1, text) : burn(300);
	return d + copy[n];
}

static int compare(const void *a, const void *b)
{
	sink += burn(3);
	return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}

__attribute__((noinline)) static void sorts(void)
{
	int v[600];
	for (int i = 0; i < 600; i++)
		v[i] = rand();
	qsort(v, 600, sizeof(v[0]), compare);
}

/* 64-bit divisions are calls of libgcc's code, and their operands are pushed. */
__attribute__((noinline)) static uint64_t divides(uint64_t n)
{
	uint64_t sum = 0;
	for (uint64_t i = 1; i < n; i++)
		sum += (n << 33) / i;
	return sum;
}

static void on_timer(int signal)
{
	(void)signal;
	sink += burn(20000);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1000000000;
	struct itimerval often = {{0, 5000}, {0, 5000}};
	signal(SIGPROF, on_timer);
	setitimer(ITIMER_PROF, &often, NULL);
	for (int i = 0; i < n; i++) {
		sink += recurse(i % 20, argv[0]);
		sorts();
		sink += (double)divides(3000);
		sink += getppid();
	}
	return 0;
}
"""

GO = r"""
package main

import (
	"crypto/sha256"
	"fmt"
	"sort"
	"strings"
)

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func work(k int) int {
	m := map[string]int{}
	for i := 0; i < 2000; i++ {
		m[strings.Repeat("x", i%50)] += i
	}
	a := make([]int, 2000)
	for i := range a {
		a[i] = (i * 7919) % 2003
	}
	sort.Slice(a, func(i, j int) bool { return a[i] < a[j] })
	h := sha256.Sum256([]byte(fmt.Sprint(a)))
	return int(h[0]) + fib(18)
}

func main() {
	c := make(chan int)
	for g := 0; g < 2; g++ {
		go func() {
			t := 0
			for i := 0; i < 500; i++ {
				t += work(i)
			}
			c <- t
		}()
	}
	fmt.Println(<-c + <-c)
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unwind")
    (folder / "deep.cpp").write_text(CPP)
    subprocess.run(["g++", "-O2", "-g", "-fomit-frame-pointer", "-o", "deep", "deep.cpp"], cwd=folder, check=True)
    return folder / "deep"


def of_ours(pid):
    r = subprocess.run([STACK, str(pid)], capture_output=True, text=True)
    assert r.returncode == 0, r.stderr
    *frames, end = r.stdout.splitlines()
    return [int(line.split()[0], 16) for line in frames], end


def of_gdb(pid):
    """Addresses of gdb's frames, without those of inlined functions, which are no frames of the stack."""
    script = """python
f = gdb.newest_frame()
while f:
    if f.type() != gdb.INLINE_FRAME:
        print('FRAME', hex(f.pc()))
    f = f.older()
end"""
    path = f"/tmp/unwind-{os.getpid()}.gdb"
    pathlib.Path(path).write_text("set debuginfod enabled off\nset backtrace past-main on\n" + script)
    r = subprocess.run(["gdb", "-batch", "-nx", "-p", str(pid), "-x", path], capture_output=True, text=True)
    pathlib.Path(path).unlink()
    return [int(m, 16) for m in re.findall(r"^FRAME (0x[0-9a-f]+)$", r.stdout, re.M)]


def of_elfutils(pid):
    r = subprocess.run(["eu-stack", "-n", "0", "-p", str(pid)], capture_output=True, text=True,
                       env={**os.environ, "DEBUGINFOD_URLS": ""})
    return [int(m, 16) for m in re.findall(r"^#\d+\s+(0x[0-9a-f]+)", r.stdout, re.M)]


def stops(command, count, wait):
    """Stops a program at many moments, and gives its process each time."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as target:
        try:
            wait_for(lambda: cpu_time(target.pid) > 0.05)  # the loader is done
            for i in range(count):
                pause_for(wait * (1 + i % 7), "a stop at any moment")
                target.send_signal(signal.SIGSTOP)
                wait_for(lambda: "T (stopped)" in pathlib.Path(f"/proc/{target.pid}/status").read_text())
                yield target.pid
                target.send_signal(signal.SIGCONT)
        finally:
            target.kill()


def test_frame_by_frame_as_gdb_and_elfutils_at_the_same_stop(program):
    agree = collections.Counter()
    for pid in stops([program], 12, 0.0037):
        ours, end = of_ours(pid)
        assert end == "complete" and len(ours) > 3
        assert ours == of_gdb(pid)
        assert ours == of_elfutils(pid)
        agree["frames"] += len(ours)
    print(f"{agree['frames']} frames of 12 stops: gdb, elfutils and unhex agree")


# --- recordings -----------------------------------------------------------------------------------

HEAD = re.compile(r"^\s*(?P<comm>.*?)\s+(?P<ids>-?\d+/-?\d+)\s+(?P<time>\d+\.\d+): *$")
LINK = re.compile(r"^\s*(?P<address>[0-9a-f]+) (?P<symbol>.*?) \((?P<dso>.*)\)$")
NO_CALLER = (1 << 64) - 1


def stacks_of_perf(path):
    """perf prints the address of a call, one in front of its return address; -1 where it has lost the way."""
    r = subprocess.run(["perf", "script", "-i", path, "-F", "comm,pid,tid,time,ip,sym,dso", "--no-inline", "--ns",
                        "--max-stack", "1100"], capture_output=True, text=True, errors="replace")
    assert r.returncode == 0, r.stderr
    stacks = collections.defaultdict(list)
    key = None
    for line in r.stdout.splitlines():
        if m := HEAD.match(line):
            seconds, nanos = m["time"].split(".")
            key = (m["ids"], int(seconds) * 10**9 + int(nanos))
            stacks[key] = []
        elif m := LINK.match(line):
            if int(m["address"], 16) not in (0, NO_CALLER):
                stacks[key].append((int(m["address"], 16), m["symbol"]))
    return stacks


def stacks_of_ours(path):
    r = subprocess.run([PRINT, "--unwind", path], capture_output=True, text=True, errors="replace")
    assert r.returncode == 0, r.stderr
    stacks = {}
    key = None
    for line in r.stdout.splitlines():
        fields = line.split("\t")
        if fields[0]:
            key = (fields[1], int(fields[2]))
            stacks[key] = []
        else:
            stacks[key].append((int(fields[1], 16), fields[2]))
    return stacks, r.stderr


def same(ours, theirs):
    """perf's addresses of code without a file are absolute; the position in the page is the same."""
    return any((a ^ theirs) & 0xfff == 0 for a in (ours, ours - 1))


def compare(path):
    """How many stacks and frames agree; perf may end earlier, which is counted apart."""
    theirs = stacks_of_perf(path)
    ours, ended = stacks_of_ours(path)
    result = collections.Counter()
    differences = collections.Counter()
    for key, mine in ours.items():
        other = theirs[key]
        n = 0
        while n < min(len(mine), len(other)) and same(mine[n][0], other[n][0]):
            n += 1
        result["stacks"] += 1
        result["frames"] += len(mine)
        result["same frames"] += n
        if n == len(mine) == len(other):
            result["same"] += 1
        elif n == len(other):
            result["perf ends earlier"] += 1
        elif n == len(mine):
            result["ours ends earlier"] += 1
        else:
            result["different"] += 1
            differences[(other[n - 1][1], other[n][1], mine[n])] += 1
    print(path.name, dict(result), ended.strip(), differences.most_common(3))
    return result


recorded = pytest.mark.skipif(not may_record(), reason="this machine's kernel lets nobody record")


@recorded
def test_recordings_of_perf_are_unwound_as_perf_does(program, tmp_path):
    path = tmp_path / "perf.data"
    subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "1997", "--call-graph", "dwarf", "-o", path, "--",
                    program, "500"], check=True, capture_output=True)
    r = compare(path)
    assert r["stacks"] > 300
    assert r["same"] + r["perf ends earlier"] >= 0.995 * r["stacks"]
    assert r["same"] >= 0.98 * r["stacks"]


@recorded
def test_a_file_that_has_changed_since_is_said(program, tmp_path):
    copy = tmp_path / "copy"
    copy.write_bytes(program.read_bytes())
    copy.chmod(0o755)
    ours = tmp_path / "ours.data"
    perfs = tmp_path / "perf.data"
    assert unhex("record", "-F", "997", "--call-graph", "dwarf", "-o", ours, "--", copy, "100").returncode == 0
    subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "997", "--call-graph", "dwarf", "-o", perfs, "--",
                    copy, "100"], check=True, capture_output=True)
    assert "changed since the recording" not in unhex("top", perfs).stderr
    (tmp_path / "other.c").write_text("int main(void) { return 0; }")
    subprocess.run(["gcc", "-o", copy, tmp_path / "other.c"], check=True)
    assert "1 files have changed since the recording" in unhex("top", perfs).stderr
    r = unhex("top", ours)  # its mappings have their IDs: the other file is not used at all
    assert "changed since the recording" not in r.stderr
    assert re.search(r"\d+ stacks end early, in code without unwind tables", r.stderr)


@recorded
@pytest.mark.parametrize("stack", ["dwarf", "dwarf,32768"])
def test_our_recordings_are_unwound_as_perf_does(program, tmp_path, stack):
    path = tmp_path / "out.data"
    r = unhex("record", "-F", "1997", "--call-graph", stack, "-o", path, "--", program, "500")
    assert r.returncode == 0, r.stderr
    r = compare(path)
    assert r["stacks"] > 300
    assert r["same"] >= 0.995 * r["stacks"]


CALLERS = {"burn": {"recurse", "compare", "on_timer"}, "recurse": {"recurse", "main"}, "sorts": {"main"},
           "divides": {"main"}, "qsort": {"sorts"}, "__udivdi3": {"divides"}}


@recorded
@pytest.mark.parametrize("recorder", ["perf", "unhex"])
def test_samples_of_32_bit_processes_are_unwound(tmp_path, recorder):
    """Each caller is one that the source has; all stacks but those in code without tables reach the start."""
    source, program, path = tmp_path / "small.c", tmp_path / "small", tmp_path / "out.data"
    source.write_text(SMALL)
    subprocess.run(["gcc", "-m32", "-O2", "-g", "-fomit-frame-pointer", "-o", program, source, "-lm"], check=True)
    if recorder == "perf":
        subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "1997", "--call-graph", "dwarf", "-o", path,
                        "--", program, "2000"], check=True, capture_output=True)
    else:
        assert unhex("record", "-F", "1997", "--call-graph", "dwarf", "-o", path, "--", program, "2000").returncode == 0
    r = unhex("symbolize", path, "--to", "folded", "--value", "samples")
    assert r.returncode == 0, r.stderr
    seen = collections.Counter()
    for line in r.stdout.splitlines():
        names, n = line.rsplit(" ", 1)[0].split(";")[1:], int(line.rsplit(" ", 1)[1])
        for caller, callee in zip(names, names[1:]):
            if callee in CALLERS and "[" not in caller:
                assert caller in CALLERS[callee], line
                seen[callee] += n
        if {"recurse", "sorts", "divides"} & set(names):
            seen["of main"] += n
            seen["complete"] += n * (names[0] == "_start" and "main" in names)
    print(seen)
    assert seen["of main"] > 100 and seen["complete"] >= 0.9 * seen["of main"]
    assert all(seen[callee] > 0 for callee in CALLERS), seen


@recorded
def test_callers_are_named_although_there_are_no_frame_pointers(program, tmp_path):
    out = tmp_path / "out.folded"
    r = unhex("flame", "-F", "1997", "-o", out, "--", program, "2000")
    assert r.returncode == 0, r.stderr
    stacks = [line.rsplit(" ", 1) for line in out.read_text().splitlines()]
    total = sum(int(n) for _, n in stacks)
    under_main = sum(int(n) for stack, n in stacks if ";main" in stack)
    assert under_main > 0.95 * total
    for chain in (";recurse;recurse", "square::area;burn", ";sorts;qsort_r;", "__restore_rt;on_timer"):
        assert any(chain in stack for stack, _ in stacks), chain


@recorded
def test_libraries_in_assembler_are_unwound_as_perf_does(tmp_path):
    """The code of libcrypto computes where its frames are by expressions."""
    path = tmp_path / "out.data"
    r = unhex("record", "-F", "997", "--call-graph", "dwarf", "-o", path, "--",
              "openssl", "speed", "-seconds", "2", "-bytes", "1024", "sha256", "rsa2048")
    assert r.returncode == 0, r.stderr
    r = compare(path)
    assert r["stacks"] > 50
    assert r["same"] >= 0.99 * r["stacks"]


@recorded
def test_an_interpreter_is_unwound_as_perf_does_or_further(tmp_path):
    path = tmp_path / "out.data"
    code = "import json, re\nfor i in range(1500): json.loads(json.dumps({str(k): [k] * 5 for k in range(300)}))"
    r = unhex("record", "-F", "997", "--call-graph", "dwarf,32768", "-o", path, "--", "/usr/bin/python3", "-c", code)
    assert r.returncode == 0, r.stderr
    r = compare(path)
    assert r["stacks"] > 100
    assert r["same frames"] >= 0.9 * r["frames"]
    assert r["different"] + r["ours ends earlier"] <= 0.02 * r["stacks"]


@recorded
@pytest.mark.parametrize("flags", [[], ["-ldflags=-s -w"]], ids=["debug_frame", "frame-pointers"])
def test_go_is_unwound_to_the_start_of_its_goroutines(tmp_path, flags):
    """perf does not unwind Go: its functions have no .eh_frame. The names say whether a stack is right."""
    (tmp_path / "work.go").write_text(GO)
    subprocess.run(["go", "build", *flags, "-o", "work", "work.go"], cwd=tmp_path, check=True,
                   env={**os.environ, "GOCACHE": str(tmp_path / "cache"), "HOME": str(tmp_path)})
    out = tmp_path / "out.folded"
    r = unhex("flame", "-F", "997", "--call-graph", "dwarf", "-o", out, "--", tmp_path / "work")
    assert r.returncode == 0, r.stderr
    roots = collections.Counter()
    for line in out.read_text().splitlines():
        stack, n = line.rsplit(" ", 1)
        frames = stack.split(";")[1:]
        if any(f.startswith("main.work") for f in frames):
            roots[tuple(frames[:2])] += int(n)
    right = roots[("runtime.goexit", "main.main.func1")]
    print(dict(roots))
    assert sum(roots.values()) > 100
    assert right >= 0.95 * sum(roots.values())


PYTHON = """
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
def workload():
    for i in range(300):
        fibonacci(13)
workload()
"""


@recorded
@pytest.mark.parametrize("python", [p for v, p in pythons().items() if v >= (3, 12)], ids=lambda p: p.name)
def test_pythons_trampolines_are_passed(tmp_path, python):
    """They are run-time code without tables and, on x86-64, without frame pointers; the perf map names them."""
    (tmp_path / "script.py").write_text(PYTHON)
    out = tmp_path / "out.folded"
    r = unhex("flame", "-F", "997", "--call-graph", "dwarf,32768", "-o", out, "--", python, "-X", "perf",
              tmp_path / "script.py")
    assert r.returncode == 0, r.stderr
    inside = whole = 0
    for line in out.read_text().splitlines():
        stack, n = line.rsplit(" ", 1)
        if "py::fibonacci" in stack:
            inside += int(n)
            whole += int(n) * (re.search(r";main.*;py::<module>;.*;py::workload;.*;py::fibonacci;", stack) is not None
                               or ";Py_BytesMain;" in stack and ";py::workload;" in stack)
    assert inside > 0
    assert whole >= 0.9 * inside
