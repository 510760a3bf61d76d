# SPDX-License-Identifier: Apache-2.0
"""What the newest LLVM says of our GSYM files, and we of its. Collected where tools/peers.sh has
unpacked one; test_gsym_v2.py holds version 2 to the format without it."""
import re
import subprocess

import pytest

from test_gsym_v2 import ALIASES, SHA256, extract
from tool import ROOT, build_id, compile_c, lines, symbol, unhex

PEER = ROOT / ".peers/llvm/bin/llvm-gsymutil"


@pytest.fixture(scope="module")
def aliased(tmp_path_factory):
    return compile_c(tmp_path_factory.mktemp("llvm-aliases"), source=ALIASES)


def gsymutil(*args, stdin=None):
    """Standard output of the peer."""
    run = subprocess.run([PEER, *map(str, args)], input=stdin, check=True, capture_output=True,
                         text=True)
    return run.stdout


@pytest.mark.parametrize("options", [[], ["--alternatives"]])
def test_both_versions_are_read_alike(options, prog):
    start, size = symbol(prog, "outer")
    pcs = range(start - 1, start + size + 1)
    reported, dumped = [], []
    for version in (1, 2):
        path = extract(prog, f"v{version}{len(options)}", f"--gsym-version={version}", *options)
        run = gsymutil("--addresses-from-stdin",
                       stdin="".join(f"{pc:#x} {path}\n" for pc in pcs))
        reported.append(run)
        text = gsymutil(path)
        assert "error" not in text.lower()
        dumped.append([line.split(": ", 1)[1] if line.startswith("FunctionInfo @") else line
                       for line in text[text.index("FunctionInfo @"):].splitlines()])
    assert "inner" in reported[0] and reported[0] == reported[1]
    assert dumped[0] == dumped[1]


@pytest.mark.parametrize("flag", ["--build-id", f"--build-id={SHA256}"])
def test_its_version_2_is_read(flag, tmp_path):
    prog = compile_c(tmp_path, flags=("-O2", "-g"))
    subprocess.run(["gcc", "-O2", "-g", f"-Wl,{flag}", "-o", prog, f"{prog}.c"], check=True)
    path = tmp_path / "theirs.gsym"
    gsymutil(f"--convert={prog}", "--output-version=2", "-o", path)
    assert unhex("gsym", "verify", path).returncode == 0
    (reported,) = lines(unhex("gsym", "stat", "--json", path))
    assert "gnu:" + reported["uuid"] == build_id(prog) and reported["version"] == 2
    assert reported["size"] == sum(reported["parts"].values())
    start, size = symbol(prog, "outer")
    for pc in range(start, start + size, 4):
        (answer,) = lines(unhex("lookup", path, hex(pc), "--json", "--demangle=none"))
        text = gsymutil(f"--address={pc:#x}", path)
        theirs = re.findall(r"(?:^0x\w+: |^ +)(\S+)(?: \+ \d+)? @ (\S+)", text, re.MULTILINE)
        assert [(f["function"], f"{f['file']}:{f['line']}") for f in answer["frames"]] == theirs


def test_alternatives_are_merged_functions(aliased):
    start, _ = symbol(aliased, "plain")
    for version in (1, 2):
        path = extract(aliased, f"merged{version}", "--alternatives", f"--gsym-version={version}")
        plain = gsymutil(f"--address={start:#x}", path)
        assert "plain" in plain and "other" not in plain
        assert "other" in gsymutil("--merged-functions", f"--address={start:#x}", path)
