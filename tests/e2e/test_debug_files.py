# SPDX-License-Identifier: Apache-2.0
"""Separate debug files: found where gdb finds them, and nowhere else."""
import json
import re
import shutil
import subprocess
import zlib

import pytest

from tool import SOURCE, build_id, compile_c, fails, lines, symbol, unhex


def run(*args, **more):
    return subprocess.run([str(a) for a in args], check=True, capture_output=True, text=True,
                          **more).stdout


def without_symbols(prog, folder):
    """A stripped copy that says nothing of a debug file."""
    run("strip", "-o", folder / "bare", prog)
    return folder / "bare"


def linked(prog, folder, name="bin"):
    """A stripped copy with a link to bin.debug, which lies beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    bare, debug = folder / name, folder / f"{name}.debug"
    run("objcopy", "--only-keep-debug", prog, debug)
    run("strip", "-o", bare, prog)
    run("objcopy", f"--add-gnu-debuglink={debug.name}", bare, cwd=folder)
    return bare, debug


def in_tree(folder, prog, debug):
    """Puts a debug file into a .build-id tree."""
    hexid = build_id(prog).removeprefix("gnu:")
    place = folder / ".build-id" / hexid[:2] / f"{hexid[2:]}.debug"
    place.parent.mkdir(parents=True)
    shutil.copy(debug, place)
    return place


def frames(path, prog, *options):
    start, size = symbol(prog, "outer")
    out = unhex("lookup", path, "--json", "--demangle", "none", *options,
                stdin="".join(f"{a:#x}\n" for a in range(start, start + size)))
    return [o["frames"] for o in lines(out)]


def gdb_reads(path, *commands):
    """The debug file that gdb takes."""
    out = subprocess.run(["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off",
                          *[w for c in commands for w in ("-iex", c)], "-ex",
                          "python [print(o.filename) for o in gdb.objfiles()]", path],
                         capture_output=True, text=True, check=True).stdout
    found = {line for line in out.splitlines() if line.startswith("/")} - {str(path)}
    assert len(found) <= 1
    return found.pop() if found else None


def test_a_link_is_followed_to_the_folder_of_the_binary(prog, tmp_path):
    bare, debug = linked(prog, tmp_path)
    assert frames(bare, prog) == frames(prog, prog)
    assert gdb_reads(bare) == str(debug)
    (debug.parent / ".debug").mkdir()
    debug.rename(debug.parent / ".debug" / debug.name)
    assert frames(bare, prog) == frames(prog, prog)
    assert gdb_reads(bare) == str(debug.parent / ".debug" / debug.name)


def test_a_link_is_followed_below_the_folders_of_debug_files(prog, tmp_path):
    bare, debug = linked(prog, tmp_path / "usr/bin")
    place = tmp_path / "dbg" / str(bare.parent).lstrip("/")
    place.mkdir(parents=True)
    debug.rename(place / debug.name)
    option = ["--debug-dir", tmp_path / "none", "--debug-dir", tmp_path / "dbg"]
    assert frames(bare, prog, *option) == frames(prog, prog)
    assert not any(len(f) > 1 for f in frames(bare, prog))
    assert gdb_reads(bare, f"set debug-file-directory {tmp_path}/dbg") == str(place / debug.name)


def test_a_named_folder_has_the_file_itself(prog, tmp_path):
    bare, debug = linked(prog, tmp_path / "usr/bin")
    (tmp_path / "dbg").mkdir()
    place = debug.rename(tmp_path / "dbg" / debug.name)
    assert frames(bare, prog, "--debug-dir", tmp_path / "dbg") == frames(prog, prog)
    place.write_bytes(place.read_bytes() + b"x")
    tried = lines(unhex("explain", bare, "--debug-dir", tmp_path / "dbg", "--json"))[0]["tried"]
    assert {"path": str(place), "outcome": "has a different CRC"} in tried
    # Without a link, the file of that name must have the build ID.
    run("strip", "-R", ".gnu_debuglink", bare)
    assert frames(bare, prog, "--debug-dir", tmp_path / "dbg") == frames(prog, prog)
    other = compile_c(tmp_path, "other", SOURCE.replace("atoi(\"7\")", "atoi(\"8\")"))
    shutil.copy(other, place)
    tried = lines(unhex("explain", bare, "--debug-dir", tmp_path / "dbg", "--json"))[0]["tried"]
    assert {"path": str(place), "outcome": "has a different build ID"} in tried


def test_the_systems_folder_is_searched_after_the_named_ones(prog, tmp_path):
    bare = without_symbols(prog, tmp_path)
    hexid = build_id(prog).removeprefix("gnu:")
    last = f"/.build-id/{hexid[:2]}/{hexid[2:]}.debug"

    def roots(*options):
        tried = lines(unhex("explain", bare, "--json", *options))[0]["tried"]
        return [t["path"].removesuffix(last) for t in tried if t["path"].endswith(last)]

    system, mine = "/usr/lib/debug", str(tmp_path)
    assert roots() == [system]
    assert roots("--debug-dir", mine) == [mine, system]
    assert roots("--debug-dir", mine, "--debug-dir", "") == [mine]
    assert roots("--debug-dir", system, "--debug-dir", mine) == [system, mine]
    assert roots("--debug-dir", "") == []


def test_a_folder_that_does_not_exist_gets_a_warning(prog, tmp_path):
    bare = without_symbols(prog, tmp_path)
    for name in (tmp_path / "nodir", bare):
        done = unhex("id", bare, "--debug-dir", name)
        fails(done, 0, f"--debug-dir {name} is not a folder; it is left out")
    assert unhex("id", bare, "--debug-dir", tmp_path, "--debug-dir", "").stderr == ""


def test_a_link_counts_from_where_the_binary_really_is(prog, tmp_path):
    bare, _ = linked(prog, tmp_path / "real")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/alias").symlink_to(bare)
    assert frames(tmp_path / "bin/alias", prog) == frames(prog, prog)


def test_the_tree_of_build_ids_comes_first(prog, tmp_path):
    bare, debug = linked(prog, tmp_path)
    place = in_tree(tmp_path / "tree", prog, debug)
    (reported,) = lines(unhex("id", "--json", bare, "--debug-dir", tmp_path / "tree"))
    assert reported["quality"] in ("none", "dynsym")
    assert reported["debug_file"]["file"] == str(place)
    assert reported["debug_file"]["found"] == "build-id"
    assert reported["debug_file"]["quality"] == "inlines"
    assert gdb_reads(bare, f"set debug-file-directory {tmp_path}/tree") == str(place)


def test_a_debug_file_of_another_build_is_passed_over(prog, tmp_path):
    bare = without_symbols(prog, tmp_path)
    other = compile_c(tmp_path, "other", SOURCE.replace("atoi(\"7\")", "atoi(\"8\")"))
    place = in_tree(tmp_path / "tree", bare, other)
    run_of = unhex("explain", bare, "--debug-dir", tmp_path / "tree", "--json")
    assert run_of.returncode == 0, run_of.stderr
    reported = lines(run_of)[0]
    assert reported["tried"][0] == {"path": str(place), "outcome": "has a different build ID"}
    assert {t["outcome"] for t in reported["tried"][1:]} == {"does not exist"}
    assert "debug_file" not in reported


@pytest.mark.parametrize("how", ["crc", "missing", "itself"])
def test_a_link_that_means_no_debug_file_of_it_is_reported(prog, tmp_path, how):
    bare, debug = linked(prog, tmp_path)
    if how == "crc":
        debug.write_bytes(debug.read_bytes() + b"x")
        why = "has a different CRC"
    elif how == "missing":
        debug.unlink()
        why = "does not exist"
    else:
        run("strip", "-R", ".gnu_debuglink", bare)
        run("objcopy", "--add-gnu-debuglink=bin", bare, cwd=tmp_path)
        why = "is the file itself"
        debug = bare
    reported = lines(unhex("explain", bare, "--json"))[0]
    assert {"path": str(debug), "outcome": why} in reported["tried"]
    assert "debug_file" not in reported
    assert gdb_reads(bare) is None


@pytest.mark.parametrize("length", range(1, 5))
def test_names_of_any_length_have_their_crc_behind_the_padding(prog, tmp_path, length):
    bare, debug = linked(prog, tmp_path)
    name = "d" * length
    debug = debug.rename(tmp_path / name)
    run("strip", "-R", ".gnu_debuglink", bare)
    run("objcopy", f"--add-gnu-debuglink={name}", bare, cwd=tmp_path)
    run("objcopy", "-O", "binary", "--only-section=.gnu_debuglink",
        "--set-section-flags", ".gnu_debuglink=alloc", bare, tmp_path / "link")
    link = (tmp_path / "link").read_bytes()
    assert int.from_bytes(link[-4:], "little") == zlib.crc32(debug.read_bytes())
    assert frames(bare, prog) == frames(prog, prog)


def test_extract_takes_the_debug_file_by_default(prog, tmp_path):
    bare, _ = linked(prog, tmp_path)
    reported = lines(unhex("extract", bare, "-o", tmp_path / "a.gsym", "--json"))[0]
    assert reported["quality"] == "inlines"
    reported = lines(unhex("extract", bare, "-o", tmp_path / "b.gsym", "--json", "--debug-dir", ""))[0]
    assert reported["quality"] in ("none", "dynsym")


def test_explain_tells_who_said_what_and_who_is_believed(prog):
    start, _ = symbol(prog, "outer")
    run_of = unhex("explain", prog, hex(start), "0x1", "--json")
    assert run_of.returncode == 1  # nothing is at 0x1
    _, known, unknown = lines(run_of)
    assert known["frames"] == lines(unhex("lookup", prog, hex(start), "--json"))[0]["frames"]
    assert (known["name_from"], known["line_from"]) == ("dwarf", "dwarf")
    said = {s["source"]: s for s in known["sources"]}
    assert said["dwarf"]["frames"] == known["frames"]
    assert said["symtab"]["frames"] == [{"function": "outer"}]
    assert said["bounds"]["frames"] == [{"function": "<no name>"}]
    assert said["gnu_debugdata"]["status"] == "not in the file"
    assert said["plt"]["status"] == "nothing here"
    assert unknown["frames"] == [] and unknown["why"] == "no source knows the address"
    text = unhex("explain", prog, hex(start)).stdout
    assert re.search(r"^  symtab +outer$", text, re.M)
    assert re.search(r"^  chosen +outer at .*prog.c:\d+$", text, re.M)
    assert re.search(r"^  because +dwarf: debug information has the function", text, re.M)


def test_explain_says_of_a_symbol_table_that_it_names_no_functions(tmp_path):
    """A program's .dynsym has what it imports, and .symtab may be what strip left of it."""
    prog = compile_c(tmp_path)
    start, _ = symbol(prog, "outer")
    subprocess.run(["strip", prog], check=True)
    said = {s["source"]: s for s in lines(unhex("explain", "--json", prog, hex(start)))[1]["sources"]}
    assert said["dynsym"]["status"] == "imports only, defines no functions"
    assert said["symtab"]["status"] == "not in the file"
    assert re.search("^  dynsym +imports only, defines no functions$", unhex("explain", prog, hex(start)).stdout, re.M)
    subprocess.run(["gcc", "-shared", "-nostdlib", "-o", tmp_path / "exports.so", "-x", "c", "-"], check=True, text=True,
                   input="int f(int x) { return x; }\nint g(int x) { return x + 1; }\n")
    subprocess.run(["strip", "--keep-symbol=nosuch", tmp_path / "exports.so"], check=True)
    said = {s["source"]: s for s in lines(unhex("explain", "--json", tmp_path / "exports.so", "f"))[1]["sources"]}
    assert said["dynsym"]["frames"] == [{"function": "f"}]


