# SPDX-License-Identifier: Apache-2.0
"""A name and an offset are the address that the symbol table has: in the file, in its GSYM and on a server."""
import bisect
import collections
import json
import pathlib
import re
import subprocess

import pytest

from tool import UNHEX, fails, lines, unhex

C_SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline, cold)) void fail(const char *m, int n)
{
	fprintf(stderr, "%s %d\n", m, n);
	if (n > 3)
		abort();
}
__attribute__((noinline)) int many(int x, char **v)
{
	int sum = 0;
	for (int i = 0; i < x; i++) {
		if (__builtin_expect(v[i] == NULL, 0)) {
			fail("null", i);
			fail("again", i);
			return -1;
		}
		sum += atoi(v[i]) * 7;
	}
	return sum;
}
int alias1(int x, char **v) __attribute__((alias("many")));
static int twice(int) __attribute__((alias("helper"), used));
int __GI_helper(int) __attribute__((alias("helper"), weak));
__attribute__((noinline)) int helper(int x)
{
	if (__builtin_expect(x > 1000, 0)) {
		fail("large", x);
		puts("z");
	}
	return x * atoi("3");
}
__asm__(".text\n.globl outer_entry\n.type outer_entry,@function\nouter_entry: nop\nnop\n"
	".globl inner_entry\n.type inner_entry,@function\ninner_entry: nop\nret\n"
	".size inner_entry, .-inner_entry\n.size outer_entry, .-outer_entry\n");
int main(int argc, char **argv)
{
	if (argc > 40) {
		fail("many arguments", argc);
		return 2;
	}
	return many(argc, argv) + helper(argc) + twice(argc) + alias1(argc, argv);
}
"""

CXX_SOURCE = r"""
#include <cstdio>
#include <stdexcept>
#include <string>
struct base {
	base(int x);
	virtual ~base();
	virtual int get() const { return n; }
	int n;
};
base::base(int x) : n(x) { if (x > 100) throw std::runtime_error("large"); }
base::~base() { puts("gone"); }
struct derived : virtual base {
	derived(int x) : base(x) {}
	int get() const override { return n * 2; }
};
__attribute__((noinline)) unsigned long measure(const base &b)
{
	std::string s = "value ";
	try {
		s += std::to_string(b.get());
	} catch (const std::exception &e) {
		s += e.what();
	}
	return s.size();
}
extern "C" int entry(int x) { return (int)measure(derived(x)); }
int second(int) __attribute__((alias("entry")));
int main(int argc, char **) { return entry(argc) + second(argc); }
"""

SPLIT = ["-O2", "-freorder-blocks-and-partition", "-Wl,--build-id"]
BUILDS = {
    "c": ["gcc", "p.c", "-g", *SPLIT],
    "c-no-debug-information": ["gcc", "p.c", *SPLIT],
    "c-no-pie": ["gcc", "p.c", "-g", "-gdwarf-4", "-no-pie", *SPLIT],
    "c-sections": ["gcc", "p.c", "-g", "-ffunction-sections", "-Wl,--gc-sections", *SPLIT],
    "cxx": ["g++", "p.cc", "-g", *SPLIT],
    "cxx-no-inlining": ["g++", "p.cc", "-g", "-fno-inline", *SPLIT],
    "cxx-lto": ["g++", "p.cc", "-g", "-flto", *SPLIT],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("names")
    (made / "p.c").write_text(C_SOURCE)
    (made / "p.cc").write_text(CXX_SOURCE)
    return made


def built(folder, name):
    path = folder / name
    if not path.exists():
        subprocess.run([*BUILDS[name], "-o", path], cwd=folder, check=True)
    return path


def debug_files():
    """The debug file of the C library, if it is here."""
    found = subprocess.run(["readelf", "-n", "/lib/x86_64-linux-gnu/libc.so.6"], capture_output=True, text=True)
    ident = re.search(r"Build ID: (..)(\w+)", found.stdout)
    path = pathlib.Path("/usr/lib/debug/.build-id", ident[1], f"{ident[2]}.debug") if ident else None
    return [path] if path and path.exists() else []


SYSTEM = {"unhex": pathlib.Path(UNHEX), **{"libc": path for path in debug_files()}}


def program(folder, name):
    return SYSTEM[name] if name in SYSTEM else built(folder, name)


def code_ranges(path):
    """The addresses of sections with code."""
    text = subprocess.run(["readelf", "-SW", path], check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^ +\[ *\d+\] \S+ +\S+ +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) \S+ +[A-Z]*X", text, re.M)
    return [(int(start, 16), int(start, 16) + int(size, 16)) for start, size in found]


def symbols(path, least=11):
    """The symbols of code that nm lists: the addresses of each name. Labels without a size inside of a symbol with one,
    such as libc's __syscall_cancel_arch_end, are no functions, and are left out."""
    ranges = code_ranges(path)
    found, sized, labels = collections.defaultdict(set), [], []
    text = subprocess.run(["nm", "--defined-only", "-S", path], check=True, capture_output=True, text=True).stdout
    for address, size, kind, name in re.findall(r"^(\w+) (?:(\w+) )?(\S) (.+)$", text, re.M):
        start = int(address, 16)
        if kind in "tTwWiu" and any(lo <= start < hi for lo, hi in ranges):
            found[name.split("@")[0]].add(start)
            if size:
                sized.append((start, start + int(size, 16)))
            else:
                labels.append((start, name.split("@")[0]))
    sized.sort()
    for start, name in labels:
        near = sized[max(0, bisect.bisect_left(sized, (start, 0)) - 50):bisect.bisect_left(sized, (start, 0))]
        if any(lo < start < hi for lo, hi in near):
            found[name].discard(start)
    found = {name: starts for name, starts in found.items() if starts}
    assert len(found) >= least
    return found


