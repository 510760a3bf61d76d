# SPDX-License-Identifier: Apache-2.0
"""unhex extract"""
import json
import os
import subprocess
import re
import shutil

import pytest

from tool import UNHEX, compile_c, fails, lines, stripped, symbol, unhex


def test_the_output_is_named_after_the_input_in_the_current_folder(prog, tmp_path):
    result = unhex("extract", prog, cwd=tmp_path)
    assert result.returncode == 0
    assert re.match(r"prog\.gsym: inlines, \d+ functions, ", result.stdout)
    assert [p.name for p in tmp_path.iterdir()] == ["prog.gsym"]


def test_json_says_what_was_written(prog, tmp_path):
    out = tmp_path / "o.gsym"
    (reported,) = lines(unhex("extract", prog, "-o", out, "--json"))
    assert reported["output"] == str(out)
    assert reported["size"] == out.stat().st_size
    assert reported["quality"] == "inlines"
    assert reported["counts"]["functions"] > 0


def test_the_same_bytes_at_any_number_of_threads(prog, tmp_path):
    made = []
    for threads in (1, 2, 8):
        out = tmp_path / f"{threads}.gsym"
        assert unhex("extract", prog, "-o", out, "--threads", threads).returncode == 0
        made.append(out.read_bytes())
    assert made[0] == made[1] == made[2]


def test_a_stripped_binary_takes_its_symbols_from_the_debug_file(prog, tmp_path):
    bare, debug = stripped(prog)
    out = tmp_path / "o.gsym"
    assert unhex("extract", bare, "-d", debug, "-o", out).returncode == 0
    start, _ = symbol(prog, "outer")
    (answer,) = lines(unhex("lookup", out, hex(start), "--json"))
    assert answer["frames"][-1]["function"] == "outer"


def test_no_dwarf_leaves_the_symbol_table(prog, tmp_path):
    (reported,) = lines(unhex("extract", prog, "--no-dwarf", "-o", tmp_path / "o", "--json"))
    assert reported["quality"] == "symtab"
    assert reported["counts"]["rows"] == 0


def test_a_pair_that_does_not_belong_together_is_refused(prog, tmp_path):
    other = compile_c(tmp_path, "other", flags=("-O1", "-g"))
    out = tmp_path / "o.gsym"
    fails(unhex("extract", prog, "-d", other, "-o", out), 1, prog, "build ID")
    assert not out.exists()
    assert unhex("extract", prog, "-d", other, "-o", out, "--allow-mismatch").returncode == 0
    assert out.exists()


