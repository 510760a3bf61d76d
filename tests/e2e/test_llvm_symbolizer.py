# SPDX-License-Identifier: Apache-2.0
"""unhex llvm-symbolizer against LLVM's own: requests, options, and sanitizers' reports."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from test_addr2line import SOURCE, code_of
from tool import UNHEX, build_id, symbol, unhex

LLVM = pathlib.Path("/usr/lib/llvm-19/bin")
CLANG = shutil.which("clang++-14") or shutil.which("clang++-19") or "clang++"


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("symbolizer")
    (folder / "p.cc").write_text(SOURCE)
    for name, flags in ("p", ["-g"]), ("bare", []), ("with space", ["-g"]):
        subprocess.run(["g++", "-O1", "-std=c++17", *flags, "-o", name, "p.cc"], check=True,
                       cwd=folder)
    os.symlink(UNHEX, folder / "llvm-symbolizer")
    os.symlink(UNHEX, folder / "llvm-addr2line")
    return folder


def plain(text):
    """Without columns and the starts of functions, which a GSYM has not; with template
    arguments closed as in LLVM 14 and 19 alike."""
    text = re.sub(r"^(.*:\d+):\d+$", r"\1:0", text, flags=re.M)
    text = re.sub(r"^ {2}(Function start (filename|line|address): .*\n)", "", text, flags=re.M)
    text = re.sub(r"^ {2}Discriminator: .*\n| \(discriminator \d+\)", "", text, flags=re.M)
    text = re.sub(r"^ {2}Column: .*\n", "  Column: 0\n", text, flags=re.M)
    text = re.sub(r'"(Column|StartLine|Discriminator)":\d+', r'"\1":0', text)
    text = re.sub(r'"StartFileName":"[^"]*"', r'"StartFileName":""', text)
    return closed(text)


def closed(text):
    while "> >" in text:
        text = text.replace("> >", ">>")
    return text


def both(folder, *args, stdin="", program="llvm-symbolizer"):
    results = []
    for command in LLVM / program, folder / program:
        r = subprocess.run([command, *args], cwd=folder, input=stdin, text=True,
                           capture_output=True, timeout=60)
        errors = re.sub(r"^\S*(llvm-\w+)(-\d+)?:", r"\1:", r.stderr, flags=re.M)
        results.append((r.returncode, plain(r.stdout), errors))
    return results


def requests(folder):
    code = code_of(folder)
    data = symbol(folder / "p", "global_table")[0]
    return [f"p 0x{a}" for a in code] + [
        f"CODE p 0x{code[0]}", f"DATA p {data:#x}", f"DATA p {data + 5:#x}", "DATA p 1",
        f"DATA p 0x{code[0]}", f"p {data:#x}", f"\"with space\" 0x{code[0]}",
        f"'with space' {int(code[0], 16)}", f"FILE:p 0x{code[0]}", f"  p   0x{code[0]}  ",
        f"p:x86_64 0x{code[0]}", "FRAME p 1", "p 0", "p", "", "zz 1", "zz 2", "DATA zz 1", "p.cc 1",
        "bare 0x1", f"bare 0x{code[0]}", "p nosuch", "p nosuch+1", "\"p 1", "DATA p", "p 0x",
        "p 99999999999999999999", "BUILDID:abcd 1",
    ]


OPTIONS = [
    [], ["-a"], ["-p"], ["--verbose"], ["-s"], ["--no-inlines"], ["--inlining=false"],
    ["--no-demangle"], ["-demangle=false"], ["-f=none"], ["--functions=short"], ["--functions"],
    ["--output-style=GNU"], ["--output-style=GNU", "--no-inlines"], ["--output-style=GNU", "-ap"],
    ["-aps"], ["--demangle", "--inlines", "--default-arch=x86_64"], ["--print-address"],
    ["--adjust-vma=0x10"], ["--adjust-vma", "16", "-a"], ["--inlining", "-C"],
]


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_requests_are_answered_as_llvm_answers_them(programs, options):
    requested = requests(programs)
    if "--functions=short" in options:  # of a symbol alone LLVM then says nothing
        requested = [r for r in requested if not r.startswith("bare")]
    theirs, ours = both(programs, *options, stdin="\n".join(requested) + "\n")
    assert ours[:2] == theirs[:2]
    assert sorted(ours[2].lower().splitlines()) == sorted(theirs[2].lower().splitlines())


@pytest.mark.parametrize("options", OPTIONS + [["--print-source-context-lines=3"]], ids=" ".join)
def test_addresses_of_one_object_may_stand_on_the_command_line(programs, options):
    code = code_of(programs)
    theirs, ours = both(programs, "--obj=p", *options, f"0x{code[0]}", f"CODE 0x{code[9]}", "0",
                        f"DATA {symbol(programs / 'p', 'global_table')[0]:#x}", "nosuch")
    assert ours[:2] == theirs[:2]
    assert "p.cc" in theirs[1]


@pytest.mark.parametrize("options", [["-e", "p"], ["--exe=p", "-a", "-f", "-i"], ["-e=p", "-afipC"],
                                     ["-Cfie", "p"]], ids=" ".join)
def test_llvm_addr2line_is_another_name_for_it(programs, options):
    requested = "\n".join(code_of(programs) + ["0", ",", "zz"]) + "\n"
    theirs, ours = both(programs, *options, stdin=requested, program="llvm-addr2line")
    assert ours[:2] == theirs[:2]


VARIABLES = """
namespace n { int table[10]; static int hidden = 3; }
struct S { static int member; int x; };
int S::member = 7;
thread_local int own = 3;
static const char *names[] = {"a", "b"};
template <class T> T made = T(5);
int f(int i)
{
	static int local = 9;
	{
		static long inner;
		inner += i;
		return names[i & 1][0] + n::hidden++ + n::table[i] + local++ + (int)inner + own++ +
		       made<int>++ + made<long>++;
	}
}
int main(int c, char **) { return f(c) + S::member; }
"""


@pytest.mark.parametrize("compiler,believed", [
    (["g++", "-gdwarf-5"], False),  # LLVM 19 knows few of these
    (["g++", "-gdwarf-4"], True), (["g++", "-gdwarf-3"], True), (["g++", "-gdwarf-4", "-gz"], True),
    ([CLANG, "-gdwarf-5"], True), ([CLANG, "-gdwarf-4"], True),
])
def test_variables_are_reported_with_where_they_are_declared(tmp_path, compiler, believed):
    (tmp_path / "v.cc").write_text(VARIABLES)
    subprocess.run([*compiler, "-o", "v", "v.cc"], check=True, cwd=tmp_path)
    os.symlink(UNHEX, tmp_path / "llvm-symbolizer")
    listed = [line.split() for line in subprocess.run(
        ["nm", tmp_path / "v"], check=True, capture_output=True, text=True).stdout.splitlines()]
    places = [s[0] for s in listed if len(s) == 3 and s[1] in "dDbBrRVu"]
    theirs, ours = both(tmp_path, stdin="".join(f"DATA v 0x{p}\n" for p in places))
    reported = dict(re.findall(r"^(?:n::|S::|f\(int\)::)?([a-z<>]+)\n\d+ \d+\n.*/v\.cc:(\d+)$",
                           ours[1], re.M))
    assert reported == {"table": "2", "hidden": "2", "member": reported["member"], "names": "6",
                    "made<int>": "7", "made<long>": "7", "local": "10", "inner": "12"}
    assert reported["member"] in ("3", "4")  # gcc says the definition's line, clang the declaration's
    if believed:
        assert ours == theirs


# A unit of 20 MB that says nothing.
PADDING = """
	.section .note.GNU-stack,"",@progbits
	.section .debug_abbrev,"",@progbits
