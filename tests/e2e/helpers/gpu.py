# SPDX-License-Identifier: Apache-2.0
"""What tests of real GPU code share: a toolkit's compilers, CUPTI and nvdisasm, and as much of an ELF file as a
comparison needs."""
import os
import re
import shutil
import struct
import subprocess

import pytest

from tool import ROOT, cuda_toolkit, lines, unhex

TOOLKIT = cuda_toolkit()
KERNELS = ROOT / "tests/e2e/kernels"
CUPTI = next(iter(sorted(TOOLKIT.glob("**/libcupti.so.1*"))), None)
NVDISASM = shutil.which("nvdisasm", path=f"{TOOLKIT}/bin:{os.environ['PATH']}")
FUNC = 2


def tool(name, *args):
    """One of the toolkit's compilers."""
    made = subprocess.run([TOOLKIT / "bin" / name, *map(str, args)], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr


def nvcc(*args):
    tool("nvcc", *args)


@pytest.fixture(scope="module")
def cupti(tmp_path_factory):
    program = tmp_path_factory.mktemp("cupti") / "cupti_lines"
    subprocess.run(["g++", "-O1", f"-I{TOOLKIT}/include", "-o", program,
                    ROOT / "tests/oracle/cupti_lines.cpp", "-ldl"], check=True)

    def ask(what, *args, stdin=None):
        return subprocess.run([program, CUPTI, what, *map(str, args)], input=stdin, check=True,
                              capture_output=True, text=True).stdout.splitlines()
    return ask


class Cubin:
    """As much of an ELF file as a comparison needs."""

    def __init__(self, path):
        data = path.read_bytes()
        table, = struct.unpack_from("<Q", data, 40)
        count, names = struct.unpack_from("<HH", data, 60)
        raw = [struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * i) for i in range(count)]

        def text(at):
            return data[at:data.index(b"\0", at)].decode()
        self.off = {text(raw[names][4] + s[0]): s[4] for s in raw}
        symtab = next(s for s in raw if text(raw[names][4] + s[0]) == ".symtab")
        self.functions = []
        for at in range(symtab[4], symtab[4] + symtab[5], 24):
            name, info, _, section, value, size = struct.unpack_from("<IBBHQQ", data, at)
            if info & 15 == FUNC and section < count:
                self.functions.append((text(raw[symtab[6]][4] + name), raw[section][4] + value, size))


def requested(path, addresses):
    result = unhex("lookup", "--json", "--demangle", "none", path,
                   stdin="\n".join(map(hex, addresses)) + "\n")
    return [answer["frames"] for answer in lines(result)]


def places_of(path):
    """(function, its place in the file, offset) of each instruction. A kernel's range covers the functions
    inside of it, which CUPTI does not know by name."""
    return [(name, start, off) for name, start, size in Cubin(path).functions
            if not name.startswith("$") for off in range(0, size, 16)]


def agree_with_cupti(path, cupti, is_theirs=lambda frame: True):
    """Compares each instruction: how many there are, and how many of those with a line are inlined."""
    places = places_of(path)
    theirs = cupti("lines", path, stdin="".join(f"{n} {o}\n" for n, _, o in places))
    ours = requested(path, [start + off for _, start, off in places])
    assert len(theirs) == len(ours) == len(places)
    inlined = 0
    for place, line, frames in zip(places, theirs, ours):
        directory, file, number = line.split("\t") if line != "-" else ("", "", "0")
        mine = (frames[0].get("file", ""), frames[0].get("line", 0)) if frames else ("", 0)
        if frames and not is_theirs(frames[0]):
            assert number == "0", (path.name, place, line)
        elif number == "0":
            assert mine[1] == 0, (path.name, place, mine)
        else:
            assert mine == (f"{directory}/{file}" if directory else file, int(number)), (path.name, place)
            inlined += len(frames) > 1
    return len(places), inlined


def disassembled(path, option):
    """Lines of nvdisasm."""
    return subprocess.run([NVDISASM, option, path],
                          capture_output=True).stdout.decode("latin-1").splitlines()
