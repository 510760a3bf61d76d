# SPDX-License-Identifier: Apache-2.0
"""What stripped files still tell: stubs, bounds of functions, compressed symbols; by real ones."""
import os
import re
import shutil
import subprocess

import pytest

from tool import lines, unhex

# Programs and libraries that are on every machine that runs these tests.
REAL = [p for p in ["/bin/ls", "/usr/bin/git", "/usr/bin/gdb", "/usr/bin/perl",
                    "/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
                    "/usr/bin/python3"] if os.path.exists(p)]


def run(*args, **more):
    return subprocess.run([str(a) for a in args], check=True, capture_output=True, text=True,
                          **more).stdout


def functions(path, tmp_path):
    """{start: (end, name)} without DWARF."""
    gsym = tmp_path / "x.gsym"
    out = unhex("extract", "--no-dwarf", path, "-o", gsym)
    assert out.returncode == 0, out.stderr
    dump = unhex("gsym", "dump", gsym).stdout
    return {int(m[1], 16): (int(m[2], 16), m[3])
            for m in re.finditer(r"^function (0x\w+)-(0x\w+) (.*)$", dump, re.M)}


def labels(path, tool):
    """{address: name} of the stubs that a disassembler names."""
    text = run(tool, "-d", path)
    return {int(m[1], 16): m[2]
            for m in re.finditer(r"^0*([0-9a-f]+) <([^>]+@plt)>:$", text, re.M)}


def as_ours(name):
    """binutils writes versions; what a module's own function chooses it names by its place."""
    return "*@plt" if name.startswith("*ABS*") else re.sub(r"@+[^@]*@plt$", "@plt", name)


def chosen(path):
    """Names of the functions that choose: binutils has but their address."""
    return {m for line in run("readelf", "--dyn-syms", "-sW", path).splitlines()
            for m in re.findall(r" IFUNC .* (\w+)(?:@.*)?$", line)}


@pytest.mark.parametrize("path", REAL)
def test_stubs_have_the_names_that_objdump_prints(path, tmp_path):
    theirs = labels(path, "objdump")
    if not theirs and path != "/usr/bin/python3":
        pytest.fail("objdump names no stub")
    mine = {a: name for a, (_, name) in functions(path, tmp_path).items() if name.endswith("@plt")}
    assert mine.keys() == theirs.keys()
    own = chosen(path)
    for address, name in theirs.items():
        if as_ours(name) == "*@plt":
            assert mine[address] == name or mine[address].removesuffix("@plt") in own
        else:
            assert mine[address] == as_ours(name)


CALLER = """
extern int first(int), second(int, int);
extern int table(void);
int (*keep)(void) = table;
int caller(int x) { return first(x) + second(x, 2) + table() + keep(); }
"""


@pytest.mark.parametrize("target,flags", [
    ("x86_64-linux-gnu", []), ("x86_64-linux-gnu", ["-fcf-protection=full", "-Wl,-z,force-ibt"]),
    ("x86_64-linux-gnu", ["-Wl,-z,retpolineplt"]), ("x86_64-linux-gnu", ["-Wl,-z,now"]),
    ("i386-linux-gnu", []), ("aarch64-linux-gnu", []),
    ("aarch64-linux-gnu", ["-mbranch-protection=bti", "-Wl,-z,force-bti"]),
    ("armv7-linux-gnueabihf", []), ("thumbv7-linux-gnueabihf", []), ("riscv64-linux-gnu", []),
    ("riscv32-linux-gnu", []), ("powerpc64le-linux-gnu", [])],
    ids=lambda v: v if isinstance(v, str) else "-".join(v).replace("-Wl,", "") or "plain")
def test_every_machine_calls_what_its_stubs_are_named_after(target, flags, tmp_path):
    """One stub for each function that is called, at the addresses that the caller calls."""
    (tmp_path / "c.c").write_text(CALLER)
    clang = shutil.which("clang-14") or "clang"
    run(clang, f"--target={target}", "-O1", "-fPIC", "-shared", "-nostdlib", "-fuse-ld=lld",
        "-Wl,--unresolved-symbols=ignore-all", *flags, "c.c", "-o", "c.so", cwd=tmp_path)
    found = {a: (end, name) for a, (end, name) in functions(tmp_path / "c.so", tmp_path).items()
             if name.endswith("@plt")}
    assert {name for _, name in found.values()} == {"first@plt", "second@plt", "table@plt"}
    text = run("llvm-objdump-19", "-d", "--no-show-raw-insn", tmp_path / "c.so")
    called = {int(m, 16) for m in re.findall(r"\s(?:callq?|calll|bl|blx|jal)\s+0x([0-9a-f]+)", text)}
    if called:
        assert called <= found.keys() | {a for a in called if a not in found and not any(
            a < e and a >= s for s, (e, _) in found.items())}
        assert len(called & found.keys()) >= 3 or target.startswith(("riscv", "i386"))


def calls_of(n):
    """A source that calls n functions of others."""
    many = [f"f{i}" for i in range(n)]
    parts = [many[i:i + 1000] for i in range(0, n, 1000)]
    return "".join(f"extern void {f}(void);\n" for f in many) + "".join(
        f"void c{i}(void) {{ {''.join(f'{f}();' for f in part)} }}\n" for i, part in enumerate(parts))


