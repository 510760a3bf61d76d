# SPDX-License-Identifier: Apache-2.0
"""GPU code that nvcc makes of tests/e2e/kernels, instruction by instruction against CUPTI, and against
nvdisasm where that is installed. No GPU is needed. Only there where a CUDA toolkit is (conftest.py)."""
import json
import pathlib
import re

import pytest

from gpu import (KERNELS, NVDISASM, TOOLKIT, Cubin, agree_with_cupti, requested, cupti,  # noqa: F401
                 disassembled, nvcc)
from tool import lines, unhex

LIBRARIES = [p for p in (TOOLKIT / "lib64/libcurand.so.10", TOOLKIT / "lib64/libcublas.so.13")
             if p.exists()]
ARCHS = ["sm_80", "sm_90"]


@pytest.fixture(scope="module")
def cubins(tmp_path_factory):
    """Each way to compile, for each GPU."""
    into = tmp_path_factory.mktemp("cubins")
    for arch in ARCHS:
        for source in ("chains", "reduce"):
            for kind, flags in {"lines": ["-lineinfo"], "debug": ["-G"], "plain": [],
                                "parts": ["-lineinfo", "-dc"]}.items():
                nvcc(f"-arch={arch}", *flags, "-cubin", "-o", into / f"{source}.{arch}.{kind}.cubin",
                     KERNELS / f"{source}.cu")
        for kind, far, near in (("linked", "-lineinfo", "-lineinfo"), ("mixed", "-G", "-lineinfo")):
            objects = []
            for source, flag in (("far", far), ("near", near)):
                objects.append(into / f"{source}.{arch}.{kind}.o")
                nvcc(f"-arch={arch}", flag, "-dc", "-o", objects[-1], KERNELS / f"{source}.cu")
            nvcc(f"-arch={arch}", "-lineinfo", "-dlink", "-cubin", "-o",
                 into / f"far.{arch}.{kind}.cubin", *objects)
    return sorted(into.glob("*.cubin"))


def test_every_instruction_is_where_cupti_says(cubins, cupti):
    compared = inlined = 0
    for path in cubins:
        # Some functions of -G have no lines, and then their PTX's: CUPTI knows of none.
        places, deep = agree_with_cupti(path, cupti, is_theirs=lambda f: "ptx_txt" not in f.get("file", ""))
        compared, inlined = compared + places, inlined + deep
    print(f"{len(cubins)} cubins, {compared} instructions, {inlined} in inlined calls: all agree")
    assert compared > 10000 and inlined > 2000


def printed_chains(path):
    """(section, offset) to [(file, line), ...], innermost first, where nvdisasm prints it."""
    section = chain = None
    open_chain = fresh = False
    found = {}
    for line in disassembled(path, "-gi"):
        if match := re.match(r"(\.text\.\S+):$", line):
            section, chain, fresh = match[1], [], False
        elif re.match(r"\t?\.section\s+\.(?!text)", line):
            section = None
        elif match := re.match(r'\s*//## File "([^"]*)", line (\d+)(?: inlined at "([^"]*)", line (\d+))?',
                               line):
            here = (match[1], int(match[2]))
            chain = chain if open_chain and chain and chain[-1] == here else [here]
            open_chain = match[3] is not None
            if open_chain:
                chain.append((match[3], int(match[4])))
            fresh = True
        elif (match := re.match(r"\s+/\*([0-9a-f]{4,})\*/\s", line)) and section:
            if fresh:
                found[section, int(match[1], 16)] = chain
            open_chain = fresh = False
    return found


if NVDISASM:
    def test_chains_are_those_that_nvdisasm_prints(cubins):
        compared = inlined = 0
        for path in (p for p in cubins if ".debug." not in p.name and ".mixed." not in p.name):
            expected = printed_chains(path)
            off = Cubin(path).off
            for place, frames in zip(expected, requested(path, [off[s] + o for s, o in expected])):
                chain = [(f.get("file", ""), f.get("line", 0)) for f in frames]
                assert chain == expected[place], (path.name, place)
                compared += 1
                inlined += len(chain) > 1
        assert compared > 500 and inlined > 300


def test_functions_inside_of_kernels_have_their_own_names(cubins):
    path = next(p for p in cubins if p.name == "chains.sm_80.lines.cubin")
    inside = [(n, start) for n, start, _ in Cubin(path).functions if n.startswith("$")]
    assert inside
    for (name, _), frames in zip(inside, requested(path, [start for _, start in inside])):
        assert frames[-1]["function"] == name.split("$", 2)[2]


