# SPDX-License-Identifier: Apache-2.0
"""unhex gsym"""
import subprocess

import pytest

from tool import UNHEX, fails, lines, symbol, unhex


@pytest.fixture(scope="module")
def gsym(prog):
    out = prog.with_suffix(".gsym")
    assert unhex("extract", prog, "-o", out).returncode == 0
    return out


def test_what_extract_writes_is_valid(gsym):
    result = unhex("gsym", "verify", gsym)
    assert result.returncode == 0
    assert result.stdout.startswith(f"{gsym}: valid, ")
    (reported,) = lines(unhex("gsym", "verify", "--json", gsym))
    assert reported["file"] == str(gsym) and reported["valid"] is True


def test_a_byte_that_is_wrong_is_named(gsym, tmp_path):
    data = bytearray(gsym.read_bytes())
    segments = 16 + 24 * int.from_bytes(data[-16:-12], "little")
    data[-segments - 1] ^= 0xff  # of the last record
    bad = tmp_path / "bad.gsym"
    bad.write_bytes(data)
    fails(unhex("gsym", "verify", bad), 1, bad)
    both = unhex("gsym", "verify", bad, gsym)
    assert both.returncode == 1
    assert str(gsym) in both.stdout
    assert both.stderr.splitlines()[-1] == "unhex: 1 of 2 files failed"


def test_dump_names_each_function_with_its_lines_and_calls(prog, gsym):
    start, size = symbol(prog, "outer")
    text = unhex("gsym", "dump", gsym).stdout
    assert f"function {start:#x}-{start + size:#x} outer\n" in text
    (f,) = [f for f in lines(unhex("gsym", "dump", "--json", gsym)) if f["function"] == "outer"]
    assert (f["address"], f["size"]) == (hex(start), size)
    assert f["lines"][0]["file"] == f"{prog}.c"
    assert {"middle", "inner"} <= {i["function"] for i in f["inlines"]}
    source = (prog.parent / "prog.c").read_text().splitlines()
    for call in f["inlines"]:
        assert call["function"] in source[call["call_line"] - 1]
        for low, high in call["ranges"]:
            assert start <= int(low, 16) < int(high, 16) <= start + size


def test_stat_adds_up_to_the_file(prog, gsym):
    (reported,) = lines(unhex("gsym", "stat", "--json", gsym))
    assert reported["size"] == sum(reported["parts"].values()) == gsym.stat().st_size
    assert reported["version"] == 1
    (ids,) = lines(unhex("id", "--json", prog))
    assert "gnu:" + reported["uuid"] == ids["ids"][0]
    assert reported["counts"] == ids["counts"]
    assert f"  {reported['size']} bytes\n" in unhex("gsym", "stat", gsym).stdout


def test_llvm_reads_what_we_write(gsym, prog):
    start, _ = symbol(prog, "outer")
    reported = subprocess.run(["llvm-gsymutil-19", f"--address={start:#x}", gsym], check=True,
                          capture_output=True, text=True).stdout
    assert "outer" in reported and "prog.c" in reported


@pytest.mark.parametrize("verb", ["verify", "dump", "stat"])
def test_a_file_that_is_no_gsym(verb, prog):
    fails(unhex("gsym", verb, prog), 1, prog, "GSYM")


def test_a_dash_is_standard_input(gsym):
    for verb in ("verify", "stat", "dump"):
        piped = subprocess.run([UNHEX, "gsym", verb, "-", "--json"], stdin=gsym.open("rb"), capture_output=True,
                               text=True, check=True)
        assert piped.stdout.replace('"file":"-"', f'"file":"{gsym}"') == unhex("gsym", verb, gsym, "--json").stdout


def test_verbs_are_needed(gsym):
    fails(unhex("gsym"), 2, "verify, dump or stat")
    fails(unhex("gsym", "frob", gsym), 2, "verify, dump or stat")
    fails(unhex("gsym", "stat"), 2, "no file")
