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
