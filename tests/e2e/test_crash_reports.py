# SPDX-License-Identifier: Apache-2.0
"""unhex symbolize: reports of crashes, each by the program that writes it"""
import os
import re
import resource
import subprocess

import pytest

from crash_reports import CHAIN, Crash, kernel
from tool import UNHEX, build_id, compile_c, fails, stripped, symbol, unhex


@pytest.fixture(scope="module")
def crash(tmp_path_factory):
    return Crash(tmp_path_factory.mktemp("crash"))


def named(crash, text, *options, **more):
    return unhex("symbolize", "--debug-dir", crash.debug, *options, "-", stdin=text,
                 cwd=crash.folder, **more)


def counts(result):
    """(frames with names, all, those whose names were in the text)"""
    m = re.search(r"unhex: (\d+) of (\d+) frames have names(?:, (\d+) of them)?", result.stderr)
    return int(m.group(1)), int(m.group(2)), int(m.group(3) or 0)


def added(text, out):
    """The lines that were added; all others must be those of the text."""
    left, names = text.splitlines(), []
    for line in out.splitlines():
        if left and line == left[0]:
            left.pop(0)
        else:
            names.append(line.strip())
    assert not left, left[:3]
    return names


def has_chain(crash, names, source="prog"):
    """The functions from the crash to main() follow each other."""
    expected = [f"{name} at {crash.folder}/{source}.c:{line}" + (" (inlined)" if inlined else "")
                for name, line, inlined in CHAIN]
    first = names.index(expected[0])
    assert names[first:first + len(expected)] == expected, names
    assert any(name.startswith(f"main at {crash.folder}/{source}.c:") for name in names[first:]), names


@pytest.mark.parametrize("kind, least, source", [
    ("backtrace", 10, "prog"), ("backtrace_fixed", 10, "fixed"), ("sanitizer", 7, "asan"), ("coredump", 8, "prog"),
    ("rust", 10, "prog"), ("core", 8, "prog")])
def test_each_frame_of_a_crash_gets_its_name(crash, kind, least, source):
    text = getattr(crash, kind)()
    result = named(crash, text)
    assert result.returncode == 0, result.stderr
    have, frames, in_text = counts(result)
    assert have == frames >= least and in_text == 0, (text, result.stdout, result.stderr)
    has_chain(crash, added(text, result.stdout), source)


def test_a_signal_handler_does_not_return_into_the_function_before(crash):
    """The frame behind it was interrupted at its first instruction: the byte before is another function's."""
    names = added(text := crash.backtrace(), named(crash, text).stdout)
    assert "inner" in names[names.index("__restore_rt") + 1], names
    stripped_libc = unhex("symbolize", "--debug-dir", "", "--debug-dir", crash.debug, "-", stdin=text, cwd=crash.folder)
    names = added(text, stripped_libc.stdout)
    assert "inner" in names[names.index("<signal handler called>") + 1], names


def test_gdbs_frames_get_names_where_the_text_has_mappings(crash):
    bare = crash.gdb()
    result = named(crash, bare, "-v")
    frames = re.findall(r"(?m)^#\d+ .*$", bare)
    assert counts(result)[1] == len(frames) and "?? (the text does not name the module" in result.stdout
    text = crash.gdb("info proc mappings")
    result = named(crash, text)
    have, frames, _ = counts(result)
    assert have == frames, result.stderr
    has_chain(crash, added(text, result.stdout))


def test_a_panic_of_go_keeps_its_names_and_its_signal_has_an_address(crash):
    text = crash.go()
    result = named(crash, text)
    assert result.stdout == text and counts(result)[:1] == counts(result)[2:], result.stderr
    assert counts(result)[0] >= 3
    # Its frames are left as they are, since they have all their inlined calls.
    assert "main.helper(...)" in text
    pc = int(re.search(r"main\.outer.*\n.* pc=(0x\w+)", crash.go("system")).group(1), 16)
    text = f"[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc={pc:#x}]\n"
    result = named(crash, text, "--module", crash.folder / "panic")
    assert f"main.outer at {crash.folder}/panic.go:4" in added(text, result.stdout)


