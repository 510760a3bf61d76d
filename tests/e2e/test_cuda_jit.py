# SPDX-License-Identifier: Apache-2.0
"""GPU code that no nvcc made a program of: PTX by hand, by clang, and what NVRTC and nvJitLink hand to programs that
compile as they run. Against CUPTI and, where it is installed, nvdisasm. Only there where a CUDA toolkit is."""
import ctypes
import pathlib
import re
import shutil
import struct
import subprocess

import pytest

from gpu import (KERNELS, NVDISASM, TOOLKIT, Cubin, agree_with_cupti, requested, cupti,  # noqa: F401
                 disassembled, nvcc, places_of, tool)
from tool import lines, unhex

PTX_TEXT = ".nv_debug_ptx_txt"
CLANG = shutil.which("clang-14") or shutil.which("clang")
NVRTC = next(iter(sorted(TOOLKIT.glob("**/libnvrtc.so.1*"))), None)
NVJITLINK = next(iter(sorted(TOOLKIT.glob("**/libnvJitLink.so.1*"))), None)
LINK_PTX, LINK_OBJECT = 2, 5


def is_source(frame):
    return not pathlib.Path(frame.get("file", "")).name.startswith(PTX_TEXT)


def sources(path):
    (reported,) = lines(unhex("id", "--json", path))
    return reported["quality"], {s["source"] for s in reported["sources"]}


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory):
    path = tmp_path_factory.mktemp("hand") / "marks.cubin"
    tool("ptxas", "-arch=sm_90", "-lineinfo", "-o", path, KERNELS / "marks.ptx")
    return path


