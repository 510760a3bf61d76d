# SPDX-License-Identifier: Apache-2.0
"""unhex lookup"""
import json
import os
import re
import select
import subprocess

import pytest

from tool import UNHEX, compile_c, fails, lines, stripped, symbol, unhex

CPP = r"""
#include <cstdlib>
namespace space { template <class T> __attribute__((noinline)) T twice(T x) { return x + std::atoi("1"); } }
int main(int argc, char **) { return space::twice<int>(argc); }
"""


@pytest.fixture(scope="module")
def gsym(prog):
    out = prog.with_suffix(".gsym")
    assert unhex("extract", prog, "-o", out).returncode == 0
    return out


def inlined_address(prog):
    """The first address in outer() with three frames, by a tool that is not ours."""
    start, size = symbol(prog, "outer")
    for pc in range(start, start + size):
        reported = subprocess.run(["addr2line", "-ifae", prog, hex(pc)], capture_output=True, text=True,
                              check=True).stdout.splitlines()
        if len(reported) == 7:
            return pc, reported[1::2], reported[2::2]
    raise AssertionError("no inlined call in outer()")


@pytest.mark.parametrize("source", ["prog", "gsym"])
def test_frames_are_innermost_first(source, request):
    prog = request.getfixturevalue("prog")
    pc, names, places = inlined_address(prog)
    result = unhex("lookup", request.getfixturevalue(source), hex(pc), "--json")
    assert result.returncode == 0
    (answer,) = lines(result)
    assert answer["address"] == hex(pc)
    frames = answer["frames"]
    assert [f["function"] for f in frames] == names == ["inner", "middle", "outer"]
    assert [f"{f['file']}:{f['line']}" for f in frames] == [p.split(" ")[0] for p in places]
    assert [f.get("inlined") for f in frames] == [True, True, None]


def test_text_has_a_line_a_frame(prog, gsym):
    pc, names, places = inlined_address(prog)
    text = unhex("lookup", gsym, hex(pc)).stdout.splitlines()
    places = [p.split(" ")[0] for p in places]
    assert text == [f"{hex(pc)} inner at {places[0]}",
                    f"    (inlined by) middle at {places[1]}",
                    f"    (inlined by) outer at {places[2]}"]
    only = unhex("lookup", gsym, hex(pc), "--no-inlines").stdout.splitlines()
    assert only == text[:1]


def test_addresses_are_hexadecimal_or_decimal(prog, gsym):
    pc, _, _ = inlined_address(prog)
    reported = unhex("lookup", gsym, hex(pc), str(pc), hex(pc).upper().replace("X", "x"), "--json")
    assert len({json.dumps(a) for a in lines(reported)}) == 1
    (bare,) = lines(unhex("lookup", gsym, "--hex", f"{pc:x}", "--json"))
    assert bare == lines(reported)[0]


def test_without_lines_the_distance_from_the_start_is_reported(prog):
    bare = prog.with_name("nodebug")
    subprocess.run(["strip", "-g", "-o", bare, prog], check=True)
    start, _ = symbol(prog, "outer")
    text = unhex("lookup", bare, hex(start), hex(start + 1), "--debug-dir", "").stdout
    assert text == f"{hex(start)} outer\n{hex(start + 1)} outer+0x1\n"


def test_an_address_without_symbols_is_an_empty_list_and_status_1(gsym):
    result = unhex("lookup", gsym, "0", "--json")
    assert result.returncode == 1
    assert result.stdout == '{"address":"0x0","frames":[]}\n'
    assert unhex("lookup", gsym, "0").stdout == "0x0 ??\n"


def test_names_are_demangled_by_default(tmp_path):
    path = tmp_path / "cpp"
    path.with_suffix(".cc").write_text(CPP)
    subprocess.run(["g++", "-O2", "-g", "-o", path, path.with_suffix(".cc")], check=True)
    start, _ = symbol(path, "_ZN5space5twiceIiEET_S1_")

    def name(*args):
        return lines(unhex("lookup", path, hex(start), "--json", *args))[0]["frames"][-1]["function"]
    assert name() == name("--demangle", "full") == "int space::twice<int>(int)"
    assert name("--demangle=short") == "space::twice<int>"
    assert name("--demangle=none") == "_ZN5space5twiceIiEET_S1_"