def test_hs_err_has_the_mappings_of_its_process(crash):
    text = crash.java()
    result = named(crash, text, "-v")
    assert result.returncode == 0 and counts(result)[0] == counts(result)[1] >= 2, result.stderr
    assert "libc.so.6" in result.stderr and added(text, result.stdout)


VALGRIND = """
#include <stdlib.h>
volatile int sink;
__attribute__((noinline)) int first(volatile int *p) { sink = p[10]; return 1; }
__attribute__((noinline)) int second(void) { volatile int *p = malloc(40); int x = first(p) + 1; free((void *)p); return x; }
int main(void) { return second() - 2; }
"""


@pytest.mark.parametrize("flags", [(), ("-no-pie",)])
def test_a_stripped_program_under_valgrind_gets_the_names_that_valgrind_has_of_it(tmp_path, flags):
    """The judge is valgrind itself, with the program that has symbols."""
    whole = compile_c(tmp_path, name="whole", source=VALGRIND, flags=("-g", "-O0", *flags))
    bare, _ = stripped(whole)
    expected = subprocess.run(["valgrind", whole], capture_output=True, text=True).stderr
    expected = re.findall(r"(?:at|by) (0x\w+): (\w+) \(whole\.c:(\d+)\)", expected)
    assert {name for _, name, _ in expected} == {"first", "second", "main"}, expected
    report = subprocess.run(["valgrind", bare], capture_output=True, text=True).stderr
    assert f"??? (in {bare})" in report, report
    out = unhex("symbolize", "--module", f"{bare.name}={whole}", "-", stdin=report).stdout
    got = re.findall(r"(?:at|by) (0x\w+): \?\?\? \(in .*\)\n +(\w+) at .*/whole\.c:(\d+)\n(?! )", out)
    assert got == expected
    assert added(report, out)


def test_an_oops_is_named_by_its_functions_and_their_sizes(crash, tmp_path):
    vmlinux, symbols = kernel(tmp_path)
    padded = {name: [(start, size + 15 & ~15) for start, size in places] for name, places in symbols.items()}
    (read_at, read_size), = padded["vfs_read"]
    (first, small), (second, large) = sorted(padded["init"], key=lambda place: place[1])
    assert small < large and len(symbols["init"]) == 2
    call = next(int(line.split(":")[0], 16) for line in subprocess.run(
        ["objdump", "-d", "--disassemble=vfs_read", "--no-show-raw-insn", vmlinux], capture_output=True, text=True,
        check=True).stdout.split("call")[1].splitlines()[1:2])
    text = f"""[   12.345678] BUG: kernel NULL pointer dereference, address: 0000000000000000
[   12.345680] CPU: 1 PID: 7 Comm: cat Not tainted 6.1.0-18-amd64 #1  Debian 6.1.76-1
[   12.345681] RIP: 0010:helper+0x2/0x{padded['helper'][0][1]:x}
[   12.345682] Call Trace:
[   12.345683]  <TASK>
[   12.345684]  vfs_read+0x{call - read_at:x}/0x{read_size:x}
[   12.345685]  ? init+0x1/0x{large:x}
[   12.345686]  init+0x1/0x{small * 4:x}
[   12.345687]  absent+0x1/0x10 [nfs]
"""
    result = named(crash, text, "--module", f"vmlinux={vmlinux}", "-v")
    names = added(text, result.stdout)
    assert f"helper at {tmp_path}/kernel.c:2" in names[0] and f"vfs_read at {tmp_path}/kernel.c:3" in names[1]
    assert f"init at {tmp_path}/two.c" in names[2], names
    assert names[3].startswith("?? (") and names[4].startswith("?? ("), names
    # Without the choice no file of this machine is taken for that kernel.
    assert "vmlinux" in named(crash, text, "--no-local").stderr


