# SPDX-License-Identifier: Apache-2.0
"""unhex addr2line against binutils' own: options, answers, and its way with clients."""
import functools
import os
import re
import subprocess

import pytest

from tool import UNHEX, symbol, unhex

SOURCE = r"""
#include <cmath>
namespace deep {
struct Box { int v; int get(int k) const; };
inline __attribute__((always_inline)) int Box::get(int k) const
{
	return v * int(sqrt(double(k))) + k;
}
template <class T> struct List { T all[8]; };
template <class T> __attribute__((noinline)) T outer(const List<List<T>> &lists)
{
	T sum = 0;
	for (auto &list : lists.all)
		for (auto &x : list.all)
			sum += x;
	return sum;
}
__attribute__((noinline)) int boxed(const Box &b)
{
	return b.get(3) + 1;
}
}
int global_table[4];
int main(int argc, char **)
{
	static deep::List<deep::List<int>> lists;
	return deep::outer(lists) + deep::boxed(deep::Box{argc});
}
"""
BINUTILS = "/usr/bin/addr2line"


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """A folder with a program, the same without debug information, and one for 32 bits of address."""
    folder = tmp_path_factory.mktemp("addr2line")
    (folder / "p.cc").write_text(SOURCE)
    for name, flags in ("p", ["-g"]), ("bare", []):
        subprocess.run(["g++", "-O1", "-std=c++17", *flags, "-o", name, "p.cc"], check=True,
                       cwd=folder)
    (folder / "x32.c").write_text("int f(int x) { return x + 1; }\n")
    subprocess.run(["gcc", "-g", "-mx32", "-c", "x32.c"], check=True, cwd=folder)
    os.symlink(UNHEX, folder / "addr2line")
    return folder


def both(folder, *args, stdin=""):
    """What binutils' command and ours do; discriminators, which a GSYM has not, taken out."""
    results = []
    for command in BINUTILS, folder / "addr2line":
        r = subprocess.run([command, *args], cwd=folder, input=stdin, text=True,
                           capture_output=True, timeout=60)
        plain = re.sub(r" \(discriminator \d+\)", "", r.stdout)
        if NEWER:
            plain = plain.replace("??:?", "??:0")
        errors = re.sub(r"^\S*addr2line", "addr2line", r.stderr, flags=re.M)
        results.append((r.returncode, plain, errors))
    return results


def version_of_binutils():
    reported = subprocess.run([BINUTILS, "--version"], check=True, capture_output=True, text=True)
    return tuple(map(int, re.search(r" (\d+)\.(\d+)", reported.stdout.split("\n")[0]).groups()))


# Where no line is known, ours says "??:0" or "??:?" as 2.40 (Debian 12) chooses; later ones choose
# otherwise, and give padding behind a function to the function.
NEWER = version_of_binutils() > (2, 40)


