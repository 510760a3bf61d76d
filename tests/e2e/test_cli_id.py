# SPDX-License-Identifier: Apache-2.0
"""unhex id"""
import hashlib
import re
import subprocess

import pytest

from tool import ROOT, compile_c, fails, lines, stripped, unhex


def file_id(path):
    data = path.read_bytes()
    text = data[:4096] + data[-4096:] + len(data).to_bytes(8, "big")
    return "file:" + hashlib.sha256(text).hexdigest()[:32]


def gnu_id(path):
    notes = subprocess.run(["readelf", "-n", path], check=True, capture_output=True, text=True)
    return "gnu:" + re.search(r"Build ID: (\w+)", notes.stdout)[1]


def test_ids_and_measured_symbols(prog):
    result = unhex("id", "--json", prog)
    assert result.returncode == 0
    (reported,) = lines(result)
    assert reported["file"] == str(prog)
    assert reported["ids"] == [gnu_id(prog), file_id(prog)]
    assert reported["quality"] == "inlines"
    counts = reported["counts"]
    assert counts["functions"] >= 2 and counts["inlines"] >= 2 and counts["rows"] >= 3
    assert counts["code_bytes"] >= counts["line_bytes"] > 0


def test_text_has_an_id_a_line(prog):
    text = unhex("id", prog).stdout.splitlines()
    assert text[0] == str(prog)
    assert text[1:3] == [f"  {gnu_id(prog)}", f"  {file_id(prog)}"]
    assert re.fullmatch(r"  symbols: inlines, \d+ functions, \d+ lines, \d+ inlined calls", text[3])


def test_quick_tells_identities_only(prog):
    (reported,) = lines(unhex("id", "-qj", prog))
    assert set(reported) == {"file", "ids"}


def test_a_stripped_file_has_another_file_id_and_no_lines(prog):
    bare, debug = stripped(prog)
    reported = lines(unhex("id", "--json", bare, debug))
    assert reported[0]["ids"][0] == reported[1]["ids"][0] == gnu_id(prog)
    assert reported[0]["ids"][1] == file_id(bare) != file_id(prog)
    assert reported[0]["quality"] in ("none", "dynsym")
    assert reported[1]["quality"] == "inlines"


@pytest.mark.parametrize("name", ["code-32", "code-32-big", "code-64-big"])
def test_other_classes_and_byte_orders(name):
    path = ROOT / "fuzz/corpus/elf" / name
    result = unhex("id", "--json", path)
    assert result.returncode == 0
    (reported,) = lines(result)
    assert file_id(path) in reported["ids"]
    assert reported["quality"] == "symtab"
    assert reported["counts"]["functions"] > 0


def test_a_bad_file_among_good_ones_is_reported_and_the_run_goes_on(prog, tmp_path):
    text = tmp_path / "text"
    text.write_text("#!/bin/sh\n")
    result = unhex("id", "--json", prog, text, prog)
    assert result.returncode == 1
    assert ["error" in line for line in lines(result)] == [False, True, False]
    complaint, summary = result.stderr.splitlines()
    assert str(text) in complaint
    assert summary == "unhex: 1 of 3 files failed"


def test_a_missing_file(tmp_path):
    fails(unhex("id", tmp_path / "gone"), 1, "gone", "No such file")


def test_a_core_dump_lists_its_modules(tmp_path):
    prog = compile_c(tmp_path, source="int main(void) { __builtin_trap(); }\n")
    subprocess.run(["gdb", "-q", "-batch", "-ex", "run", "-ex", f"generate-core-file {tmp_path}/core", prog],
                   check=True, capture_output=True)
    (core,) = lines(unhex("id", "--json", tmp_path / "core"))
    assert core["kind"] == "core"
    ours = {m["ids"][0].split(":")[1]: m for m in core["modules"] if m["ids"]}
    listed = subprocess.run(["eu-unstrip", "-n", "--core", tmp_path / "core"], check=True, capture_output=True,
                            text=True).stdout
    theirs = {}
    for line in listed.splitlines():
        where, build_id, *_, name = line.split()
        if not name.startswith(("linux-vdso", "[vdso")):  # memory of the kernel: no file was mapped
            theirs[build_id.split("@")[0]] = where.split("+")[0]
    assert {i: m["start"] for i, m in ours.items()} == theirs
    assert any(m["file"] == str(prog) for m in ours.values())
    text = unhex("id", tmp_path / "core").stdout
    assert all(f"{m['file']} gnu:{i}" in text for i, m in ours.items())
    for command in ("lookup", "explain", "extract", "flame", "top"):
        fails(unhex(command, tmp_path / "core"), 1, "core dump", "unhex symbolize names its stacks")


@pytest.mark.parametrize("content,words", [
    (b"PK\3\4" + bytes(60), "ZIP archive"),
    (b"MZ" + bytes(60), "Windows program"),
    (b"MZ" + bytes(0x200) + b"HdrS" + bytes(60), "compressed kernel image; its symbols are in vmlinux"),
    (b"MZ\0\0zimg" + bytes(60), "compressed kernel image; its symbols are in vmlinux"),
    (b"MZ" + bytes(54) + b"ARM\x64" + bytes(60), "kernel image without symbols; its symbols are in vmlinux"),
    (b"!<arch>\ndebian-binary   ", "Debian package"),
    (b"!<arch>\nx.o/            ", "static library"),
    (bytes(257) + b"ustar" + bytes(250), "tar archive"),
    (b"\0asm\1\0\0\0", "WebAssembly"),
    (b"#!/bin/sh\n", "script"),
    (b"", "empty"),
])
def test_files_of_other_kinds_are_named(tmp_path, content, words):
    (tmp_path / "file").write_bytes(content)
    for command in (["id"], ["extract"], ["lookup"], ["explain"]):
        fails(unhex(*command, tmp_path / "file"), 1, words)