@pytest.mark.parametrize("bare", [False, True])
def test_a_function_of_another_size_is_of_another_build(crash, tmp_path, bare):
    vmlinux, symbols = kernel(tmp_path)
    (_, size), = symbols["vfs_read"]
    if bare:  # only DWARF has the size then
        subprocess.run(["objcopy", "--strip-symbol=vfs_read", vmlinux], check=True)
    text = f"""[   12.345680] CPU: 1 PID: 7 Comm: cat Not tainted 6.1.0-18-amd64 #1  Debian 6.1.76-1
[   12.345681] RIP: 0010:vfs_read+0x1/0x{size + 15 & ~15:x}
[   12.345682]  vfs_read+0x1/0x{size - 1:x}
[   12.345683]  vfs_read+0x1/0x{size + 0x2000:x}
"""
    result = named(crash, text, "--module", f"vmlinux={vmlinux}", "-v")
    names = added(text, result.stdout)
    assert names[0].startswith("vfs_read at ") and [n[:4] for n in names[1:]] == ["?? ("] * 2, names
    assert all(f'"vfs_read" has {size:#x} bytes here, not ' in n for n in names[1:]), names


THREADS = r"""
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_barrier_t barrier;
__attribute__((always_inline)) static inline int inner(volatile int *p) { return *p; }
__attribute__((noinline)) int middle(volatile int *p) { return inner(p) + 1; }
static int compare(const void *a, const void *b) { (void)a; (void)b; return middle(0) + 1; }
static void *wait_for_ever(void *a) { pthread_barrier_wait(&barrier); for (;;) pause(); return a; }
int main(void)
{
	pthread_t threads[3];
	int values[3] = {3, 2, 1};
	pthread_barrier_init(&barrier, 0, 4);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], 0, wait_for_ever, 0);
	pthread_barrier_wait(&barrier);
	qsort(values, 3, sizeof(int), compare);
	return values[0];
}
"""


def stacks_of(text, heads):
    """Of each thread: the addresses of its stack, without those that an inlined call repeats."""
    stacks = {}
    for line in text.splitlines():
        if m := re.match(heads, line):
            stack = stacks.setdefault(int(m[1]), [])
        elif m := re.match(r"#\d+\s+0x([0-9a-f]+)", line):
            if not stack or stack[-1] != int(m[1], 16):
                stack.append(int(m[1], 16))
    return stacks


def test_a_core_dump_has_the_stacks_that_elfutils_finds(tmp_path):
    source, program, core = tmp_path / "c.c", tmp_path / "c", tmp_path / "core"
    source.write_text(THREADS)
    subprocess.run(["gcc", "-O2", "-g", "-fomit-frame-pointer", "-pthread", "-o", program, source], check=True)
    subprocess.run(["gdb", "-q", "-batch", "-nx", "-ex", "set debuginfod enabled off", "-ex", "run", "-ex",
                    f"generate-core-file {core}", program], check=True, capture_output=True, cwd=tmp_path)
    result = unhex("symbolize", core, "-v")
    judge = subprocess.run(["eu-stack", "--core", core], capture_output=True, text=True, check=False).stdout
    ours, theirs = stacks_of(result.stdout, r"Stack trace of thread (\d+)"), stacks_of(judge, r"TID (\d+):")
    assert len(ours) == 4 and ours == theirs
    assert list(ours) == list(theirs)
    lines = result.stdout.splitlines()
    assert any(line.endswith(", which got signal 11:") for line in lines)
    assert f"    inner at {source}:6 (inlined)" in lines and f"    compare at {source}:8" in lines
    assert sum(line.startswith("    wait_for_ever at ") for line in lines) == 3
    have, frames, _ = counts(result)
    assert have == frames == sum(len(stack) for stack in ours.values())
    # From standard input, and into a file.
    with open(core, "rb") as stdin:
        piped = subprocess.run([UNHEX, "symbolize", "-", "-o", tmp_path / "out"], stdin=stdin, capture_output=True,
                               check=True)
    assert piped.stdout == b"" and (tmp_path / "out").read_text() == result.stdout
    # Without the files, the names are the server's or none, and the addresses stay.
    bare = unhex("symbolize", core, "--no-local", "--debug-dir", tmp_path)
    assert "inner at" not in bare.stdout and f"({program} + 0x" in bare.stdout


