# SPDX-License-Identifier: Apache-2.0
"""A few addresses are answered without reading the whole file: as if it had been read.

tests/unit/test_symbol_source compares; here are the files that decide which units have an address.
"""
import os
import pathlib
import random
import shutil
import subprocess

import pytest

from tool import UNHEX, compile_c, unhex

COMPARE = pathlib.Path(UNHEX).resolve().parents[1] / "tests/unit/test_symbol_source"
CLANG = "clang++-14" if shutil.which("clang++-14") else "clang++"

HEADER = r"""
struct Node { int value; Node *next; virtual int weigh(int n); virtual ~Node() {} };
struct Other { int more; virtual int count(int n) { return more + n; } virtual ~Other() {} };
struct Both : Node, Other { int weigh(int n) override; int count(int n) override; };
template <class T> struct Box {
	T value;
	__attribute__((noinline)) T grow(T n) const { T sum = 0; for (T i = 0; i < n; i++) sum += i ^ value;
		return sum + twice(); }
	__attribute__((always_inline)) inline T twice() const { return value * 2 + helper(value); }
	__attribute__((always_inline)) static inline T helper(T v)
	{
		volatile T sum = 0;
		for (T i = 0; i < v; i++)
			sum += i ^ v;
		return sum;
	}
};
inline __attribute__((noinline)) int shared(int n) { return Box<int>{n}.grow(n) + Box<long>{n}.twice(); }
int one(int), two(int), three(int);
extern "C" int assembled(int);
"""
UNIT = r"""
#include "common.h"
#include <stdlib.h>
namespace NAME_space {
static __attribute__((noinline)) int work(int n)
{
	Box<int> a{n};
	if (__builtin_expect(n > 1000, 0))
		abort();
	return a.twice() + a.grow(n) + shared(n);
}
static __attribute__((noinline)) int alike(int n) { return n * 3 + 1; }
}
__attribute__((noinline)) int NAME(int n)
{
	auto local = [n](int k) __attribute__((noinline)) { return Box<int>::helper(k) + n; };
	return NAME_space::work(n) + NAME_space::alike(n) + local(n) + assembled(n);
}
"""
CLASSES = r"""
#include "common.h"
int Node::weigh(int n) { return value + n + shared(n); }
int Both::weigh(int n) { return Box<int>{n}.twice() + more; }
int Both::count(int n) { return Node::weigh(n); }
"""
MAIN = r"""
#include "common.h"
int main(int argc, char **) { Both b; b.value = argc; b.more = 1; Node *n = &b; Other *o = &b;
	return one(argc) + two(argc) + three(argc) + n->weigh(1) + o->count(2) + shared(argc); }
"""
ASSEMBLY = """
	.text
	.globl assembled
	.type assembled, @function
assembled:
	nop
inner_label:
	nop
	ret
	.size assembled, .-assembled
	.section .text.more, "ax", @progbits
without_size:
	nop
	ret
	.section .note.GNU-stack, "", @progbits
"""

BUILDS = {
    "O0": [],
    "O2": ["-O2"],
    "sections": ["-O2", "-ffunction-sections", "-Wl,--gc-sections"],
    "compressed": ["-O2", "-gz=zlib"],
    "types": ["-O2", "-fdebug-types-section"],
    "lto": ["-O2", "-flto"],
    "split": ["-O2", "-gsplit-dwarf"],
    "dwarf2": ["-O2", "-gdwarf-2"],
    "dwarf3": ["-O2", "-gdwarf-3", "-gstrict-dwarf"],
    "dwarf4": ["-O2", "-gdwarf-4"],
    "dwz": ["-O2", "-gdwarf-4"],
    "lines": ["-O2", "-g1"],
    "no-symbols": ["-O2", "-s-later"],
    "half": ["-O2", "-g-half"],
}