def test_ptx_written_by_hand_has_its_own_lines(by_hand):
    """Marks are numbers that stand in the text and in the machine code alike."""
    text = (KERNELS / "marks.ptx").read_text().splitlines()
    code = by_hand.read_bytes()
    for mark in range(1, 5):
        number = 0x5eed0000 + mark
        line = next(i for i, t in enumerate(text, 1) if f"{number:#x}" in t)
        at = code.index(struct.pack("<I", number))
        assert code.count(struct.pack("<I", number)) == 1
        ((frame,),) = requested(by_hand, [at // 16 * 16])
        assert frame["function"] == ("other" if mark == 4 else "marks")
        assert frame["file"] == PTX_TEXT
        assert frame["line"] in (line, line + 1)  # the constant, or the store that it went into
    assert sources(by_hand) == ("lines", {"symtab", "ptx"})


def test_explain_tells_that_lines_are_of_ptx(by_hand):
    (start,) = [start for name, start, _ in Cubin(by_hand).functions if name == "marks"]
    text = unhex("explain", by_hand, hex(start)).stdout
    assert "sources        symtab (2), ptx (2)" in text
    assert "no debug information here" in text and "the line is from ptx" in text


@pytest.fixture(scope="module")
def half(tmp_path_factory):
    """One kernel of two tells its source."""
    into = tmp_path_factory.mktemp("half")
    nvcc("-arch=sm_80", "-lineinfo", "-ptx", "-o", into / "all.ptx", KERNELS / "chains.cu")
    text = (into / "all.ptx").read_text()
    at = text.index(".entry _Z3addPKfS0_Pfi")
    end = text.find(".entry", at + 1)
    body = "".join(t for t in text[at:end].splitlines(True) if not t.lstrip().startswith(".loc"))
    (into / "half.ptx").write_text(text[:at] + body + text[end:])
    tool("ptxas", "-arch=sm_80", "-lineinfo", "-o", into / "half.cubin", into / "half.ptx")
    return into / "half.cubin"


def test_each_kernel_has_the_best_lines_there_are(half, cupti):
    agree_with_cupti(half, cupti, is_source)
    found = {}
    for (name, *_), frames in zip(places_of(half), requested(half, [s + o for _, s, o in places_of(half)])):
        if frames[-1]["function"] == name:
            found.setdefault(name, set()).add(is_source(frames[0]))
    assert found == {"_Z3addPKfS0_Pfi": {False}, "_Z5scaleIiLi3EEvPT_": {True}, "_Z5scaleIdLi4EEvPT_": {True}}
    assert sources(half) == ("inlines", {"dwarf", "symtab", "ptx"})


def compile_plain(into, *options):
    """plain.cu by clang, which needs no headers of NVIDIA's, and ptxas."""
    subprocess.run([CLANG, "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_80", "-nocudainc", "-nocudalib",
                    "-Xclang", "-target-feature", "-Xclang", "+ptx75", "-O2", *options, "-S", "-o",
                    into / "plain.ptx", KERNELS / "plain.cu"], check=True, capture_output=True)
    tool("ptxas", "-arch=sm_80", "-lineinfo", "-o", into / "plain.cubin", into / "plain.ptx")
    return into / "plain.cubin"


@pytest.mark.parametrize("option", ["-g", "-gline-tables-only"])
def test_clang_compiles_with_lines(tmp_path, cupti, option):
    path = compile_plain(tmp_path, option)
    places, _ = agree_with_cupti(path, cupti)
    reported = {(f[-1]["file"], f[-1]["line"]) for f in requested(path, [s + o for _, s, o in places_of(path)]) if f}
    assert places > 50 and {file for file, _ in reported} == {str(KERNELS / "plain.cu")}
    assert {line for _, line in reported} >= {8, 13, 18, 23, 24, 25}
    assert sources(path) == ("lines", {"dwarf", "symtab"})


def test_clang_without_lines_leaves_those_of_its_ptx(tmp_path):
    path = compile_plain(tmp_path, "-g0")
    text = (tmp_path / "plain.ptx").read_text().splitlines()
    divides = {i for i, t in enumerate(text, 1) if "div.rn.f32" in t}
    reported = {f[0]["line"] for f in requested(path, [s + o for _, s, o in places_of(path)])}
    assert divides & reported
    assert not [i for i in reported if re.match(r"\s*(//|\.reg|\.param|\.version|$)", text[i - 1])], reported


if NVDISASM:
    def printed_ptx(path):
        """(section, offset) to the line of PTX, where nvdisasm prints one."""
        section, line, found = None, None, {}
        for text in disassembled(path, "-gp"):
            if match := re.match(r"(\.text\.\S+):$", text):
                section, line = match[1], None
            elif re.match(r"\t?\.section\s+\.(?!text)", text):
                section = None
            elif match := re.match(r'\s*//## File "([^"]*)", line (\d+)', text):
                line = (match[1], int(match[2]))
            elif (match := re.match(r"\s+/\*([0-9a-f]{4,})\*/\s", text)) and section and line:
                found[section, int(match[1], 16)], line = line, None
        return found

    def test_lines_of_ptx_are_those_that_nvdisasm_prints(by_hand, half, tmp_path):
        compared = 0
        for path in (by_hand, half, compile_plain(tmp_path, "-g0")):
            expected, off = printed_ptx(path), Cubin(path).off
            for place, frames in zip(expected, requested(path, [off[s] + o for s, o in expected])):
                if not is_source(frames[0]):
                    assert (frames[0]["file"], frames[0]["line"]) == expected[place], (path.name, place)
                    compared += 1
        assert compared > 80


def nvrtc(source, into, *options):
    """The cubin that NVRTC makes of a source in memory."""
    lib, program, size = ctypes.CDLL(str(NVRTC)), ctypes.c_void_p(), ctypes.c_size_t()
    assert lib.nvrtcCreateProgram(ctypes.byref(program), source, b"made_at_run_time.cu", 0, None, None) == 0
    words = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    assert lib.nvrtcCompileProgram(program, len(options), words) == 0
    assert lib.nvrtcGetCUBINSize(program, ctypes.byref(size)) == 0
    cubin = ctypes.create_string_buffer(size.value)
    assert lib.nvrtcGetCUBIN(program, cubin) == 0
    into.write_bytes(cubin.raw)
    return into


if NVRTC:
    @pytest.mark.parametrize("option,quality", [("-lineinfo", "inlines"), ("-G", "inlines"), (None, "symtab")])
    def test_what_nvrtc_compiles(tmp_path, cupti, option, quality):
        source = (KERNELS / "chains.cu").read_bytes()
        options = ["--gpu-architecture=sm_90"] + ([option] if option else [])
        path = nvrtc(source, tmp_path / "jit.cubin", *options)
        agree_with_cupti(path, cupti, is_source)
        assert sources(path)[0] == quality
        if option:
            files = {pathlib.Path(f[0]["file"]).name for f in requested(path, [s + o for _, s, o in places_of(path)])
                     if f and f[0].get("line") and is_source(f[0])}
            assert files == {"made_at_run_time.cu"}


def jit_link(into, options, *inputs):
    """The cubin that nvJitLink makes of (kind, path)..."""
    lib = ctypes.CDLL(str(NVJITLINK))
    version = re.search(r"\.so\.(\d+)", NVJITLINK.name)[1]

    def call(name, *args):
        function = getattr(lib, f"__nvJitLink{name}_{version}_0", None)
        assert function(*args) == 0, name
    handle, size = ctypes.c_void_p(), ctypes.c_size_t()
    words = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    call("Create", ctypes.byref(handle), len(options), words)
    for kind, path in inputs:
        call("AddFile", handle, kind, str(path).encode())
    call("Complete", handle)
    call("GetLinkedCubinSize", handle, ctypes.byref(size))
    cubin = ctypes.create_string_buffer(size.value)
    call("GetLinkedCubin", handle, cubin)
    into.write_bytes(cubin.raw)
    return into


if NVJITLINK:
    def test_ptx_that_is_linked_at_run_time(tmp_path, cupti):
        path = jit_link(tmp_path / "linked.cubin", ["-arch=sm_90", "-lineinfo"], (LINK_PTX, KERNELS / "marks.ptx"))
        agree_with_cupti(path, cupti, is_source)
        frames = [f for f in requested(path, [s + o for _, s, o in places_of(path)]) if f]
        assert {f[-1]["function"] for f in frames} == {"marks", "other"}
        # The linker numbers the texts, since there could be several.
        assert {re.sub(r"\.\d+$", "", f[0]["file"]) for f in frames} == {PTX_TEXT}

    def test_code_that_is_optimized_as_it_is_linked(tmp_path, cupti):
        for name in ("far", "near"):
            nvcc("-arch=sm_90", "-lineinfo", "-dlto", "-dc", "-o", tmp_path / f"{name}.o", KERNELS / f"{name}.cu")
        path = jit_link(tmp_path / "lto.cubin", ["-arch=sm_90", "-lto", "-lineinfo"],
                        (LINK_OBJECT, tmp_path / "far.o"), (LINK_OBJECT, tmp_path / "near.o"))
        _, inlined = agree_with_cupti(path, cupti, is_source)
        assert inlined > 100 and sources(path) == ("inlines", {"dwarf", "symtab"})
        kinds = [(p["arch"], p["kind"]) for p in lines(unhex("id", "--json", tmp_path / "far.o"))[1:]]
        assert ("compute_90", "lto-ir") in kinds


def test_programs_with_ptx_alone_name_it(tmp_path):
    program = tmp_path / "later"
    nvcc("-gencode", "arch=compute_90,code=compute_90", "-shared", "-Xcompiler", "-fPIC", "-o", program,
         KERNELS / "reduce.cu")
    pieces = lines(unhex("id", "--json", program))[1:]
    assert [(p["arch"], p["kind"]) for p in pieces] == [("compute_90", "ptx")]
    result = unhex("lookup", program, "--gpu", "1", "1")
    assert result.returncode == 1 and "is ptx" in result.stderr and "at run time" in result.stderr