# The MESSAGE of systemd-coredump 252, for a stripped program that was built as below.
JOURNAL = """Process 29796 (cs) of user 0 dumped core.

Stack trace of thread 29796:
#0  0x00005555555551e0 n/a (cs + {leaf:#x})
#1  0x00005555555551f7 n/a (cs + {caller:#x})
#2  0x00007ffff7e11bf4 msort_with_tmp (libc.so.6 + 0x3fbf4)
#3  0x00005555555550d2 n/a (cs + {main:#x})

Stack trace of thread 29811:
#0  0x00007ffff7ea5df2 __libc_pause (libc.so.6 + 0xd3df2)
ELF object binary architecture: AMD x86-64
"""


def test_the_message_of_systemd_coredump_has_no_paths(tmp_path):
    """It has names of files alone, which are searched in folders, also in relative ones."""
    (tmp_path / "c.c").write_text(THREADS)
    (tmp_path / "f").mkdir()
    subprocess.run(["gcc", "-O2", "-g", "-fomit-frame-pointer", "-pthread", "-o", "f/cs", "c.c"], cwd=tmp_path, check=True)
    at = {name: symbol(tmp_path / "f/cs", name)[0] for name in ("middle", "compare", "main")}
    text = JOURNAL.format(leaf=at["middle"], caller=at["compare"] + 9, main=at["main"] + 20)
    prefixed = "".join(f"Nov 22 20:58:13 host systemd-coredump[29900]: {line}\n" for line in text.splitlines())
    for report in (text, prefixed):
        for options in (["--files", "f"], ["--files", tmp_path / "f"], ["--module", "cs=f/cs"], ["--module", f"cs={tmp_path}/f/cs"]):
            result = unhex("symbolize", *options, "-", stdin=report, cwd=tmp_path)
            names = added(report, result.stdout)
            assert [n.split(" at ")[0] for n in names if "c.c:" in n] == ["inner", "middle", "compare", "main"], result.stderr