def answers(command, subject, words):
    return lines(command("lookup", "--json", subject, stdin="\n".join(words) + "\n"))


def same_as_addresses(command, subject, unique, off):
    """The answer for NAME+OFFSET is that for the address."""
    words = [f"{name}+{off:#x}" for name in unique]
    expected = answers(command, subject, [hex(start + off) for start in unique.values()])
    got = answers(command, subject, words)
    assert len(got) == len(unique)
    for word, a, b in zip(words, got, expected):
        assert "error" not in a and a["frames"] == b["frames"], (word, a, b)
        assert a["address"] == (word if command is not unhex else b["address"])  # a server repeats the word


@pytest.fixture(scope="module")
def gsyms(tmp_path_factory):
    return tmp_path_factory.mktemp("gsyms")


def gsym_of(gsyms, path, *options):
    made = gsyms / f"{path.name}{''.join(options)}.gsym"
    if not made.exists():
        assert unhex("extract", *options, path, "-o", made).returncode == 0
    return made


@pytest.mark.parametrize("name", [*BUILDS, *SYSTEM])
def test_a_name_and_an_offset_are_the_address_of_nm(folder, gsyms, name, server):
    path = program(folder, name)
    unique = {name: min(starts) for name, starts in symbols(path).items() if len(starts) == 1}
    for off in 0, 1, 9:
        same_as_addresses(unhex, path, unique, off)
        same_as_addresses(unhex, gsym_of(gsyms, path), unique, off)
    same_as_addresses(unhex, gsym_of(gsyms, path, "--gsym-version=2"), unique, 1)
    pushed = json.loads(server.unhex("push", "--json", path).stdout.splitlines()[0])
    same_as_addresses(server.unhex, pushed["id"], unique, 1)
    assert unhex("gsym", "verify", gsym_of(gsyms, path)).returncode == 0