def code_of(folder, name="p"):
    """Addresses of instructions, and some that are none."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "-j", ".text", name], check=True,
                          cwd=folder, capture_output=True, text=True).stdout
    named = re.split(r"^[0-9a-f]+ <", text, flags=re.M)
    ours = [part for part in named if part.startswith(("main", "_ZN4deep"))]
    assert len(ours) >= 3
    found = re.findall(r"^ +([0-9a-f]+):", "\n".join(ours), re.M)
    return [a for a in found if not NEWER or in_functions(folder / name, int(a, 16))]


@functools.lru_cache
def functions(path):
    """[start, end) of each that the symbol table has; none where it was taken away."""
    reported = subprocess.run(["nm", "-S", path], capture_output=True, text=True).stdout
    rows = [line.split() for line in reported.splitlines()]
    return [(int(r[0], 16), int(r[0], 16) + int(r[1], 16)) for r in rows
            if len(r) == 4 and r[2] in "tTwW"]


def in_functions(path, address):
    return any(start <= address < end for start, end in functions(path))


OPTIONS = [
    [], ["-a"], ["-f"], ["-i"], ["-p"], ["-s"], ["-C"], ["-afi"], ["-afipC"], ["-fipCs"], ["-fC"],
    ["--functions", "--inlines", "--demangle"], ["--func", "--inl", "--pretty", "--demang", "--add"],
    ["--demangle=auto", "-f"], ["--demangle=gnu-v3", "-f"], ["--demangle=rust", "-f"],
    ["-C", "--demangle=none", "-f"], ["-rRC", "-f"], ["-b", "elf64-x86-64"], ["-j", ".text", "-fi"],
    ["--section=.text", "-a"], ["--base", "--target=elf64-x86-64"],
]


@pytest.mark.parametrize("name", ["p", "bare"])
@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_every_option_prints_what_binutils_prints(programs, name, options):
    addresses = code_of(programs, name)
    if ".text" in " ".join(options):
        start = int(subprocess.run(["readelf", "-SW", name], cwd=programs, capture_output=True,
                                   text=True, check=True).stdout.split(" .text ")[1].split()[1], 16)
        addresses = [f"{int(a, 16) - start:x}" for a in addresses]
    requested = "\n".join([*addresses, "0", "ffffffffffffffffff", "0x10", "nonsense", "", ","]) + "\n"
    theirs, ours = both(programs, "-e", name, *options, stdin=requested)
    assert ours == theirs
    assert theirs[1].count("\n") >= len(addresses)


@pytest.mark.parametrize("args", [
    ["-e", "nosuch", "1"], ["-e", "p.cc", "1"], ["1"], ["-e", "p", "-j", ".nope", "1"],
    ["-e", "p", "--demangle=klingon", "1"], ["-e", "p", "-b", "klingon", "1"],
], ids=" ".join)
def test_failures_are_reported_in_the_same_words(programs, args):
    theirs, ours = both(programs, *args)
    assert ours == theirs and theirs[0] == 1


@pytest.mark.parametrize("args", [["--bogus"], ["-e"], ["--s", "x"]], ids=" ".join)
def test_usage_errors_end_with_the_same_status_and_first_line(programs, args):
    theirs, ours = both(programs, *args)
    assert ours[0] == theirs[0] and ours[1] == theirs[1]
    assert ours[2].splitlines()[0] == theirs[2].splitlines()[0]


def test_options_may_follow_addresses_and_come_from_files(programs):
    address = code_of(programs)[0]
    (programs / "inner").write_text(f"'-i'\t\"{address}\"\n")
    (programs / "response").write_text("-e p\n -f\n@inner\n")
    for args in [address, "-e", "p", "-f"], ["@response"], ["@response", address, "-a"]:
        theirs, ours = both(programs, *args)
        assert ours == theirs and theirs[0] == 0 and "p.cc" in theirs[1]
    theirs, ours = both(programs, "@nosuch", "-e", "p")
    assert ours == theirs


def test_addresses_are_as_wide_as_the_file(programs):
    theirs, ours = both(programs, "-e", "x32.o", "-a", "-j", ".text", "1ffffffff", "0")
    assert ours == theirs and theirs[1].startswith("0xffffffff\n")


def test_each_answer_comes_before_the_next_question(programs):
    """perf's protocol: an address, then one that has no answer, whose text ends the first."""
    address = code_of(programs)[0]
    with subprocess.Popen([programs / "addr2line", "-e", programs / "p", "-i", "-f"], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1) as process:
        for _ in range(3):
            process.stdin.write(f"{address}\n,\n")
            process.stdin.flush()
            answer = [process.stdout.readline() for _ in range(4)]
            assert answer[1].endswith(tuple(f":{n}\n" for n in range(1, 40)))
            assert answer[2:] == ["??\n", "??:0\n"]
        process.stdin.close()
        assert process.wait(60) == 0


@pytest.mark.parametrize("name", ["addr2line", "addr2line-2.40", "x86_64-linux-gnu-addr2line"])
def test_the_name_of_the_program_chooses_the_command(programs, tmp_path, name):
    os.symlink(UNHEX, tmp_path / name)
    address = code_of(programs)[0]
    by_name = subprocess.run([tmp_path / name, "-fe", programs / "p", address], text=True,
                             capture_output=True, check=True).stdout
    assert by_name == unhex("addr2line", "-fe", programs / "p", address).stdout
    assert "p.cc:" in by_name


def test_a_gsym_file_is_taken_too(programs, tmp_path):
    out = tmp_path / "p.gsym"
    assert unhex("extract", programs / "p", "-o", out).returncode == 0
    requested = "\n".join(code_of(programs)) + "\n"
    of_elf, of_gsym = [unhex("addr2line", "-afie", f, stdin=requested).stdout
                       for f in (programs / "p", out)]
    assert of_gsym == of_elf


def test_a_variable_has_no_line(programs):
    """binutils tells where a variable is declared; a GSYM has code alone."""
    start, _ = symbol(programs / "p", "global_table")
    theirs, ours = both(programs, "-fe", "p", f"{start:x}")
    assert NEWER or theirs[1].startswith("??\n")
    assert ours[1] == "??\n??:0\n"