def test_a_damaged_core_dump_is_read_as_far_as_it_goes_or_said_to_be(crash, tmp_path):
    crash.core()
    whole = (crash.folder / "core").read_bytes()
    cut = tmp_path / "cut"
    for size in (len(whole) // 2, 4096, 100):
        cut.write_bytes(whole[:size])
        result = unhex("symbolize", cut)
        assert result.returncode in (0, 1), result.stderr
        assert result.returncode == 0 or result.stderr.startswith("unhex: "), result.stderr


MODULE = """
__attribute__((noinline)) int helper(int x) { return x * 3; }
__attribute__((noinline)) int module_function(int x) { return helper(x) + helper(x + 1); }
"""


@pytest.fixture(scope="module")
def ko(tmp_path_factory):
    """some-fs.ko, and an oops in it."""
    folder = tmp_path_factory.mktemp("ko")
    (folder / "x.c").write_text(MODULE)
    subprocess.run(["gcc", "-c", "-O1", "-g", "x.c", "-o", "x.o"], cwd=folder, check=True)
    subprocess.run(["ld", "-r", "--build-id", "-o", "some-fs.ko", "x.o"], cwd=folder, check=True)
    size = {}
    for line in subprocess.run(["nm", "-S", "some-fs.ko"], cwd=folder, capture_output=True, text=True,
                               check=True).stdout.splitlines():
        size[line.split()[-1]] = int(line.split()[1], 16)
    text = f"""[   12.345680] CPU: 1 PID: 7 Comm: cat Tainted: G  OE  6.1.0-18-amd64 #1  Debian 6.1.76-1
[   12.345681] RIP: 0010:helper+0x1/0x{size["helper"]:x} [some_fs]
[   12.345684]  module_function+0x9/0x{size["module_function"]:x} [some_fs]
"""
    return folder / "some-fs.ko", text


PACKED = {"": ["cat"], ".xz": ["xz", "-c"], ".zst": ["zstd", "-q", "-c"], ".gz": ["gzip", "-c"]}


@pytest.mark.parametrize("ending", PACKED)
@pytest.mark.parametrize("way", ["depmod", "unpacked", "debug", "chosen"])
def test_an_oops_in_a_module_is_named_by_its_file(crash, ko, tmp_path, ending, way):
    module, text = ko
    folder = tmp_path / "lib/modules/6.1.0-18-amd64"
    (folder / "kernel/fs").mkdir(parents=True)
    file = folder / f"kernel/fs/some-fs.ko{ending}"
    with open(file, "wb") as out, open(module, "rb") as content:
        subprocess.run(PACKED[ending], stdin=content, stdout=out, check=True)
    options = ["--files", tmp_path]
    if way == "depmod":
        (folder / "modules.dep").write_text(f"kernel/fs/some-fs.ko{ending}:\n")
    elif way == "debug":
        options = ["--debug-dir", tmp_path]
    elif way == "chosen":
        options = ["--module", f"some_fs={file}"]
    result = named(crash, text, *options, "-v")
    names = added(text, result.stdout)
    source = module.parent / "x.c"
    assert names == [f"helper at {source}:2", f"module_function at {source}:3"], (names, result.stderr)
    how = "--module" if way == "chosen" else "by its name and the release of the kernel in the text"
    assert how in result.stderr
    # A module of another kernel is not used.
    other = text.replace("6.1.0-18", "6.1.0-19")
    if way != "chosen":
        assert "helper at" not in named(crash, other, *options).stdout


def test_a_module_of_another_build_is_not_used(crash, ko, tmp_path):
    module, text = ko
    folder = tmp_path / "usr/lib/modules/6.1.0-18-amd64"
    folder.mkdir(parents=True)
    (folder / "some-fs.ko").write_bytes(module.read_bytes())
    own = build_id(module).removeprefix("gnu:")
    for written, found in ((own, True), ("00" * 20, False)):
        result = named(crash, text.replace("[some_fs]", f"[some_fs {written}]"), "--files", tmp_path, "-v")
        assert ("helper at" in result.stdout) == found, result.stderr
        assert found or f"some-fs.ko is gnu:{own[:8]}" in result.stdout  # a long path cuts it off


def test_a_name_with_several_files_is_not_resolved_by_a_guess(crash, tmp_path):
    text = crash.coredump().replace(f"({crash.prog} +", "(prog +")
    text = re.sub(r"(?m)^ *Module prog .*\n", "", text)
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, file in ((one, crash.prog), (two, crash.asan)):
        folder.mkdir()
        (folder / "prog").write_bytes(file.read_bytes())
    found = named(crash, text, "--files", one, "--no-local", "-v")
    assert "found by its name" in found.stderr and "middle at" in found.stdout
    both = named(crash, text, "--files", one, "--files", two, "--no-local")
    assert "2 files have that name" in both.stderr and "--module prog=" in both.stderr
    assert "middle at" not in both.stdout
    for choice in (one / "prog", build_id(crash.prog)):
        chosen = named(crash, text, "--files", two, "--module", f"prog={choice}", "-v")
        assert "found by --module" in chosen.stderr and "middle at" in chosen.stdout, chosen.stderr


def test_a_module_may_be_chosen_by_a_path_of_this_folder(crash):
    """As the help of the command does: --module NAME=FILE, and a fault that the kernel has logged."""
    full = crash.folder / "full/prog"
    start = symbol(full, "middle")[0]
    line = f"prog[7]: segfault at 0 ip {0x5642f6a10000 + start:016x} sp 0 error 4 in prog[{start:x},5642f6a11000+1000]\n"
    for text in (f"/elsewhere/prog(+{start:#x})[{0x5642f6a10000 + start:#x}]\n", line):
        done = unhex("symbolize", "--module", "prog=prog", "-", stdin=text, cwd=full.parent)
        assert done.returncode == 0 and "1 of 1 frames have names" in done.stderr, done.stderr
    assert "    middle" in done.stdout  # where it began, and not a byte before it


def test_a_file_with_another_id_is_not_used(crash):
    text = f"    #0 0x55 (/{crash.prog}+0x1200) (BuildId: {'ab' * 20})\n"
    result = named(crash, text, "-v")
    assert result.returncode == 1 and result.stdout.startswith(text)
    assert build_id(crash.prog) in result.stderr


def test_a_server_names_what_is_not_here(crash, server):
    assert server.unhex("push", *sorted((crash.folder / "full").iterdir())).returncode == 0
    text = crash.core()
    result = unhex("symbolize", "--no-local", "--debug-dir", "", "-", stdin=text,
                   env={"UNHEX_URL": server.url})
    has_chain(crash, added(text, result.stdout))


def test_a_server_is_searched_by_name_and_never_guesses(crash, server, tmp_path):
    assert server.unhex("push", crash.folder / "full/prog").returncode == 0
    text = re.sub(r"(?m)^ *Module prog .*\n", "", crash.coredump()).replace(f"({crash.prog} +", "(prog +")
    options = ("--no-local", "--debug-dir", "", "-v", "-")
    result = unhex("symbolize", *options, stdin=text, env={"UNHEX_URL": server.url})
    assert "which only one build on the server has" in result.stderr and "middle at" in result.stdout, result.stderr
    (tmp_path / "prog").write_bytes((crash.folder / "full/asan").read_bytes())
    assert server.unhex("push", tmp_path / "prog").returncode == 0
    result = unhex("symbolize", *options, stdin=text, env={"UNHEX_URL": server.url})
    assert "2 builds on the server have that name" in result.stderr and "middle at" not in result.stdout
    assert all(build_id(crash.folder / "full" / name) in result.stderr for name in ("prog", "asan"))


def test_output_goes_into_a_file_whole_or_not_at_all(crash, tmp_path):
    text, out = crash.backtrace(), tmp_path / "out.txt"
    result = named(crash, text, "-o", out)
    assert result.stdout == "" and "middle at" in out.read_text()
    fails(unhex("symbolize", "-", "-o", tmp_path / "no/out.txt", stdin=text), 1, "no/out.txt")
    bad = named(crash, text, "--to", "pprof")
    assert bad.returncode == 2 and "no samples" in bad.stderr


def test_text_of_any_size_is_passed_on_in_bounded_memory(crash):
    """126 MB from a pipe, of which one line has 100 MB, in less memory than a part of it takes."""
    report = crash.backtrace().encode()
    pieces = [report, b"x" * (100 << 20) + b"\n", b"hello, 12 of 34 are there\n" * (1 << 20), report]
    feed = subprocess.Popen([UNHEX, "symbolize", "--debug-dir", crash.debug, "-"], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=crash.folder,
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20)))
    if os.fork() == 0:
        feed.stdout.close()
        for piece in pieces:
            feed.stdin.write(piece)
        feed.stdin.flush()
        os._exit(0)
    feed.stdin.close()
    names, total = 0, 0
    for line in iter(lambda: feed.stdout.readline(1 << 20), b""):
        names += b" at " in line
        total += len(line)
    os.wait()
    assert feed.wait(timeout=120) == 0
    assert names >= 10 and total > sum(map(len, pieces))