def test_the_debug_file_is_found_by_its_build_id(prog, tmp_path):
    bare, debug = stripped(prog)
    reported = lines(unhex("id", "-qj", bare))[0]["ids"][0].removeprefix("gnu:")
    place = tmp_path / "debug/.build-id" / reported[:2]
    place.mkdir(parents=True)
    (place / f"{reported[2:]}.debug").symlink_to(debug)
    pc, names, _ = inlined_address(prog)
    dirs = f"/nope:{tmp_path}/debug"
    (answer,) = lines(unhex("lookup", bare, hex(pc), "--json", "--debug-dir", dirs))
    assert [f["function"] for f in answer["frames"]] == names


def test_addresses_come_from_stdin_a_line_each(prog, gsym):
    pc, _, _ = inlined_address(prog)
    result = unhex("lookup", gsym, "--json", stdin=f"{hex(pc)}\n\n  {pc} \r\n0\n{hex(pc)}")
    assert result.returncode == 0
    assert [a["address"] for a in lines(result)] == [hex(pc), hex(pc), "0x0", hex(pc)]


def test_a_bad_line_is_answered_and_reported_and_the_run_goes_on(prog, gsym):
    pc, _, _ = inlined_address(prog)
    result = unhex("lookup", gsym, "--json", stdin=f"{pc}\nxyz\n{'9' * 100000}\n{pc}\n")
    assert result.returncode == 1
    answers = lines(result)
    assert [bool(a["frames"]) for a in answers] == [True, False, False, True]
    assert answers[1] == {"address": "xyz", "frames": [], "error": "not an address"}
    complaints = result.stderr.splitlines()
    assert len(complaints) == 2
    assert 'line 2 is "xyz"; expected an address' in complaints[0]
    assert "line 3" in complaints[1]
    odd = unhex("lookup", gsym, stdin="x\x1b[0m\n0x1\x002\n")
    assert odd.stdout == "x\\x1b[0m ??\n0x1\\x002 ??\n"
    assert 'standard input: line 2 is "0x1\\x002"; expected' in odd.stderr


def test_the_name_of_a_function_is_where_it_starts(prog, gsym):
    start, _ = symbol(prog, "outer")
    for file in (prog, gsym):
        done = unhex("lookup", file, "outer", "--json")
        assert (done.returncode, done.stdout) == (0, unhex("lookup", file, "outer+0", "--json").stdout)
        assert lines(done)[0]["address"] == hex(start)
    mixed = unhex("lookup", gsym, "--json", stdin=f"outer\nnosuch\n{start}\n")
    assert [a["address"] for a in lines(mixed)] == [hex(start), "nosuch", hex(start)]
    assert 'line 2 is "nosuch"; expected an address' in mixed.stderr
    (answer,) = lines(unhex("lookup", gsym, "nosuch", "--json"))
    assert answer == {"address": "nosuch", "frames": [], "error": "no function has this name"}
    fails(unhex("lookup", gsym, "nosuch"), 1, 'no function is named "nosuch"')
    fails(unhex("lookup", gsym, "no name"), 2, '"no name" is not an address')


def test_a_name_of_hexadecimal_digits_is_a_number_with_hex_alone(tmp_path):
    (tmp_path / "a.c").write_text("int add(int a) { return a + 1; }\nint main(void) { return add(2); }\n")
    subprocess.run(["gcc", "-g", "-O0", "-o", tmp_path / "a", tmp_path / "a.c"], check=True)
    start, _ = symbol(tmp_path / "a", "add")
    (answer,) = lines(unhex("lookup", tmp_path / "a", "add", "--json"))
    assert answer["address"] == hex(start) and answer["frames"][0]["function"] == "add"
    for words in (["add"], ["-"]):
        done = unhex("lookup", tmp_path / "a", "--hex", "--json", *words, stdin="add\n")
        assert json.loads(done.stdout)["address"] == "0xadd"
    (answer,) = lines(unhex("lookup", tmp_path / "a", "--hex", "add+0", "--json"))
    assert answer["address"] == hex(start)
    fails(unhex("lookup", tmp_path / "a", "deadbeef"), 1,
          'no function is named "deadbeef"; for the address write 0xdeadbeef or use --hex')
    fails(unhex("lookup", tmp_path / "a", "12ab"), 2, "hexadecimal with --hex")


