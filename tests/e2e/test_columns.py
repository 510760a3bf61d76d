# SPDX-License-Identifier: Apache-2.0
"""Columns, which are read from DWARF on request: against LLVM's, at every instruction."""
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys

import pytest

from test_addr2line import SOURCE
from test_llvm_symbolizer import CLANG, LLVM
from tool import ROOT, UNHEX, lines, unhex

sys.path.append(str(ROOT / "tests/oracle"))

import languages
import programs

BUILDS = {
    "gcc": ["g++", "-g"],
    "gcc-dwarf-4": ["g++", "-g", "-gdwarf-4"],
    "gcc-no-columns": ["g++", "-g", "-gno-column-info"],
    "gcc-split": ["g++", "-g", "-gsplit-dwarf"],
    "clang": [CLANG, "-g"],
    "clang-no-columns": [CLANG, "-g", "-gno-column-info"],
    "clang-split": [CLANG, "-g", "-gsplit-dwarf"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("columns")
    (made / "p.cc").write_text(SOURCE)
    return made


def program(folder, build):
    path = folder / build
    subprocess.run([*BUILDS[build], "-O1", "-std=c++17", "-o", path.name, "p.cc"], check=True, cwd=folder)
    return path


def instructions(path):
    """Addresses of all instructions of functions of the source, without the padding behind them."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "-j", ".text", path], check=True,
                          capture_output=True, text=True).stdout
    parts = [p for p in re.split(r"^[0-9a-f]+ <", text, flags=re.M) if p.startswith(("main", "_ZN4deep"))]
    found = re.findall(r"^ +([0-9a-f]+):\t(?!nop|cs nop|data16|xchg +%ax,%ax)", "\n".join(parts), re.M)
    return ["0x" + address for address in found]


def random_addresses(path, n):
    """Addresses in .text."""
    sections = subprocess.run(["readelf", "-SW", path], check=True, capture_output=True, text=True).stdout
    start, size = (int(n, 16) for n in re.search(r" \.text +\S+ +(\S+) \S+ (\S+)", sections).groups())
    chosen = random.Random(5)
    return [hex(chosen.randrange(start, start + size)) for _ in range(n)]


def symbolized(command, path, addresses, *options):
    """Frames at each address: function, file, line, column."""
    done = subprocess.run([*map(str, command), f"--obj={path}", *options], input="\n".join(addresses) + "\n",
                          capture_output=True, text=True, timeout=120, check=True, cwd=path.parent)
    found = []
    for answer in done.stdout.removesuffix("\n\n").split("\n\n"):
        lines = answer.split("\n")
        found.append([(lines[i], *lines[i + 1].rsplit(":", 2)) for i in range(0, len(lines), 2)])
    return found


def ours(path, addresses, *options):
    return symbolized([UNHEX, "llvm-symbolizer"], path, addresses, *options)


def theirs(path, addresses):
    return symbolized([LLVM / "llvm-symbolizer"], path, addresses)


@pytest.mark.parametrize("build", BUILDS)
def test_columns_are_those_of_llvm(folder, build):
    path = program(folder, build)
    addresses = instructions(path)
    expected = theirs(path, addresses)
    columns = [frame[3] for frames in expected for frame in frames]
    assert len(columns) > 25
    assert (set(columns) == {"0"}) == build.endswith("-no-columns")
    assert ours(path, addresses, "--columns") == expected


def test_columns_of_a_real_program_are_those_of_llvm():
    program_itself = pathlib.Path(UNHEX)
    addresses = random_addresses(UNHEX, 2000)
    compared = 0
    pairs = zip(ours(program_itself, addresses, "--columns"), theirs(program_itself, addresses))
    for address, (a, b) in zip(addresses, pairs):
        if [frame[:3] for frame in a] != [frame[:3] for frame in b]:
            continue  # names and lines are compared by others
        assert a == b, address
        compared += len(a)
    assert compared > 2000


def test_lookup_prints_columns_on_request(folder):
    path = program(folder, "clang")
    addresses = instructions(path)
    expected = [[(line, column) for _, _, line, column in frames] for frames in theirs(path, addresses)]
    text = unhex("lookup", path, "--columns", "--json", *addresses).stdout
    found = [json.loads(line)["frames"] for line in text.splitlines()]
    assert [[(str(f["line"]), str(f.get("column", 0))) for f in frames] for frames in found] == expected
    text = unhex("lookup", path, "--columns", addresses[0]).stdout
    assert f"p.cc:{':'.join(expected[0][0])}\n" in text
    without = unhex("lookup", path, "--json", addresses[0]).stdout
    assert '"column":' not in without


def test_a_gsym_has_no_columns_and_a_cached_one_is_not_used(folder, tmp_path):
    path = program(folder, "clang")
    gsym = tmp_path / "p.gsym"
    unhex("extract", path, "-o", gsym)
    address = instructions(path)[0]
    frames = json.loads(unhex("lookup", gsym, "--columns", "--json", address).stdout)["frames"]
    assert frames[0]["line"] > 0 and "column" not in frames[0]
    large = tmp_path / "large"
    shutil.copy(path, large)
    with large.open("ab") as f:
        f.truncate(8 << 20)  # large enough for the cache
    env = {"UNHEX_CACHE": str(tmp_path / "cache")}
    for options in [], ["--columns"], []:
        frames = json.loads(unhex("lookup", large, *options, "--json", address, env=env).stdout)["frames"]
        assert ("column" in frames[0]) == bool(options)
    assert list((tmp_path / "cache").iterdir())


def places(result):
    """Function, file, line and nesting of each frame at each address."""
    return [[(f["function"], f.get("file"), f.get("line"), f.get("inlined")) for f in answer["frames"]]
            for answer in lines(result)]


def columns_change_nothing_else(path, alone=6):
    """Files and lines are the same with and without columns, however many addresses there are."""
    addresses = random_addresses(path, 400)
    expected = places(unhex("lookup", "--json", path, stdin="\n".join(addresses)))
    assert places(unhex("lookup", "--json", "--columns", path, stdin="\n".join(addresses))) == expected
    inlined = [i for i, frames in enumerate(expected) if len(frames) > 1]
    for i in inlined[:alone]:
        for options in [], ["--columns"]:
            assert places(unhex("lookup", "--json", *options, path, addresses[i])) == [expected[i]], (path, options)
    return len(inlined)


@pytest.mark.parametrize("program", [p for p in programs.matrix() if p.level == "-O2" and p.shape in ("pie", "lto")],
                         ids=lambda p: p.name)
def test_columns_change_nothing_else(program, tmp_path):
    inlined = 0
    for options in [[]] if program.shape == "lto" else [[], ["-gno-column-info"]]:
        path = tmp_path / ("program" + "".join(options))
        subprocess.run([program.driver(), *options, *program.arguments(), "-o", path], cwd=programs.SOURCE, check=True)
        inlined += columns_change_nothing_else(path)
    assert inlined > 10


@pytest.mark.parametrize("language", [x for x in languages.LANGUAGES if x.path()], ids=lambda x: x.name)
def test_columns_of_other_languages_change_nothing_else(language, tmp_path):
    columns_change_nothing_else(languages.compiled(language, tmp_path))