def test_numbers_are_those_of_cupti(cubins, cupti, tmp_path):
    """Also of files cut short, whose sizes are no multiples of anything."""
    paths = list(cubins)
    for i, path in enumerate(cubins):
        cut = tmp_path / f"{i}.cubin"
        cut.write_bytes(path.read_bytes() + bytes(i * 37 % 101))
        paths.append(cut)
    assert len(paths) >= 40
    ours = [reported["ids"][-1] for reported in lines(unhex("id", "--quick", "--json", *paths))]
    assert ours == [f"cubin-crc:{int(crc, 16):08x}" for crc in cupti("crc", *paths)]


@pytest.mark.parametrize("mode", ["default", "size", "speed", "balance", "none"])
def test_fat_binaries_of_every_compression(tmp_path, mode):
    fat = tmp_path / "k.fatbin"
    nvcc(f"--compress-mode={mode}", "-lineinfo", "-gencode", "arch=compute_80,code=sm_80", "-gencode",
         "arch=compute_90,code=sm_90", "-gencode", "arch=compute_90,code=compute_90", "-fatbin", "-o",
         fat, KERNELS / "chains.cu")
    _, *pieces = lines(unhex("id", "--json", fat))
    assert sorted((p["arch"], p["kind"]) for p in pieces) == [
        ("compute_90", "ptx"), ("sm_80", "cubin"), ("sm_90", "cubin")]
    for arch in ("sm_80", "sm_90"):
        cubin = tmp_path / f"{arch}.cubin"
        nvcc(f"-arch={arch}", "-lineinfo", "-cubin", "-o", cubin, KERNELS / "chains.cu")
        (alone,) = lines(unhex("id", "--json", cubin))
        piece = next(p for p in pieces if p["arch"] == arch)
        assert piece["quality"] == "inlines" and piece["counts"] == alone["counts"]
        out = unhex("lookup", "--json", fat, "--gpu", arch, "_Z5scaleIiLi3EEvPT_+0x90").stdout
        assert json.loads(out)["frames"]
        assert out == unhex("lookup", "--json", cubin, "_Z5scaleIiLi3EEvPT_+0x90").stdout


def test_a_host_program_with_separate_compilation(tmp_path):
    program = tmp_path / "program"
    nvcc("-arch=sm_80", "-lineinfo", "-rdc=true", "-o", program, KERNELS / "near.cu",
         KERNELS / "far.cu")
    result = unhex("lookup", "--json", "--demangle", "none", program, "--gpu", "1", "_Z4nearPf+0")
    (answer,) = lines(result)
    assert answer["frames"][-1]["function"] == "_Z4nearPf"
    assert pathlib.Path(answer["frames"][-1]["file"]).name == "near.cu"


@pytest.mark.parametrize("arch", ["sm_90a", "sm_100f"])
def test_architectures_with_a_letter(tmp_path, arch):
    fat = tmp_path / "k.fatbin"
    nvcc("-gencode", f"arch={arch.replace('sm', 'compute')},code={arch}", "-fatbin", "-o", fat,
         KERNELS / "reduce.cu")
    _, piece = lines(unhex("id", "--json", fat))
    assert piece["arch"] == arch


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda p: p.name)
def test_libraries_of_the_toolkit_are_read(library):
    """Names alone, as all of them are stripped of lines: every piece is read, none is damaged."""
    result = unhex("id", "--gpu", "--quick", "--json", library)
    assert result.returncode == 0 and result.stderr == ""
    reported = lines(result)[1:]
    assert reported and not [t for t in reported if "error" in t]


def test_a_program_is_pushed_and_its_kernels_are_found_by_cuptis_names(tmp_path, server):
    program = tmp_path / "program.so"
    nvcc("-gencode", "arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=[sm_90,compute_90]", "-lineinfo",
         "-shared", "-Xcompiler", "-fPIC", "-o", program, KERNELS / "reduce.cu")
    pieces = lines(unhex("id", "--json", program))[1:]
    reported = lines(server.unhex("push", "--json", program))
    assert {t["gpu"] for t in reported if t["status"] == "uploaded" and "gpu" in t} == {
        p["gpu"] for p in pieces if p["kind"] == "cubin" and p["quality"] != "none"}
    compared = 0
    for piece in pieces:
        if piece.get("quality") != "inlines":
            continue
        cubin = tmp_path / f"{piece['arch']}.cubin"
        nvcc(f"-arch={piece['arch']}", "-lineinfo", "-cubin", "-o", cubin, KERNELS / "reduce.cu")
        places = [f"{name}+{off:#x}" for name, start, size in Cubin(cubin).functions if not name.startswith("$")
                  for off in range(0, size, 16)]
        crc = next(i for i in piece["ids"] if i.startswith("cubin-crc:"))
        here = lines(unhex("lookup", "--json", program, "--gpu", piece["gpu"], *places))
        there = lines(server.unhex("lookup", "--json", crc, *places))
        assert [a["frames"] for a in here] == [a["frames"] for a in there]
        compared += sum(1 for a in here if len(a["frames"]) > 1)
    assert compared > 100