@pytest.mark.parametrize("n", [3, 33000], ids=["few", "more-than-15-bits"])
@pytest.mark.parametrize("target,abi", [("powerpc64le", "elfv2"), ("powerpc64", "elfv1"), ("powerpc64", "elfv2")])
def test_first_calls_of_powerpc_have_the_names_that_objdump_prints(target, abi, n, tmp_path):
    """binutils names what runs at a first call; we name that, and the stub that is called each time."""
    (tmp_path / "c.c").write_text(calls_of(n))
    clang = shutil.which("clang-14") or "clang"
    run(clang, f"--target={target}-linux-gnu", f"-mabi={abi}", "-O1", "-fPIC", "-c", "c.c", cwd=tmp_path)
    run(f"{target}-linux-gnu-ld", "-shared", "-z", "lazy", "c.o", "-o", "c.so", cwd=tmp_path)
    mine = {a: name for a, (_, name) in functions(tmp_path / "c.so", tmp_path).items() if name.endswith("@plt")}
    theirs = labels(tmp_path / "c.so", f"{target}-linux-gnu-objdump")
    assert len(theirs) == n
    assert {a: mine.get(a) for a in theirs} == theirs
    called = [name for a, name in mine.items() if a not in theirs]
    assert sorted(called) == sorted(theirs.values())
    run(f"{target}-linux-gnu-strip", "c.so", cwd=tmp_path)
    stripped = {a: name for a, (_, name) in functions(tmp_path / "c.so", tmp_path).items() if name.endswith("@plt")}
    assert stripped == mine


def frames_of(path):
    """{start: end} of all FDEs, as readelf decodes them."""
    text = subprocess.run(["readelf", "--debug-dump=frames", path], capture_output=True, text=True,
                          check=False).stdout  # of libc it also complains
    return {int(m[1], 16): int(m[2], 16)
            for m in re.finditer(r" FDE cie=\w+ pc=([0-9a-f]+)\.\.([0-9a-f]+)", text)}


@pytest.mark.parametrize("path", REAL)
def test_functions_without_a_name_are_those_of_the_frames(path, tmp_path):
    fdes = frames_of(path)
    mine = functions(path, tmp_path)
    unnamed = {a: end for a, (end, name) in mine.items() if name == "<no name>"}
    assert unnamed.keys() <= fdes.keys()
    starts = sorted(mine)
    for at, nxt in zip(starts, starts[1:] + [1 << 62]):
        if at in unnamed:
            assert unnamed[at] == min(fdes[at], nxt)
    covered = sorted((a, e) for a, (e, _) in mine.items())
    for at in fdes.keys() - mine.keys():  # all others lie in something that has a name
        assert any(a <= at < e for a, e in covered), hex(at)


def with_debugdata(prog, folder):
    """A stripped copy with the symbols that .dynsym lacks, as Fedora's packages keep them."""
    bare, mini = folder / "bare", folder / "mini"
    run("strip", "-o", bare, prog)
    shown = {w.split()[2] for w in run("nm", "-D", "--format=posix", prog).splitlines()
             if len(w.split()) > 2}
    keep = [w.split()[0] for w in run("nm", "--format=posix", "--defined-only", prog).splitlines()
            if w.split()[1] in "tT" and w.split()[0] not in shown]
    (folder / "keep").write_text("\n".join(keep) + "\n")
    run("objcopy", "--only-keep-debug", prog, mini)
    run("objcopy", "-S", "--remove-section", ".comment", f"--keep-symbols={folder}/keep", mini)
    run("xz", "-kf", mini)
    run("objcopy", "--add-section", f".gnu_debugdata={mini}.xz", bare)
    return bare, keep


def test_compressed_symbols_name_functions_as_the_full_table_does(prog, tmp_path):
    bare, keep = with_debugdata(prog, tmp_path)
    assert {"outer", "main"} <= set(keep)
    reported = lines(unhex("id", "--json", bare))[0]
    assert reported["quality"] == "symtab"
    assert {s["source"] for s in reported["sources"]} >= {"gnu_debugdata", "plt", "bounds"}
    mine = functions(bare, tmp_path)
    full = functions(prog, tmp_path)
    assert {a: v for a, v in mine.items() if v[1] in keep} == \
        {a: v for a, v in full.items() if v[1] in keep}
    gdb = run("gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex",
              *[f"info symbol {min(a for a, v in mine.items() if v[1] == 'outer'):#x}"], bare)
    assert gdb.splitlines()[-1].startswith("outer in section .text")


def test_damaged_compressed_symbols_are_said_and_the_rest_is_there(prog, tmp_path):
    bare, _ = with_debugdata(prog, tmp_path)
    (tmp_path / "bad").write_bytes((tmp_path / "mini.xz").read_bytes()[:-40])
    run("objcopy", "--update-section", f".gnu_debugdata={tmp_path}/bad", bare)
    out = unhex("extract", bare, "-o", tmp_path / "b.gsym")
    assert out.returncode == 0
    assert "xz stream is cut off" in out.stderr
    assert "damaged" in lines(unhex("id", "--json", bare))[0]


def test_a_file_without_sections_has_its_stubs_and_bounds(prog, tmp_path):
    full = functions(prog, tmp_path)
    data = bytearray(prog.read_bytes())
    data[0x28:0x30] = bytes(8)
    data[0x3a:0x40] = bytes(6)
    (tmp_path / "bare").write_bytes(data)
    mine = functions(tmp_path / "bare", tmp_path)
    stubs = {a: v[1] for a, v in full.items() if v[1] == "atoi@plt" or v[1] == "strtol@plt"}
    assert stubs.items() <= {a: v[1] for a, v in mine.items()}.items()
    outer = [a for a, v in full.items() if v[1] == "outer"]
    assert [mine[a][1] for a in outer] == ["<no name>"]
    reported = lines(unhex("lookup", "--json", tmp_path / "bare", hex(outer[0] + 5)))[0]
    assert reported["frames"] == [{"function": "<no name>", "start": hex(outer[0])}]
    text = unhex("lookup", tmp_path / "bare", hex(outer[0] + 5)).stdout
    assert text == f"{outer[0] + 5:#x} <no name>+0x5\n"


