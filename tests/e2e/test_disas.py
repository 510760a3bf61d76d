# SPDX-License-Identifier: Apache-2.0
"""unhex disas: instructions beside the source lines and inlined calls that they are of"""
import os
import re
import shutil
import subprocess

import pytest

from tool import compile_c, fails, instructions, lines, stripped, symbol, unhex


def disas(*args, **more):
    result = unhex("disas", *args, **more)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_every_instruction_is_there_with_the_frames_of_lookup(prog):
    rows = lines(unhex("disas", "--json", prog, "outer"))
    addresses = [int(row["address"], 16) for row in rows]
    assert addresses == instructions(prog, "outer")
    looked_up = lines(unhex("lookup", "--json", prog, *map(hex, addresses)))
    for row, want in zip(rows, looked_up):
        source = [frame.pop("source", None) for frame in row["frames"]]
        assert row["frames"] == want["frames"]
        for frame, text in zip(row["frames"], source):
            if frame["file"].endswith("prog.c"):
                assert text == prog.with_suffix(".c").read_text().splitlines()[frame["line"] - 1]
    mnemonics = subprocess.run(["objdump", "-d", "-M", "intel", "--no-show-raw-insn", prog],
                               capture_output=True, text=True, check=True).stdout
    body = mnemonics.split("<outer>:\n")[1].split("\n\n")[0].splitlines()
    assert [row["instruction"].split()[0] for row in rows] == [line.split("\t")[1].split()[0] for line in body]


def test_text_has_lines_and_marks_inlined_calls(prog):
    text = disas(prog, "outer")
    start, size = symbol(prog, "outer")
    assert text.splitlines()[0] == f"outer, {start:#x}, {size} bytes, {prog}.c"
    assert re.search(r"^ +13      return middle\(x\) \+ atoi\(\"1\"\);$", text, re.M)
    assert f"| middle, inlined at {prog}.c:13\n" in text
    assert f"| | inner, inlined at {prog}.c:9\n" in text
    assert re.search(r"^\| \|     5      return x \* atoi", text, re.M)
    assert "\t" not in text and "\x1b" not in text


def test_address_chooses_the_function_and_is_marked(prog):
    pc = instructions(prog, "outer")[3]
    text = disas(prog, hex(pc))
    assert text.splitlines()[0].startswith("outer, ")
    (marked,) = [line for line in text.splitlines() if "=>" in line]
    assert f"=> {pc:#x} " in marked
    assert "=>" not in disas(prog, "outer")


def test_sources_are_read_from_where_the_map_leads(tmp_path):
    prog = compile_c(tmp_path)
    moved = tmp_path / "moved"
    moved.mkdir()
    shutil.move(tmp_path / "prog.c", moved / "prog.c")
    assert "return middle" not in disas(prog, "outer")
    assert f"{prog}.c:13\n" in disas(prog, "outer")
    assert "return middle" in disas(prog, "outer", "--source-map", f"{tmp_path}={moved}")
    assert "return middle" in disas(prog, "outer", "-m", "/else=/there", "-m", f"{tmp_path}/={moved}/")
    assert "return middle" not in disas(prog, "outer", "-m", f"{str(tmp_path)[:-1]}={moved}")


TARGETS = """
#include <stdlib.h>
static int table[8] = {1};
int shared = 5;
__attribute__((noinline, cold)) static void fail(void) { abort(); }
__attribute__((noinline)) int callee(int x) { return x + shared; }
int caller(int n, char **v)
{
	int sum = 0;
	for (int i = 0; i < n; i++) {
		if (__builtin_expect(!v[i], 0))
			fail();
		table[i & 7] += atoi(v[i]);
		sum += callee(table[i & 7]);
	}
	return sum;
}
int main(int argc, char **argv) { return caller(argc, argv); }
"""