def test_the_cold_part_has_a_name_of_its_own(folder, gsyms):
    path = built(folder, "c")
    starts = {name: min(found) for name, found in symbols(path).items()}
    assert starts["many.cold"] < starts["many"], "the test needs a cold part that comes first"
    for subject in path, gsym_of(gsyms, path):
        found = answers(unhex, subject, ["many+0x20", "many.cold+0x3", "alias1+4", "__GI_helper", "inner_entry"])
        assert [int(a["address"], 16) for a in found] == \
            [starts["many"] + 0x20, starts["many.cold"] + 3, starts["many"] + 4, starts["helper"], starts["inner_entry"]]
        assert [a["frames"][-1]["function"] for a in found] == ["many", "many", "many", "helper", "inner_entry"]
    shown = unhex("disas", path, "main").stdout
    assert shown.startswith(f"main, {starts['main']:#x}, ")
    assert unhex("disas", path, "many.cold").stdout.startswith(f"many, {starts['many.cold']:#x}, ")


NESTED_SOURCE = """
.text
.macro begin name
.globl \\name
.type \\name, @function
\\name: nop; nop
.endm
begin outer
begin middle
begin inner
.size inner, .-inner
nop; nop
.size middle, .-middle
nop; nop
.size outer, .-outer
begin _start
.size _start, .-_start
"""


@pytest.mark.parametrize("debug", [[], ["-g"]])
def test_after_a_symbol_inside_an_offset_counts_from_the_start_of_the_outer_one(gsyms, tmp_path, debug, server):
    (tmp_path / "nested.s").write_text(NESTED_SOURCE)
    path = tmp_path / "".join(["nested", *debug])
    subprocess.run(["gcc", "-nostdlib", "-static", "-Wl,--build-id", *debug, "nested.s", "-o", path], cwd=tmp_path, check=True)
    starts = {name: min(found) for name, found in symbols(path, least=4).items()}
    first = starts["outer"]
    expected = ["outer", "outer+0x1", "middle", "middle+0x1", "inner", "inner+0x1", "middle+0x4", "middle+0x5",
                "outer+0x8", "outer+0x9", "_start", "_start+0x1"]
    addresses = [hex(first + i) for i in range(len(expected))]
    named = [name.split("+")[0] for name in expected]
    pushed = json.loads(server.unhex("push", "--json", path).stdout.splitlines()[0])
    for command, subject in [(unhex, path), (unhex, gsym_of(gsyms, path)),
                             (unhex, gsym_of(gsyms, path, "--gsym-version=2")), (server.unhex, pushed["id"])]:
        assert [a["frames"][0]["function"] for a in answers(command, subject, addresses)] == named
        if not debug and command is unhex:  # a frame with a line is shown without its offset
            assert [line.split()[1] for line in command("lookup", subject, *addresses).stdout.splitlines()] == expected
    said = [json.loads(line) for line in unhex("llvm-symbolizer", "--output-style=JSON", "-e", path,
                                               stdin="\n".join(addresses) + "\n").stdout.splitlines()]
    assert [int(a["Symbol"][0]["StartAddress"], 16) for a in said] == [starts[name] for name in named]
    assert unhex("gsym", "verify", gsym_of(gsyms, path)).returncode == 0


def test_a_source_name_is_not_that_of_a_cold_part(folder):
    path = built(folder, "cxx")
    starts = {name: min(found) for name, found in symbols(path).items()}
    cold = [name for name in starts if name.startswith("_Z7measure") and name.endswith(".cold")]
    assert cold, starts
    whole = cold[0].removesuffix(".cold")
    result = unhex("disas", path, "measure(base const&)")
    assert result.stderr == "" and f"{starts[whole]:#x}, " in result.stdout.splitlines()[0]