def build(folder, compiler, name):
    """A program of five units in C++ and one in assembly."""
    (folder / "common.h").write_text(HEADER)
    sources = {n: UNIT.replace("NAME", n) for n in ("one", "two", "three")}
    sources.update(classes=CLASSES, main=MAIN)
    flags = [f for f in BUILDS[name] if f not in ("-s-later", "-g-half")]
    objects = []
    for unit, text in sources.items():
        (folder / f"{unit}.cc").write_text(text)
        debug = [] if name == "half" and unit in ("two", "classes") else ["-g"]
        subprocess.run([compiler, *debug, *flags, "-c", f"{unit}.cc"], cwd=folder, check=True)
        objects.append(f"{unit}.o")
    (folder / "asm.s").write_text(ASSEMBLY)
    subprocess.run([compiler, "-g", "-gdwarf-4", "-c", "asm.s"], cwd=folder, check=True)
    subprocess.run([compiler, "-g", *flags, "-Wl,--build-id", *objects, "asm.o", "-o", "prog"], cwd=folder,
                   check=True)
    if name == "no-symbols":
        # Debug information is kept, and nothing else names or bounds a function.
        subprocess.run(["objcopy", "--strip-all", *(f"--keep-section=.debug_{s}" for s in (
            "info", "abbrev", "line", "str", "line_str", "ranges", "rnglists", "aranges", "addr",
            "str_offsets")), "prog", "bare"], cwd=folder, check=True)
        return folder / "bare"
    if name == "dwz":
        subprocess.run(["dwz", "prog"], cwd=folder, check=True)
    return folder / "prog"


def assert_same(*files, rounds=60):
    """Runs the comparison."""
    r = subprocess.run([COMPARE, f"-r{rounds}", *files], capture_output=True, text=True, timeout=500)
    assert r.returncode == 0, r.stdout + r.stderr
    assert r.stdout.count(": same\n") == len(files)


@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.parametrize("compiler", ["g++", CLANG])
def test_parts_say_what_the_whole_says(tmp_path, compiler, name):
    if compiler == CLANG and name in ("lto",):
        compiler = "g++"  # Debian's clang comes without the linker's plugin
    assert_same(build(tmp_path, compiler, name))


def test_units_of_two_compilers(tmp_path):
    """GNU ld lets the copies of an inline function that it dropped point at the one it kept."""
    (tmp_path / "common.h").write_text(HEADER)
    objects = []
    for i, (unit, text) in enumerate([("one", UNIT), ("two", UNIT), ("three", UNIT), ("classes", CLASSES),
                                      ("main", MAIN)]):
        (tmp_path / f"{unit}.cc").write_text(text.replace("NAME", unit))
        subprocess.run([("g++", CLANG)[i % 2], "-g", "-O2", "-c", f"{unit}.cc"], cwd=tmp_path, check=True)
        objects.append(f"{unit}.o")
    (tmp_path / "asm.s").write_text(ASSEMBLY)
    subprocess.run(["gcc", "-g", "-c", "asm.s"], cwd=tmp_path, check=True)
    for order in range(4):
        random.Random(order).shuffle(objects)
        subprocess.run(["g++", *objects, "asm.o", "-o", f"prog{order}"], cwd=tmp_path, check=True)
    assert_same(*(tmp_path / f"prog{order}" for order in range(4)))


def test_the_c_library_and_our_own_command():
    libc = subprocess.run(["gcc", "-print-file-name=libc.so.6"], check=True, capture_output=True,
                          text=True).stdout.strip()
    assert_same(os.path.realpath(libc), UNHEX, rounds=10)


def test_all_functions_one_by_one_equal_all_at_once(tmp_path):
    program = compile_c(tmp_path)
    text = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    addresses = [line.split()[0] for line in text.splitlines() if len(line.split()) == 3]
    for command in ["addr2line", "-afie"], ["llvm-symbolizer", "-a", "--obj"]:
        requested = [a if command[0] == "addr2line" else f"0x{a}" for a in addresses]
        # More than are read by themselves, so that the whole file is.
        times = 2048 // len(requested) + 1
        many = unhex(*command, program, stdin="".join(f"{a}\n" for a in requested * times))
        each = "".join(unhex(*command, program, a).stdout for a in requested)
        assert many.returncode == 0
        assert each * times == many.stdout


def test_one_question_after_the_other(tmp_path):
    """By hand, until everything was read, and on."""
    program = compile_c(tmp_path)
    text = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    addresses = [line.split()[0] for line in text.splitlines() if " T " in line or " t " in line]
    expected = unhex("addr2line", "-fe", program, *addresses).stdout.splitlines()
    with subprocess.Popen([UNHEX, "addr2line", "-fe", program], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True, bufsize=1) as p:
        for i in list(range(len(addresses))) * 3:
            p.stdin.write(addresses[i] + "\n")
            assert [p.stdout.readline().rstrip("\n") for _ in range(2)] == expected[2 * i:2 * i + 2]
        p.stdin.close()
        assert p.stdout.read() == ""
