# SPDX-License-Identifier: Apache-2.0
"""unhex symbolize: core dumps of 32-bit programs, whose stacks elfutils and gdb unwind as well"""
import re
import struct
import subprocess

import pytest

from test_crash_reports import counts, stacks_of
from tool import build_id, symbol, unhex

# A crash in a function that qsort() calls, in a handler of a signal that main() sent to itself.
PROGRAM = r"""
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_barrier_t barrier;
static volatile int *volatile nowhere;
__attribute__((noinline)) static int load(int n) { return *nowhere + n; }
__attribute__((always_inline)) static inline int inner(int n) { return load(n) + 1; }
__attribute__((noinline)) static int middle(int n) { return inner(n) * 3; }
static int compare(const void *a, const void *b) { return middle(*(const int *)a) - *(const int *)b; }
static void handler(int number) { int v[3] = {3, number, 1}; qsort(v, 3, sizeof(*v), compare); }
static void *wait_for_ever(void *a) { pthread_barrier_wait(&barrier); for (;;) pause(); return a; }
int main(void)
{
#if THREADS
	pthread_t thread;
	pthread_barrier_init(&barrier, 0, 2);
	pthread_create(&thread, 0, wait_for_ever, 0);
	pthread_barrier_wait(&barrier);
#endif
	signal(SIGUSR1, handler);
	return raise(SIGUSR1) != 0;
}
"""


def names_of(text):
    """Of the first thread: the innermost name of each frame, "" where it has none."""
    names = []
    for line in text[text.index("\nStack trace of thread"):].split("\n\n")[0].splitlines()[2:]:
        if m := re.match(r"#\d+ +0x[0-9a-f]+ (\S+) ", line):
            names.append("" if m[1] == "n/a" else m[1])
        elif not line.strip().startswith("?? ") and not names[-1]:
            names[-1] = line.split()[0]
    return names


def test_stacks_of_i386_are_those_that_elfutils_finds(tmp_path):
    """Through the handler of a signal, which returns to the vDSO, and with a thread in a system call, which is
    called by the vDSO: it is no file, and the core dump has its tables and names."""
    source, program, core = tmp_path / "c.c", tmp_path / "c", tmp_path / "core"
    source.write_text(PROGRAM)
    subprocess.run(["gcc", "-m32", "-DTHREADS=1", "-O2", "-g", "-fomit-frame-pointer", "-pthread", "-o", program, source],
                   check=True)
    subprocess.run(["gdb", "-q", "-batch", "-nx", "-ex", "set debuginfod enabled off", "-ex", "handle SIGUSR1 nostop",
                    "-ex", "run", "-ex", f"generate-core-file {core}", program], check=True, capture_output=True,
                   cwd=tmp_path)
    result = unhex("symbolize", core, "-v")
    judge = subprocess.run(["eu-stack", "--core", core], capture_output=True, text=True, check=False).stdout
    ours, theirs = stacks_of(result.stdout, r"Stack trace of thread (\d+)"), stacks_of(judge, r"TID (\d+):")
    assert len(ours) == 2 and ours == theirs
    names = names_of(result.stdout)
    assert names[:3] == ["load", "inner", "compare"], result.stdout
    after = names[names.index("handler"):]
    assert after[1:3] == ["__kernel_sigreturn", "__kernel_vsyscall"] and "raise" in after and after[-1] == "_start"
    lines = result.stdout.splitlines()
    assert f"    inner at {source}:9 (inlined)" in lines and f"    middle at {source}:10" in lines
    assert sum(line.startswith("    wait_for_ever at ") for line in lines) == 1
    assert f"Module {program} with build-id {build_id(program).removeprefix('gnu:')}" in lines
    assert counts(result)[0] >= 12


def with_files(core, out, mappings):
    """Adds the note with the list of mapped files, which the kernel writes and qemu does not."""
    data = bytearray(core.read_bytes())
    table, count = struct.unpack_from("<I", data, 28)[0], struct.unpack_from("<H", data, 44)[0]
    note = struct.pack("<2I", len(mappings), 4096)
    note += b"".join(struct.pack("<3I", start, end, 0) for start, end, _ in mappings)
    note += b"".join(str(path).encode() + b"\0" for _, _, path in mappings)
    note += b"\0" * (-len(note) % 4)
    for at in range(table, table + 32 * count, 32):
        kind, offset, _, _, size = struct.unpack_from("<5I", data, at)
        if kind == 4:
            notes = bytes(data[offset:offset + size]) + struct.pack("<3I", 5, len(note), 0x46494c45) + b"CORE\0\0\0\0" + note
            struct.pack_into("<I", data, at + 4, len(data))
            struct.pack_into("<I", data, at + 16, len(notes))
            data += notes
    out.write_bytes(data)


