# SPDX-License-Identifier: Apache-2.0
"""unhex proc: BPF programs, loaded by the test with bpf(2), against what their object file says."""
import contextlib
import ctypes
import errno
import os
import pathlib
import platform
import re
import shutil
import struct
import subprocess

import pytest

from live import ask
from tool import UNHEX, lines, unhex

SOURCE = r"""
typedef unsigned int u32;
struct context {
	u32 length;
};
static __attribute__((noinline, section("socket"))) int helper_with_a_name_that_is_long(u32 x)
{
	if (x > 100)
		return x / 3;
	return x * 7;
}
__attribute__((section("socket"))) int watch_every_packet_that_comes(struct context *c)
{
	int n = helper_with_a_name_that_is_long(c->length);
	if (n > 30)
		return 30;
	return n;
}
"""

BPF_NUMBER = {"x86_64": 321, "aarch64": 280}.get(platform.machine())
PROG_LOAD, NEXT_ID, INFO_BY_FD, BTF_LOAD = 5, 11, 15, 18
CLANG = shutil.which("clang-14") or "clang"
libc = ctypes.CDLL(None, use_errno=True)


class Refused(Exception):
    pass


def bpf(command, attributes):
    """Calls bpf(2); what the kernel writes to the attributes comes back, too."""
    room = ctypes.create_string_buffer(attributes, 144)
    result = libc.syscall(BPF_NUMBER, command, room, len(room))
    if result < 0:
        raise Refused(f"bpf({command}): {os.strerror(ctypes.get_errno())}", ctypes.get_errno())
    return result, room.raw


def section(path, name):
    out = path.with_suffix(".section")
    subprocess.run(["llvm-objcopy-19", f"--dump-section={name}={out}", path, path.with_suffix(".copy")],
                   check=True)
    return out.read_bytes()


def infos(ext, header, place):
    """The records of .BTF.ext of one section: function or line information."""
    off, size = struct.unpack_from("<II", ext, place)
    at = header + off
    record, = struct.unpack_from("<I", ext, at)
    end, at, records = at + size, at + 4, []
    while at < end:
        _, n = struct.unpack_from("<II", ext, at)
        at += 8
        records += [ext[at + i * record:at + (i + 1) * record] for i in range(n)]
        at += n * record
    return record, records