def test_what_an_instruction_refers_to_has_its_name(tmp_path):
    """Calls, jumps and data, as objdump names them."""
    (tmp_path / "p.c").write_text(TARGETS)
    prog = tmp_path / "p"
    subprocess.run(["gcc", "-g", "-O2", "-fno-inline", "p.c", "-o", prog], cwd=tmp_path, check=True)
    rows = {int(row["address"], 16): row for name in ("caller", "callee") for row in lines(unhex("disas", "--json", prog, name))}
    shown = subprocess.run(["objdump", "-d", "--no-show-raw-insn", prog], capture_output=True, text=True, check=True).stdout
    expected = {int(at, 16): (int(target, 16), name.split("@GLIBC")[0]) for at, target, name in
                re.findall(r"^ +([0-9a-f]+):\t.*?([0-9a-f]+) <([^>]+)>$", shown, re.M) if int(at, 16) in rows}
    assert {at: (int(row["target"], 16), row["target_name"]) for at, row in rows.items() if "target" in row} == expected
    names = {name for _, name in expected.values()}
    assert {"callee", "table", "shared"} <= names and any(re.fullmatch(r"(strtol|atoi)@plt", name) for name in names)
    assert any(name.startswith("caller+0x") for name in names)
    text = disas(prog, "caller")
    assert re.search(r"  call 0x[0-9a-f]+ <callee>$", text, re.M)
    assert re.search(r"\[rip \+ 0x[0-9a-f]+\].*  # 0x[0-9a-f]+ <(table|shared)>$", text + disas(prog, "callee"), re.M)
    assert re.search(r"callq? +0x[0-9a-f]+ <callee>$", disas(prog, "caller", "--att"), re.M)
    assert unhex("split", prog).returncode == 0
    assert disas(prog, "caller") == text


def test_x86_has_the_syntax_that_is_asked_for(prog):
    intel, att = (unhex("disas", "--json", *more, prog, "outer") for more in ([], ["--att"]))
    for a, b in zip(lines(intel), lines(att)):
        assert {k: v for k, v in a.items() if k != "instruction"} == {k: v for k, v in b.items() if k != "instruction"}
    assert "%" not in disas(prog, "outer") and "%r" in disas(prog, "outer", "--att")


def test_names_are_those_of_the_source(tmp_path):
    (tmp_path / "a.cc").write_text("namespace n { int f(int x) { return x; } int f(long x) { return x + 1; } }\n"
                                   "int main() { return n::f(1) + n::f(2L); }\n")
    prog = tmp_path / "a"
    subprocess.run(["g++", "-g", "-o", prog, tmp_path / "a.cc"], check=True)
    one = disas(prog, "n::f(int)")
    assert one.splitlines()[0].startswith("n::f(int), ") and disas(prog, "_ZN1n1fEi") == one
    both = unhex("disas", prog, "n::f")
    assert both.returncode == 0 and "2 functions have this name" in both.stderr


def test_code_of_a_split_file_has_its_lines(prog, tmp_path):
    whole = disas(prog, "outer")
    bare, debug = stripped(prog, "bare")
    assert "return middle" not in disas(bare, hex(symbol(prog, "outer")[0]))
    copy = shutil.copy(prog, tmp_path)
    assert unhex("split", copy).returncode == 0
    assert disas(copy, "outer") == whole
    os.unlink(bare)
    os.unlink(debug)


def test_sources_cannot_write_to_the_terminal(tmp_path):
    prog = compile_c(tmp_path)
    source = tmp_path / "prog.c"
    source.write_text(source.read_text().replace("return middle(x)", "return \x1b]0;title\x07middle(x)"))
    text = disas(prog, "outer")
    assert "\x1b" not in text and r"\x1b]0;title\x07middle" in text
    source.unlink()
    os.mkfifo(source)
    assert "0x" in disas(prog, "outer", timeout=20)


@pytest.mark.parametrize("args, status, words", [
    (["nothing"], 1, ['no function is named "nothing"']),
    (["0x1"], 1, ["0x1"]),
    ([], 2, ["a function or an address"]),
    (["outer", "main"], 2, ["more than one"]),
    (["outer", "--source-map", "=x"], 2, ["FROM=TO"]),
])
def test_what_cannot_be_disassembled_is_told(prog, args, status, words):
    fails(unhex("disas", prog, *args), status, *words)


def test_file_that_is_no_program_is_told(tmp_path):
    (tmp_path / "text").write_text("text")
    fails(unhex("disas", tmp_path / "text", "main"), 1, "text")
    fails(unhex("disas", tmp_path / "absent", "main"), 1, "absent")