def test_each_line_is_answered_before_the_next_is_read(prog, gsym):
    pc, _, _ = inlined_address(prog)
    with subprocess.Popen([UNHEX, "lookup", gsym, "--json"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as child:
        for ask in (pc, 0, pc):
            os.write(child.stdin.fileno(), f"{ask:#x}\n".encode())
            ready, _, _ = select.select([child.stdout], [], [], 30)
            assert ready, "no answer"
            assert json.loads(os.read(child.stdout.fileno(), 65536))["address"] == f"{ask:#x}"
        child.stdin.close()
        assert child.wait(30) == 0


def test_many_addresses_are_all_answered_in_order(prog, gsym):
    start, size = symbol(prog, "outer")
    requested = [start + i % size for i in range(200000)]
    result = unhex("lookup", gsym, "--json", stdin="".join(f"{a}\n" for a in requested))
    assert result.returncode == 0
    assert [int(a["address"], 16) for a in lines(result)] == requested


def test_a_large_batch_answers_as_single_addresses_do(prog, gsym):
    """Unknown addresses, names, bad lines and damage between them keep their places."""
    start, size = symbol(prog, "outer")
    kinds = [f"{start + i:#x}" for i in range(size)] + ["0x1", "outer+0x2", "xyz", "nosuch+1"]
    alone = {k: unhex("lookup", gsym, stdin=k + "\n").stdout for k in kinds}
    requested = [kinds[i * 7 % len(kinds)] for i in range(3000)]
    result = unhex("lookup", gsym, stdin="".join(a + "\n" for a in requested))
    assert result.stdout == "".join(alone[a] for a in requested)


def test_a_function_of_thousands_of_inlined_calls_is_looked_up_by_an_index(tmp_path):
    """Once by one, as they come: each answer is read before the next address is sent."""
    calls = 3000
    source = ("static volatile int v;\n"
              "static inline __attribute__((always_inline)) void g(int i) { v = i; }\n"
              "int main(void) {\n" + "".join(f"g({i});\n" for i in range(calls)) + "return 0; }\n")
    (tmp_path / "giant.c").write_text(source)
    prog = tmp_path / "giant"
    subprocess.run(["gcc", "-O1", "-g", "-o", prog, tmp_path / "giant.c"], check=True)
    start, size = symbol(prog, "main")
    requested = [start + i * (size // 50) for i in range(50)]
    want = lines(unhex("lookup", prog, "--json", stdin="".join(f"{a}\n" for a in requested)))
    assert sum(len(a["frames"]) == 2 for a in want) > 40
    with subprocess.Popen([UNHEX, "lookup", prog, "--json"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as child:
        got = []
        for pc in requested:
            child.stdin.write(f"{pc}\n".encode())
            child.stdin.flush()
            got.append(json.loads(child.stdout.readline()))
        child.stdin.close()
        assert child.wait(30) == 0
    assert got == want


def test_no_addresses_no_answers(gsym):
    result = unhex("lookup", gsym, stdin="")
    assert (result.returncode, result.stdout) == (0, "")


def test_a_reader_that_goes_away_is_no_crash(gsym):
    with subprocess.Popen([UNHEX, "lookup", gsym], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as child:
        child.stdout.close()
        try:
            child.stdin.write(b"0x1\n" * 1000000)
            child.stdin.close()
        except BrokenPipeError:
            pass
        assert child.wait(30) in (1, -13)


def test_a_name_that_is_neither_file_nor_id():
    fails(unhex("lookup", "./no-such-file", "1"), 1, "no-such-file", "No such file")
    fails(unhex("lookup", "gnu:xyz", "1"), 1, "gnu:xyz", "hexadecimal digits")


def test_an_id_needs_a_server():
    result = unhex("lookup", "gnu:0123456789", "1", "--url", "http://127.0.0.1:1")
    fails(result, 3, "127.0.0.1:1")


def test_a_decimal_address_that_is_hexadecimal_gets_a_hint(prog):
    main = int(lines(unhex("lookup", "--json", prog, "main+0"))[0]["address"], 16)
    digits = next(f"{a:x}" for a in range(main, main + 64) if f"{a:x}".isdigit())
    result = unhex("lookup", prog, digits)
    assert result.returncode == 1 and "??" in result.stdout
    assert "--hex" in result.stderr and f"0x{digits}" in result.stderr
    assert unhex("lookup", prog, "0x" + digits).stderr == ""
    assert "--hex" not in unhex("lookup", prog, "99999999999").stderr


def with_unit_version(path, out, version):
    """A copy whose DWARF units say that they are of another version."""
    data = bytearray(path.read_bytes())
    listed = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    offset, size = (int(v, 16) for v in re.search(r"\.debug_info +PROGBITS +\S+ +(\w+) +(\w+)", listed).groups())
    end = offset + size
    while offset < end:
        length = int.from_bytes(data[offset:offset + 4], "little")
        data[offset + 4:offset + 6] = version.to_bytes(2, "little")
        offset += 4 + length
    out.write_bytes(data)
    return out


def test_units_of_dwarf_6_are_read_and_those_of_later_versions_are_named(tmp_path):
    prog = compile_c(tmp_path, flags=("-O2", "-g", "-gdwarf-5"))
    whole = unhex("lookup", prog, "outer+0").stdout
    assert " at " in whole
    six = with_unit_version(prog, tmp_path / "six", 6)
    assert unhex("lookup", six, "outer+0").stdout == whole
    nine = with_unit_version(prog, tmp_path / "nine", 9)
    result = unhex("lookup", nine, "outer+0")
    assert " at " not in result.stdout and "outer" in result.stdout
    for text in (result.stderr, unhex("id", nine).stdout, unhex("explain", nine).stdout):
        assert "cannot read its 1 DWARF units" in text and "version of a unit is not 2 to 6" in text
    assert "version" in lines(unhex("id", "--json", nine))[0]["unread"]


def test_what_cannot_be_read_of_some_units_is_said(tmp_path):
    """A line table of a version that is not known yet, in one of two units; also on the second run."""
    (tmp_path / "other.c").write_text("int other(int x) { return x * 3; }\n")
    subprocess.run(["gcc", "-g", "-c", "other.c"], cwd=tmp_path, check=True)
    prog = compile_c(tmp_path, flags=("-O2", "-g", "-gdwarf-5", tmp_path / "other.o"))
    assert unhex("lookup", prog, "other+0", "outer+0").stderr == ""
    listed = subprocess.run(["readelf", "-SW", prog], capture_output=True, text=True, check=True).stdout
    offset = int(re.search(r"\.debug_line +PROGBITS +\S+ +(\w+)", listed)[1], 16)
    data = bytearray(prog.read_bytes())
    assert data[offset + 4:offset + 6] == b"\x05\0"
    data[offset + 4] = 6
    prog.write_bytes(data)
    damage = "1 of 2 DWARF units cannot be read in full; some of their symbols are missing; the first: " \
        "section .debug_line+0x4: line table has version 6; expected 2 to 5"
    addresses = "".join(f"other+{i}\nouter+{i}\n" for i in range(8))
    for _ in range(2):
        for result in (unhex("lookup", prog, "other+0", "outer+0"), unhex("lookup", prog, stdin=addresses),
                       unhex("disas", prog, "outer")):
            assert result.returncode == 0 and result.stderr == f"unhex: {prog}: {damage}\n"


def test_explain_takes_functions_as_lookup_does(prog, tmp_path):
    start, _ = symbol(prog, "outer")
    by_address = unhex("explain", prog, hex(start), hex(start + 4))
    by_name = unhex("explain", prog, "outer", "outer+0x4")
    assert (by_name.returncode, by_name.stderr) == (0, "")
    answers = by_address.stdout[by_address.stdout.index(f"{start:#x}\n"):]
    assert by_name.stdout.endswith(answers)
    mixed = unhex("explain", "--json", prog, "-", stdin=f"outer+4\n{start:#x}\nouter\n")
    assert [o["address"] for o in lines(mixed)[1:]] == [hex(start + 4), hex(start), hex(start)]
    # An unknown name is reported, and the rest is explained.
    done = unhex("explain", prog, "nosuch", "outer")
    fails(done, 1, prog, 'no function is named "nosuch"')
    assert done.stdout.endswith(answers[:answers.index(f"{start + 4:#x}\n")])
    fails(unhex("explain", prog, "add"), 1, 'no function is named "add"; for the address write 0xadd or use --hex')
    fails(unhex("explain", prog, "outer+"), 2, "FUNCTION+OFFSET")
    fails(unhex("explain", "gnu:" + "ab" * 20, "outer"), 2, "a server explains addresses", "unhex lookup gnu:abab")