def test_a_text_that_is_followed_gets_its_names_as_it_comes(crash):
    feed = subprocess.Popen([UNHEX, "symbolize", "--follow", "--debug-dir", crash.debug, "-"], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=crash.folder)
    report = crash.backtrace().encode()
    for _ in range(2):
        feed.stdin.write(report)
        feed.stdin.flush()
        while b"main at" not in feed.stdout.readline():  # the pipe is still open
            pass
    feed.stdin.close()
    feed.stdout.read()
    assert feed.wait(timeout=60) == 0


def test_native_frames_of_py_spy_get_names_by_pasted_mappings(crash):
    """py-spy prints addresses of the process and short names of files; /proc/PID/maps says the rest."""
    report = crash.gdb("info proc mappings")
    where = [f"    {address} (prog)\n" for address in re.findall(r"(?m)^#\d+\s+(0x\w+) in ", report)]
    maps = report[report.index("Mapped address spaces"):]
    text = ('Process 7: python3 a.py\nPython v3.11.2 (/usr/bin/python3.11)\n\nThread 7 (active): "MainThread"\n'
            + "".join(where) + "    run (a.py:12)\n    <module> (a.py:20)\n")
    alone = named(crash, text, "--no-local")
    assert counts(alone) == (2, 2 + len(where), 2) and f"0 of {len(where)} frames named: prog" in alone.stderr
    result = named(crash, text + maps)
    assert counts(result) == (2 + len(where), 2 + len(where), 2), result.stderr
    has_chain(crash, added(text + maps, result.stdout))