class Program:
    """A socket filter from an object file of clang's, loaded."""

    def __init__(self, folder):
        source, path = folder / "filter.c", folder / "filter.o"
        source.write_text(SOURCE)
        subprocess.run([CLANG, "-target", "bpf", "-O2", "-g", "-c", "-o", path, source], check=True)
        self.path = path
        code, btf, ext = section(path, "socket"), section(path, ".BTF"), section(path, ".BTF.ext")
        # The main program comes first for the kernel; clang has it behind its helper.
        symbols = subprocess.run(["llvm-nm-19", path], check=True, capture_output=True, text=True).stdout
        main = int(re.search(r"(\S+) \w watch_every", symbols)[1], 16) // 8
        code, moved = self.turn(code, main)
        header, = struct.unpack_from("<I", ext, 4)
        func_size, functions = infos(ext, header, 8)
        line_size, line_records = infos(ext, header, 16)
        functions = sorted((self.move(r, moved) for r in functions), key=self.instruction)
        self.lines = sorted((self.move(r, moved) for r in line_records), key=self.instruction)
        self.btf_strings = btf[struct.unpack_from("<I", btf, 4)[0] +
                               struct.unpack_from("<I", btf, 16)[0]:]
        self.keep = [ctypes.create_string_buffer(b, len(b)) for b in (
            btf, code, b"GPL\0", b"".join(functions), b"".join(self.lines))]
        address = [ctypes.addressof(b) for b in self.keep]
        self.btf_fd, _ = bpf(BTF_LOAD, struct.pack("<QQIII", address[0], 0, len(btf), 0, 0))
        self.fd, _ = bpf(PROG_LOAD, struct.pack(
            "<IIQQIIQII16sIIIIQIIQI", 1, len(code) // 8, address[1], address[2], 0, 0, 0, 0, 0,
            b"watch_every_pac", 0, 0, self.btf_fd, func_size, address[3], len(functions), line_size,
            address[4], len(self.lines)))

    @staticmethod
    def turn(code, main):
        """Instructions from `main` on first; calls between the two parts keep their targets."""
        n = len(code) // 8
        moved = [(i - main) % n for i in range(n)]
        out = [b""] * n
        for i in range(n):
            op, registers, offset, value = struct.unpack_from("<BBhi", code, i * 8)
            if op == 0x85 and registers >> 4 == 1:
                value = moved[i + 1 + value] - moved[i] - 1
            out[moved[i]] = struct.pack("<BBhi", op, registers, offset, value)
        return b"".join(out), moved

    @staticmethod
    def move(record, moved):
        return struct.pack("<I", moved[struct.unpack_from("<I", record)[0] // 8]) + record[4:]

    @staticmethod
    def instruction(record):
        return struct.unpack_from("<I", record)[0]

    def string(self, off):
        return self.btf_strings[off:self.btf_strings.index(b"\0", off)].decode()

    def info(self):
        """(start, size) of each function, and where the code of each line begins."""
        room = ctypes.create_string_buffer(256)
        starts, sizes = (ctypes.c_uint64 * 2)(), (ctypes.c_uint32 * 2)()
        jited = (ctypes.c_uint64 * len(self.lines))()
        struct.pack_into("<II", room, 104, 2, 2)
        struct.pack_into("<QQ", room, 112, ctypes.addressof(starts), ctypes.addressof(sizes))
        struct.pack_into("<Q", room, 160, ctypes.addressof(jited))
        struct.pack_into("<III", room, 168, len(self.lines), 0, 8)
        bpf(INFO_BY_FD, struct.pack("<IIQ", self.fd, len(room), ctypes.addressof(room)))
        return list(zip(starts, sizes)), list(jited)

    def close(self):
        os.close(self.fd)
        os.close(self.btf_fd)


@contextlib.contextmanager
def loaded(folder):
    try:
        program = Program(folder)
    except Refused as e:
        if e.args[1] in (errno.EPERM, errno.ENOSYS):
            pytest.skip(f"this kernel refuses: {e.args[0]}")
        raise
    try:
        yield program
    finally:
        program.close()


needs_number = pytest.mark.skipif(BPF_NUMBER is None, reason="the number of bpf(2) is not known here")


@needs_number
def test_functions_files_and_lines_of_a_loaded_program(tmp_path):
    with loaded(tmp_path) as program:
        functions, jited = program.info()
        if not functions[0][0]:
            pytest.skip("this kernel hides where its programs are")
        assert all(size > 0 for _, size in functions)
        addresses = [a for start, size in functions for a in range(start, start + size)]
        answers = ask(os.getpid(), addresses)
        kallsyms = pathlib.Path("/proc/kallsyms").read_text()
    where = {}
    for at, record in zip(jited, program.lines):
        _, file, _, column = struct.unpack_from("<IIII", record)
        where[at] = (program.string(file), column >> 10)
    names = [r"bpf_prog_[0-9a-f]{16}_watch_every_packet_that_comes",
             r"bpf_prog_[0-9a-f]{16}_helper_with_a_name_that_is_long"]
    text = SOURCE.splitlines()
    bodies = [range(text.index("{", 11) + 1, text.index("}", 11) + 2),
              range(text.index("{", 5) + 1, text.index("}", 5) + 2)]
    reported = set()
    for answer in answers:
        address = int(answer["address"], 16)
        which = 0 if functions[0][0] <= address < sum(functions[0]) else 1
        frame, = answer["frames"]
        assert re.fullmatch(names[which], frame["function"]), frame
        assert (answer["kind"], answer["module"]) == ("kernel", "[bpf]")
        before = [a for a in jited if functions[which][0] <= a <= address]
        if before:
            assert (frame["file"], frame["line"]) == where[max(before)]
            assert frame["file"] == str(tmp_path / "filter.c")
            reported.add((which, frame["line"]))
            # The line of the function's head is its prologue's; 0 is what no line was the reason of.
            assert frame["line"] in [0, bodies[which][0] - 1, *bodies[which]]
        assert "lost" not in answer
    assert len([t for t in reported if t[0] == 0]) >= 2 and len([t for t in reported if t[0] == 1]) >= 2
    for start, _ in functions:
        listed = re.findall(rf"^{start:016x} t (\S+)\t\[bpf\]$", kallsyms, re.M)
        if listed:  # net.core.bpf_jit_kallsyms says whether they are
            own = next(a for a in answers if int(a["address"], 16) == start)
            assert own["frames"][0]["function"] in listed


@needs_number
def test_lines_are_those_of_the_objects_dwarf(tmp_path):
    """What clang wrote twice, in .BTF.ext and in DWARF, is one; where a function begins the former
    may have the line of its name, the latter that of its brace."""
    with loaded(tmp_path) as program:
        functions, jited = program.info()
        if not functions[0][0]:
            pytest.skip("this kernel hides where its programs are")
        answers = ask(os.getpid(), jited)
        symbols = subprocess.run(["llvm-nm-19", program.path], check=True, capture_output=True,
                                 text=True).stdout
    main = int(re.search(r"(\S+) \w watch_every", symbols)[1], 16)
    size = len(section(program.path, "socket"))
    last = {a: r for a, r in zip(jited, program.lines)}
    for answer in answers:
        record = last[int(answer["address"], 16)]
        place = (program.instruction(record) * 8 + main) % size
        out = subprocess.run(["llvm-symbolizer-19", f"--obj={program.path}", "--functions=none",
                              hex(place)], check=True, capture_output=True, text=True).stdout
        file, line, _ = out.splitlines()[0].rsplit(":", 2)
        starts = int(answer["address"], 16) in [s for s, _ in functions]
        assert answer["frames"][0]["file"] == file
        assert answer["frames"][0]["line"] in [int(line)] + [int(line) - 1] * starts


@needs_number
def test_a_program_that_is_unloaded_has_no_name_any_more(tmp_path):
    with loaded(tmp_path) as program:
        functions, _ = program.info()
    if not functions[0][0]:
        pytest.skip("this kernel hides where its programs are")
    result = unhex("proc", os.getpid(), "--json", hex(functions[0][0]))
    answer, = lines(result)
    assert not answer["frames"] or "watch_every" not in answer["frames"][0]["function"]


@needs_number
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up its rights")
def test_without_access_there_are_names_and_a_reason(tmp_path):
    """kallsyms tells root all; bpf(2) is refused to whoever lacks CAP_SYS_ADMIN."""
    with loaded(tmp_path) as program:
        functions, _ = program.info()
        start = functions[0][0]
        listed = f"{start:016x} t bpf_prog_" in pathlib.Path("/proc/kallsyms").read_text()
        if not listed:
            pytest.skip("this kernel does not list BPF programs")
        result = subprocess.run(
            ["setpriv", "--bounding-set", "-sys_admin,-bpf,-perfmon", "--inh-caps", "-all", "--",
             UNHEX, "proc", str(os.getpid()), "--json", hex(start)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    answer, = lines(result)
    assert "watch_every" in answer["frames"][0]["function"]
    assert "file" not in answer["frames"][0]
    assert "cannot list BPF programs; that needs CAP_SYS_ADMIN" in answer["lost"]