.Labbrev:
	.byte 1, 0x11, 0, 0x1c, 4, 0, 0, 0
	.section .debug_info,"",@progbits
	.long 2f - 1f
1:	.value 4
	.long .Labbrev
	.byte 8, 1
	.long 20000000
	.zero 20000000
2:
"""


def test_declarations_are_found_where_large_sections_are_compressed(tmp_path):
    (tmp_path / "v.cc").write_text(VARIABLES)
    (tmp_path / "pad.s").write_text(PADDING)
    reported = []
    for pack in ("none", "zlib"):
        subprocess.run(["g++", "-gdwarf-4", f"-Wl,--compress-debug-sections={pack}", "-o", pack, "v.cc",
                        "pad.s"], check=True, cwd=tmp_path)
        at = symbol(tmp_path / pack, "_ZL5names")[0]
        reported.append(unhex("llvm-symbolizer", "-e", tmp_path / pack, f"DATA {at:#x}").stdout)
    assert os.path.getsize(tmp_path / "zlib") < 1 << 20
    assert reported[0].splitlines()[2].endswith("/v.cc:6")
    assert reported[1] == reported[0]


def test_json_is_a_list_of_the_command_lines_requests_and_else_a_line_each(programs):
    requested = [r for r in requests(programs) if r.strip() and '"' not in r and "BUILDID" not in r]
    requested = [r for r in requested if not re.search(r"p$|0x$|9999|zz 2|DATA zz", r)]
    # these LLVM 19 tells on stderr, or a failure the first time only
    theirs, ours = both(programs, "--output-style=JSON", stdin="\n".join(requested) + "\n")
    assert [json.loads(x) for x in ours[1].splitlines()] == [
        json.loads(x) for x in theirs[1].splitlines()]
    code = code_of(programs)
    theirs, ours = both(programs, "--output-style=JSON", "-e", "p", f"0x{code[0]}", "0", "DATA 0")
    assert json.loads(ours[1]) == json.loads(theirs[1])


def test_a_function_is_found_by_name(programs):
    got = unhex("llvm-symbolizer", f"--obj={programs}/p", "main").stdout
    start = symbol(programs / "p", "main")[0]
    assert got == unhex("llvm-symbolizer", f"--obj={programs}/p", f"{start:#x}").stdout
    assert got.startswith("main\n") and "p.cc:" in got


def test_a_module_is_found_by_its_build_id(programs, tmp_path):
    hexes = build_id(programs / "p").removeprefix("gnu:")
    folder = tmp_path / ".build-id" / hexes[:2]
    folder.mkdir(parents=True)
    shutil.copy(programs / "p", folder / f"{hexes[2:]}.debug")
    address = "0x" + code_of(programs)[0]
    by_path = unhex("llvm-symbolizer", "-e", programs / "p", address).stdout
    place = f"--debug-file-directory={tmp_path}"
    assert unhex("llvm-symbolizer", place, f"--build-id={hexes}", address).stdout == by_path
    assert unhex("llvm-symbolizer", place, stdin=f"BUILDID:{hexes.upper()} {address}\n"
                 ).stdout == by_path


def test_each_answer_comes_before_the_next_request(programs):
    with subprocess.Popen([programs / "llvm-symbolizer"], text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, cwd=programs, bufsize=1) as process:
        for request in requests(programs)[:3]:
            process.stdin.write(request + "\n")
            process.stdin.flush()
            while process.stdout.readline() != "\n":
                pass
        process.stdin.close()
        assert process.wait(60) == 0


@pytest.mark.parametrize("name", ["llvm-symbolizer", "llvm-symbolizer-14", "llvm-addr2line-19.1"])
def test_the_name_of_the_program_chooses_the_command(programs, tmp_path, name):
    os.symlink(UNHEX, tmp_path / name)
    got = subprocess.run([tmp_path / name, "-e", programs / "p", code_of(programs)[0], "-f"],
                         text=True, capture_output=True, check=True).stdout
    assert ("p.cc:" in got) == ("addr2line" in name) # the one reads hexadecimal, the other 0x


BUGS = r"""
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>
#include <unistd.h>
int shared_counter[4];
int g_table[10];
std::atomic<bool> counted;
namespace n {
__attribute__((noinline)) int bad(int *p, int i) { return p[i]; }
template <class T> __attribute__((noinline)) T bad_t(T *p, int i) { return p[i] + 1; }
static inline __attribute__((always_inline)) int inlined(int *p, int i) { return bad_t(p, i); }
__attribute__((noinline)) void count(int times) { shared_counter[1] += times; }
}
int main(int argc, char **argv)
{
	int *p = (int *)malloc(40), r = 0;
	memset(p, 1, 40);
	switch (argv[1][0]) {
	case 'h':
		return n::inlined(p, 9 + argc - 1) & 1;
	case 'f':
		free(p);
		return n::inlined(p, argc) & 1;
	case 'g':
		return n::bad(g_table, 8 + argc) & 1;
	case 's': {
		int a[4] = {1, 2, 3, 4};
		return n::bad(a, 2 + argc + atoi("2")) & 1;
	}
	case 'l':
		p = nullptr;
		return 0;
	case 'u':
		r = 0x7fffffff;
		r += argc;
		r += 1 << (30 + argc);
		return (r + *(int *)((char *)p + 1)) & 1;
	case 'r': {
		std::thread a([&] {
			n::count(argc);
			counted.store(true, std::memory_order_relaxed);
		});
		while (!counted.load(std::memory_order_relaxed))
			usleep(1000); /* the other one first, but not synchronized */
		n::count(1);
		a.join();
	}
	}
	return 0;
}
"""


@pytest.fixture(scope="module")
def buggy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sanitizers")
    (folder / "bugs.cc").write_text(BUGS)
    for name, kind in ("asan", "address,undefined"), ("tsan", "thread"):
        subprocess.run([CLANG, "-g", "-O1", f"-fsanitize={kind}", "-pthread", "-o", name, "bugs.cc"],
                       check=True, cwd=folder)
    os.symlink(UNHEX, folder / "llvm-symbolizer")
    return folder


def report(folder, symbolizer, program, bug):
    env = {"PATH": os.environ["PATH"], "ASAN_SYMBOLIZER_PATH": str(symbolizer),
           "UBSAN_OPTIONS": "print_stacktrace=1",
           "TSAN_OPTIONS": f"external_symbolizer_path={symbolizer}"}
    text = subprocess.run(["setarch", "-R", folder / program, bug], env=env, cwd=folder, text=True,
                          capture_output=True, timeout=120).stderr
    text = re.sub(r"0x[0-9a-f]+", "ADDRESS", text)
    text = re.sub(r"\b\d+==|\b[pt]id=\d+|\bT\d+\b", "N", text)
    text = re.sub(r"(:\d+):\d+", r"\1", text)  # columns
    text = re.sub(r"^( {2}|=>)ADDRESS:.*$", "SHADOW", text, flags=re.M)
    # Whether the thread had ended when the report was written, and how the threads happened to sleep.
    text = re.sub(r"\(N, (running|finished)\)", "(N, STATE)", text)
    text = re.sub(r"\n  As if synchronized via sleep:\n(    #.*\n)+", "", text)
    return closed(text)


@pytest.mark.parametrize("program,bug,words", [
    ("asan", "heap", ["heap-buffer-overflow", "int n::bad_t<int>(int*, int)"]),
    ("asan", "free", ["heap-use-after-free", "int n::bad_t<int>(int*, int)"]),
    ("asan", "global", ["global variable 'g_table'", "n::bad(int*, int)"]),
    ("asan", "stack", ["stack-buffer-overflow", "n::bad(int*, int)"]),
    ("asan", "leak", ["Direct leak of 40 byte", "in malloc"]),
    ("asan", "undefined", ["signed integer overflow", "in main"]),
    ("tsan", "race", ["data race", "global 'shared_counter' of size 16", "n::count(int)"]),
])
def test_a_sanitizers_report_is_the_one_that_llvm_makes(buggy, program, bug, words):
    theirs = report(buggy, LLVM / "llvm-symbolizer", program, bug)
    ours = report(buggy, buggy / "llvm-symbolizer", program, bug)
    assert ours == theirs
    for word in words:
        assert word in ours


def test_addresses_of_a_kernel_module_are_those_of_its_code(tmp_path):
    """Its variables lie at the same numbers, and LLVM names some of its code after them."""
    (tmp_path / "x.c").write_text("int table[4096] = {1};\n" + "".join(
        f"__attribute__((noinline)) int f{i}(int x) {{ return x * table[{i}] + {i}; }}\n"
        for i in range(20)))
    for command in (["gcc", "-g", "-O1", "-c", "x.c"], ["ld", "-r", "--build-id", "-o", "x.ko", "x.o"],
                    ["xz", "-k", "x.ko"], ["strip", "-g", "-o", "y.ko", "x.ko"]):
        subprocess.run(command, cwd=tmp_path, check=True)
    nm = [line.split() for line in subprocess.run(["nm", "-S", tmp_path / "x.ko"], check=True,
                                                  capture_output=True, text=True).stdout.splitlines()]
    code = {a: w[3] for w in nm if w[2] == "T" for a in range(int(w[0], 16), sum(
        int(part, 16) for part in w[:2]))}
    assert len(code) > 100
    for name in ("x.ko", "x.ko.xz", "y.ko"):
        out = unhex("llvm-symbolizer", "--output-style=JSON", "-e", tmp_path / name,
                    *map(hex, code)).stdout
        reported = [o["Symbol"][-1]["FunctionName"] for o in json.loads(out)]
        assert reported == list(code.values()), name
    # What only a variable covers, and what asks for one.
    out = unhex("llvm-symbolizer", "-e", tmp_path / "x.ko", "0x3000", "DATA 0x10").stdout
    assert [line for line in out.splitlines() if line == "table"] == ["table"] * 2