def test_nothing_is_left_behind_when_it_fails(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    (tmp_path / "text").write_text("not a binary")
    out = folder / "o.gsym"
    out.write_text("what was there before")
    fails(unhex("extract", tmp_path / "text", "-o", out), 1, "text", "ELF")
    fails(unhex("extract", tmp_path / "gone", "-o", out), 1, "gone", "No such file")
    assert [p.name for p in folder.iterdir()] == ["o.gsym"]
    assert out.read_text() == "what was there before"


def test_a_folder_that_is_not_there(prog, tmp_path):
    fails(unhex("extract", prog, "-o", tmp_path / "no/o.gsym"), 1, "no/o.gsym")


def test_a_debug_file_that_is_no_elf_file_is_named(prog, tmp_path):
    (tmp_path / "text").write_text("not a binary")
    fails(unhex("extract", prog, "-d", tmp_path / "text", "-o", tmp_path / "o"), 1,
          tmp_path / "text", "starts with 6e 6f 74 20, expected 7f 45 4c 46")


def test_a_device_or_fifo_is_not_replaced_by_the_output(prog, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("fifo")
    for name in ("fifo", "link"):
        fails(unhex("extract", prog, "-o", tmp_path / name), 1, tmp_path / name, "FIFO",
              "expected a regular file")
    assert (tmp_path / "fifo").is_fifo() and (tmp_path / "link").is_symlink()


def test_the_input_is_not_replaced_by_the_output(prog, tmp_path):
    binary = tmp_path / "binary"
    shutil.copy(prog, binary)
    (tmp_path / "other-name").hardlink_to(binary)
    before = binary.read_bytes()
    for args in ([binary], [prog, "-d", binary]):
        for output in (binary, tmp_path / "other-name"):
            fails(unhex("extract", *args, "-o", output), 1, output, "input itself")
    assert binary.read_bytes() == before


def test_a_bound_on_memory_that_cannot_be_kept_is_refused(prog, tmp_path):
    out = unhex("extract", prog, "--memory", "1M", "-o", tmp_path / "a")
    fails(out, 2, "--memory: 1048576 bytes, expected at least 32M")
    assert not (tmp_path / "a").exists()


def test_a_bound_on_memory_does_not_change_the_bytes(prog, tmp_path):
    assert unhex("extract", prog, "-o", tmp_path / "a").returncode == 0
    assert unhex("extract", prog, "--memory", "256M", "-o", tmp_path / "b").returncode == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_dash_is_standard_input_and_output(tmp_path):
    prog = compile_c(tmp_path)
    assert unhex("extract", prog, "-o", tmp_path / "named.gsym").returncode == 0
    whole = (tmp_path / "named.gsym").read_bytes()
    for redirected in (f"{UNHEX} extract - -o - < {prog}", f"cat {prog} | {UNHEX} extract - -o -"):
        done = subprocess.run(["sh", "-c", redirected], capture_output=True, check=True)
        assert (done.stdout, done.stderr) == (whole, b"")
    done = subprocess.run(["sh", "-c", f"cat {prog} | {UNHEX} lookup - main+0"], capture_output=True, check=True)
    assert b" main at " in done.stdout
    done = subprocess.run(["sh", "-c", f"cat {prog} | {UNHEX} id --json -"], capture_output=True, check=True)
    assert json.loads(done.stdout)["ids"] == lines(unhex("id", "--json", prog))[0]["ids"]
    fails(unhex("extract", "-", stdin=""), 2, "-o")
    fails(unhex("lookup", "-", stdin=""), 2, "arguments")
    fails(unhex("extract", prog, "-o", "-", "--json"), 2, "--json")
    failed = subprocess.run(["sh", "-c", f"echo text | {UNHEX} extract - -o -"], capture_output=True, check=False)
    assert (failed.returncode, failed.stdout) == (1, b""), "nothing was written"


def test_explain_takes_the_file_or_the_addresses_from_standard_input(tmp_path):
    prog = compile_c(tmp_path)
    (main,) = re.findall(r"^(\w+) T main$", subprocess.run(["nm", prog], capture_output=True, text=True,
                                                           check=True).stdout, re.M)
    named = unhex("explain", prog, f"0x{main}").stdout
    piped = subprocess.run(["sh", "-c", f"cat {prog} | {UNHEX} explain - 0x{main}"], capture_output=True, text=True,
                           check=True).stdout
    assert piped.splitlines()[0] == "-"
    assert piped.splitlines()[-12:] == named.splitlines()[-12:]
    given = unhex("explain", prog, "-", "--hex", stdin=f"{main}\n\n{main}\n")
    assert given.returncode == 0
    assert given.stdout.count(f"\n0x{main.lstrip('0')}\n") == 2
    assert unhex("lookup", prog, "-", "--hex", stdin=main).stdout == unhex("lookup", prog, f"0x{main}").stdout
    some = unhex("explain", prog, "-", stdin=f"0x{main}\nno address\n")
    fails(some, 1, "line 2", '"no address"')
    assert "chosen         main" in some.stdout
    fails(unhex("explain", prog, "-", stdin="\n"), 1, "standard input", "one per line")
    fails(unhex("explain", "-", stdin=""), 1, "standard input", "empty")
    fails(unhex("explain", "-", "-", stdin="1"), 2, "arguments")


def test_a_failure_is_an_object_with_json(tmp_path):
    (tmp_path / "text").write_text("text")
    prog = compile_c(tmp_path)
    result = unhex("extract", "--json", tmp_path / "text", "-o", tmp_path / "x")
    assert result.returncode == 1
    (line,) = lines(result)
    assert line["file"] == str(tmp_path / "text") and "not an ELF" in line["error"]
    result = unhex("id", "--json", tmp_path / "text", prog)
    assert [("error" in line, line["file"]) for line in lines(result)] == [
        (True, str(tmp_path / "text")), (False, str(prog))]


@pytest.mark.parametrize("args", [("lookup", "FILE", "1"), ("explain", "FILE"), ("explain", "FILE", "1"),
                                  ("gsym", "verify", "FILE"), ("gsym", "dump", "FILE"), ("gsym", "stat", "FILE")],
                         ids=" ".join)
def test_every_verb_prints_an_object_for_a_file_that_fails(args, tmp_path):
    (tmp_path / "text").write_text("text")
    for path, words in ((tmp_path / "text", "expected"), (tmp_path / "missing", "No such file")):
        result = unhex(*(path if word == "FILE" else word for word in args), "--json")
        fails(result, 1, path, words)
        (line,) = lines(result)
        assert line["file"] == str(path) and result.stderr == f"unhex: {path}: {line['error']}\n"