def test_of_several_functions_with_a_name_the_first_is_used_and_that_is_said(tmp_path):
    for unit, factor in ("one", 3), ("two", 5):
        (tmp_path / f"{unit}.c").write_text(
            f"static __attribute__((noipa)) int local(int x) {{ return x * {factor}; }}\n"
            f"int {unit}(int x) {{ return local(x) + 1; }}\n")
    (tmp_path / "main.c").write_text("int one(int), two(int);\nint main(int c, char **v) { (void)v; return one(c) + two(c); }\n")
    subprocess.run(["gcc", "-g", "-O2", "one.c", "two.c", "main.c", "-o", "p"], cwd=tmp_path, check=True)
    starts = sorted(symbols(tmp_path / "p")["local"])
    assert len(starts) == 2
    result = unhex("lookup", tmp_path / "p", "local+1")
    assert result.returncode == 0 and result.stdout.startswith(f"{starts[0] + 1:#x} local ")
    assert result.stderr == \
        f'unhex: lookup: 2 functions are named "local", at {starts[0]:#x}, {starts[1]:#x}; showing the first\n'
    assert "2 functions have this name" in unhex("disas", tmp_path / "p", "local").stderr


def test_the_size_that_linux_prints_must_be_the_functions(folder, server):
    path = built(folder, "c")
    text = subprocess.run(["nm", "-S", path], check=True, capture_output=True, text=True).stdout
    start, size = (int(n, 16) for n in re.search(r"^(\w+) (\w+) T many$", text, re.M).groups())
    padded = size + 15 & ~15
    pushed = json.loads(server.unhex("push", "--json", path).stdout.splitlines()[0])
    for command, subject in (unhex, path), (server.unhex, pushed["id"]):
        good = lines(command("lookup", "--json", subject, f"many+0x10/{padded:#x}"))
        assert good[0]["frames"][-1]["function"] == "many"
        bad = command("lookup", "--json", subject, f"many+0x10/{size - 1:#x}", f"many+0x10/{size + 4096:#x}")
        assert bad.returncode == 1 and [a["frames"] for a in lines(bad)] == [[], []]
    fails(unhex("lookup", path, f"many+0x10/{size - 1:#x}"), 1,
          f'"many" has {size:#x} bytes here, not {size - 1:#x}: the offset belongs to another build')
    assert lines(unhex("lookup", "--json", path, f"many+0x10/{padded:#x}"))[0]["address"] == hex(start + 0x10)


def test_an_extraction_is_the_same_for_any_number_of_threads(folder, tmp_path):
    path = built(folder, "cxx")
    made = [tmp_path / str(threads) for threads in (1, 2, 8)]
    for out in made:
        assert unhex("extract", "--threads", out.name, path, "-o", out).returncode == 0
    assert len({out.read_bytes() for out in made}) == 1


def test_without_cold_parts_and_aliases_there_is_no_table(tmp_path):
    (tmp_path / "p.c").write_text("int f(int x) { return x * 3; }\nint g(int x) { return f(x) + 1; }\n")
    subprocess.run(["gcc", "-g", "-O0", "-shared", "-nostdlib", "-fPIC", "p.c", "-o", "p.so"], cwd=tmp_path, check=True)
    assert unhex("extract", tmp_path / "p.so", "-o", tmp_path / "p.gsym").returncode == 0
    assert b"UXSYMBOL" not in (tmp_path / "p.gsym").read_bytes()


def test_llvm_passes_over_the_table(folder, gsyms, tmp_path):
    gsym = gsym_of(gsyms, built(folder, "c"))
    whole = gsym.read_bytes()
    first, last = whole.index(b"UXSYMBOL"), whole.rindex(b"UXSYMBOL") + 8
    (tmp_path / "bare.gsym").write_bytes(whole[:first] + whole[last:])
    starts = [f"{start + 1:#x}" for found in symbols(built(folder, "c")).values() for start in found]
    said = []
    for path in gsym, tmp_path / "bare.gsym":
        run = subprocess.run(["llvm-gsymutil-19", "--addresses-from-stdin"], check=True, capture_output=True, text=True,
                             input="".join(f"{start} {path}\n" for start in starts))
        dump = subprocess.run(["llvm-gsymutil-19", path], check=True, capture_output=True, text=True).stdout
        said.append((run.stdout, dump.replace(str(path), "")))
        assert "many" in run.stdout and "error" not in dump.lower()
    assert said[0] == said[1]