def test_explain_says_of_stubs_and_of_nameless_functions_why(prog, tmp_path):
    bare = without_symbols(prog, tmp_path)
    stubs = re.findall(r"^0*([0-9a-f]+) <(atoi|strtol)@plt>:$", run("objdump", "-d", bare), re.M)
    start, _ = symbol(prog, "outer")
    reported = lines(unhex("explain", bare, "0x" + stubs[0][0], hex(start), "--json"))
    assert [t["frames"][0]["function"] for t in reported[1:]] == [f"{stubs[0][1]}@plt", "<no name>"]
    assert [t["name_from"] for t in reported[1:]] == ["plt", "bounds"]


def test_what_cannot_be_explained(tmp_path):
    (tmp_path / "text").write_text("hello\n")
    fails(unhex("explain", tmp_path / "text"), 1, "not an ELF")
    fails(unhex("explain"), 2, "no file given")
    fails(unhex("explain", tmp_path / "text", "xyz+"), 2, "not an address")


def test_quality_counts_equal_those_of_the_gsym(prog, tmp_path):
    reported = lines(unhex("id", "--json", prog))[0]
    unhex("extract", prog, "-o", tmp_path / "p.gsym")
    stat = json.loads(unhex("gsym", "stat", "--json", tmp_path / "p.gsym").stdout)
    assert stat["counts"] == reported["counts"]
    assert 0 < reported["counts"]["code_bytes"] <= reported["text_bytes"]
    found = {s["source"]: s["found"] for s in reported["sources"]}
    assert {"dwarf", "symtab", "plt"} <= found.keys()