def run_on_arm(folder, *options):
    """The program, which crashed, and what qemu dumped of it."""
    source, program = folder / "a.c", folder / "a"
    source.write_text(PROGRAM)
    subprocess.run(["arm-linux-gnueabihf-gcc", *options, "-DTHREADS=0", "-O2", "-fomit-frame-pointer", "-static",
                    "-no-pie", "-o", program, source], check=True)
    done = subprocess.run(["sh", "-c", "ulimit -c unlimited && exec qemu-arm ./a"], cwd=folder, capture_output=True, check=False)
    (folder / "core").unlink(missing_ok=True)  # of qemu itself
    dumps = list(folder.glob("qemu_a_*.core"))
    assert len(dumps) == 1, done
    dump, = dumps
    return program, dump


@pytest.mark.parametrize("mode", ["-marm", "-mthumb"])
def test_stacks_of_arm_are_unwound_by_its_compact_tables(tmp_path, mode):
    """A static program without debug information: .ARM.exidx is all that there is. gdb follows these tables up to the
    handler of the signal, and does not know the code behind it."""
    (program, dump), core = run_on_arm(tmp_path, mode, "-funwind-tables"), tmp_path / "crash"
    header = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True).stdout
    load = re.search(r"LOAD +0x0+ 0x([0-9a-f]+) 0x\w+ 0x([0-9a-f]+)", header)
    start = int(load[1], 16)
    with_files(dump, core, [(start, start + (int(load[2], 16) + 0xfff & ~0xfff), program)])
    result = unhex("symbolize", core, "-v")
    names = names_of(result.stdout)
    assert names[:3] == ["load", "middle", "compare"], result.stdout
    after = names[names.index("handler"):]
    assert "raise" in after and after.index("main") == after.index("raise") + 1, result.stdout
    assert after[-3:] == ["__libc_start_call_main", "__libc_start_main", "_start"], result.stdout
    judge = subprocess.run(["gdb-multiarch", "-q", "-batch", "-nx", "-ex", "set debuginfod enabled off", "-ex", "bt",
                            program, dump], capture_output=True, text=True, check=False).stdout
    theirs = [int(m, 16) for m in re.findall(r"(?m)^#\d+ +0x([0-9a-f]+) in ", judge[judge.rindex("#0 "):])]
    ours, = stacks_of(result.stdout, r"Stack trace of thread (\d+)").values()
    known = names.index("handler") + 1
    assert known >= 6 and ours[:known] == theirs[:known], judge
    address, size = symbol(program, "main")
    assert address < ours[names.index("main")] <= address + size


def test_a_file_that_is_not_here_ends_a_stack_of_arm(tmp_path):
    """No frame pointer is followed there, and nothing is guessed."""
    _, dump = run_on_arm(tmp_path)
    with_files(dump, tmp_path / "crash", [(0x10000, 0x80000, "/nowhere/a")])
    result = unhex("symbolize", tmp_path / "crash")
    assert result.returncode == 1 and "0 of 1 frames have names" in result.stderr
    assert sum(line.startswith("#") for line in result.stdout.splitlines()) == 1
    assert "(/nowhere/a + 0x" in result.stdout


def many_segments(n, threads):
    """A core dump with a segment for each page, and stacks of frame pointers without end."""
    base, stacks = 0x10000000, 300  # the pages of the stacks are the last ones
    stack = base + (n - stacks) * 4096

    def note(kind, data):
        return struct.pack("<III", 5, len(data), kind) + b"CORE".ljust(8, b"\0") + data + bytes(-len(data) % 4)
    registers = [0] * 27
    registers[16], registers[19], registers[4] = base + 0x10, stack, stack  # rip, rsp, rbp
    notes = note(0x46494C45, struct.pack("<QQQQQ", 1, 4096, base, base + 4096, 0) + b"/nonexistent\0")
    for thread in range(threads):
        notes += note(1, struct.pack("<iiihhQQiiii", 11, 0, 0, 11, 0, 0, 0, 100 + thread, 1, 1, 1) + bytes(64) +
                      struct.pack("<27Qii", *registers, 0, 0))
    notes_at = 64 + 56 * (n + 1)
    data = -(-(notes_at + len(notes)) // 4096) * 4096
    headers = struct.pack("<IIQQQQQQ", 4, 0, notes_at, 0, 0, len(notes), len(notes), 4) + b"".join(
        struct.pack("<IIQQQQQQ", 1, 6 if i else 5, data + max(0, i - (n - stacks)) * 4096, base + i * 4096, 0, 4096, 4096, 4096)
        for i in range(n))
    start = b"\x7fELF\2\1\1".ljust(16, b"\0") + struct.pack("<HHIQQQIHHHHHH", 4, 62, 1, 0, 64, 0, 0, 64, 56, n + 1, 0, 0, 0)
    words = (stack + k * 8 + 32 if k % 4 == 0 else base + 0x20 for k in range(stacks * 512))
    return (start + headers + notes).ljust(data, b"\0") + b"".join(struct.pack("<Q", word) for word in words)


def test_many_segments_cost_a_stack_no_walk_over_them(tmp_path):
    (tmp_path / "core").write_bytes(many_segments(60000, 300))
    done = unhex("symbolize", tmp_path / "core", timeout=20)  # three quarters of a minute with a walk
    assert "0 of 307200 frames have names" in done.stderr
