# SPDX-License-Identifier: Apache-2.0
"""Linked programs of other machines: every address as llvm-symbolizer says."""
import json
import re
import shutil
import subprocess

import pytest

from tool import lines, unhex

SOURCE = """
static int table[4] = {1, 2, 3, 4};
static inline __attribute__((always_inline)) int inner(int x)
{
	return table[x & 3] * 3;
}
__attribute__((noinline)) int first(int x)
{
	int sum = 0;
	for (int i = 0; i < x; i++)
		sum += inner(i) ^ i;
	return sum;
}
__attribute__((noinline)) int second(int x)
{
	return x > 3 ? inner(first(x)) + 2 : first(x) + 1;
}
void _start(void)
{
	for (;;)
		table[second(table[0]) & 3]++;
}
"""

TARGETS = ["x86_64-linux-gnu", "i386-linux-gnu", "x86_64-linux-gnux32", "aarch64-linux-gnu",
           "armv7-linux-gnueabihf", "thumbv7-linux-gnueabihf", "riscv64-linux-gnu",
           "riscv32-linux-gnu", "powerpc64le-linux-gnu", "powerpc-linux-gnu", "mips-linux-gnu",
           "mipsel-linux-gnu", "mips64el-linux-gnu", "mips64-linux-gnu"]


def run(*args, **more):
    return subprocess.run([str(a) for a in args], check=True, capture_output=True, text=True,
                          **more).stdout


def clang():
    return shutil.which("clang-14") or "clang"


def linked(folder, target, *flags):
    """A program without a library, by clang and lld."""
    (folder / "p.c").write_text(SOURCE)
    run(clang(), f"--target={target}", "-O2", "-g", "-ffreestanding", "-nostdlib", "-fuse-ld=lld",
        *flags, "p.c", "-o", "p", cwd=folder)
    return folder / "p"


def functions(path):
    """{name: (address, size)} as readelf lists them."""
    row = re.compile(r"\s*\d+: ([0-9a-f]+) +(\d+) FUNC +\S+ +\S+ .* (\S+)$")
    found = [row.match(line) for line in run("readelf", "-sW", path).splitlines()]
    return {m[3]: (int(m[1], 16), int(m[2])) for m in found if m}


def ours(path, addresses):
    out = unhex("lookup", path, "--json", "--demangle", "none",
                stdin="".join(f"{a:#x}\n" for a in addresses))
    assert [line for line in out.stderr.splitlines() if "is stripped" not in line] == []
    return [[(f.get("function", ""), f.get("file", ""), f.get("line", 0)) for f in o["frames"]]
            for o in lines(out)]


def theirs(path, addresses):
    out = run("llvm-symbolizer-19", f"--obj={path}", "--no-demangle", "--output-style=JSON",
              input="".join(f"{a:#x}\n" for a in addresses))
    return [[(f["FunctionName"], f["FileName"], f["Line"]) for f in json.loads(line)["Symbol"]]
            for line in out.splitlines()]


def without_labels(theirs_all, mine_all):
    """llvm-symbolizer names functions of RISC-V after the labels inside of them."""
    return [[*t[:-1], (m[-1][0], *t[-1][1:])] if t and m and re.fullmatch(r"|\.L.*", t[-1][0])
            else t for t, m in zip(theirs_all, mine_all)]


@pytest.mark.parametrize("dwarf", [4, 5])
@pytest.mark.parametrize("target", TARGETS)
def test_every_machines_programs_come_out_as_llvm_symbolizer_says(tmp_path, target, dwarf):
    path = linked(tmp_path, target, f"-gdwarf-{dwarf}")
    places = functions(path)
    assert {"first", "second", "_start"} <= places.keys()
    addresses = [a for name, (lo, size) in places.items()
                 for a in range(lo & ~1 if "thumb" in target else lo, (lo & ~1) + size, 2)]
    mine = ours(path, addresses)
    assert all(frames and frames[-1][0] in places for frames in mine)
    assert mine == without_labels(theirs(path, addresses), mine)
    assert any(len(frames) == 2 for frames in mine)


@pytest.mark.parametrize("target", ["powerpc64-linux-gnu", "powerpc64le-linux-gnu"])
def test_symbols_of_powerpc_name_code_by_either_abi(tmp_path, target):
    """Big-endian symbols are descriptors in .opd; little-endian ones have a second entry."""
    (tmp_path / "p.c").write_text(SOURCE)
    run(clang(), f"--target={target}", "-O2", "-g", "-c", "-ffreestanding", "p.c", "-o", "p.o",
        cwd=tmp_path)
    assert (" .opd " in run("readelf", "-SW", tmp_path / "p.o")) == ("64le" not in target)
    for how in ([], ["--no-dwarf"]):
        run_of = unhex("extract", *how, "p.o", "-o", "p.gsym", cwd=tmp_path)
        assert run_of.returncode == 0, run_of.stderr
        dump = unhex("gsym", "dump", "p.gsym", cwd=tmp_path).stdout
        found = re.findall(r"^function (\S+)-\S+ (\w+)", dump, re.M)
        assert [name for _, name in found] == ["first", "second", "_start"]
        assert found[0][0] == "0x0"


def without_sections(path, out):
    """A copy without a section table, as sstrip leaves it."""
    data = bytearray(path.read_bytes())
    data[0x28:0x30] = bytes(8)
    data[0x3a:0x40] = bytes(6)
    out.write_bytes(data)
    return out


@pytest.mark.parametrize("style", ["sysv", "gnu", "both"])
def test_a_file_without_sections_is_named_by_what_its_loader_finds(tmp_path, style):
    (tmp_path / "lib.c").write_text("int hidden(int x) __attribute__((visibility(\"hidden\")));\n"
                                    "int hidden(int x) { return x * 3; }\n"
                                    "int shown(int x) { return hidden(x) + 1; }\n"
                                    "int also(int x) { return shown(x) + 2; }\n")
    run("gcc", "-O0", "-shared", "-fPIC", f"-Wl,--hash-style={style}", "lib.c", "-o", "lib.so",
        cwd=tmp_path)
    bare = without_sections(tmp_path / "lib.so", tmp_path / "bare.so")
    places = functions(tmp_path / "lib.so")
    starts = [places[name][0] + 1 for name in ("shown", "also")]
    assert [[f[0] for f in frames] for frames in ours(bare, starts)] == [["shown"], ["also"]]
    dumped = unhex("id", "--json", bare)
    assert lines(dumped)[0]["quality"] == "dynsym"


def test_an_indirect_function_and_its_resolver_are_both_code(tmp_path):
    (tmp_path / "p.c").write_text("""
static int plain(int x) { return x + 1; }
static void *choose(void) { return plain; }
int chosen(int x) __attribute__((ifunc("choose")));
int main(int argc, char **argv) { return chosen(argc) + !argv; }
""")
    run("gcc", "-O0", "p.c", "-o", "p", cwd=tmp_path)
    nm = {w[2]: int(w[0], 16) for w in map(str.split, run("nm", tmp_path / "p").splitlines())
          if len(w) == 3}
    assert nm["chosen"] == nm["choose"]
    names = [frames[0][0] for frames in ours(tmp_path / "p", [nm["plain"], nm["choose"]])]
    assert names[0] == "plain"
    assert names[1] in ("chosen", "choose")


def test_a_program_linked_away_from_its_place_in_the_file_keeps_its_addresses(tmp_path):
    """Neither the first segment's address nor its offset is 0, and code's differ."""
    path = linked(tmp_path, "x86_64-linux-gnu", "-static", "-Wl,--image-base=0x7700000")
    loads = re.findall(r"LOAD +0x([0-9a-f]+) 0x([0-9a-f]+) .* R E ", run("readelf", "-lW", path))
    assert all(int(off, 16) != int(vaddr, 16) - 0x7700000 for off, vaddr in loads)
    lo, size = functions(path)["second"]
    addresses = range(lo, lo + size)
    assert lo > 0x7700000
    assert ours(path, addresses) == theirs(path, addresses)


def test_a_debug_file_of_a_moved_module_is_refused(tmp_path):
    """As after prelink: the build ID is the same, the addresses are not."""
    path = linked(tmp_path, "x86_64-linux-gnu", "-static", "-Wl,--build-id=0x1234")
    run("objcopy", "--only-keep-debug", path, tmp_path / "p.debug")
    run("objcopy", "--change-addresses=0x10000", path, tmp_path / "moved")
    out = unhex("extract", tmp_path / "moved", "-d", tmp_path / "p.debug", "-o",
                tmp_path / "moved.gsym")
    assert out.returncode == 1
    assert "one of them was moved" in out.stderr
    assert not (tmp_path / "moved.gsym").exists()


def test_more_than_64k_sections_are_distinguished(tmp_path):
    count = 66000
    (tmp_path / "p.s").write_text("".join(
        f'.section .text.f{i},"ax",@progbits\n.globl f{i}\n.type f{i},@function\nf{i}: ret\n'
        f".size f{i}, 1\n" for i in range(count)))
    run("gcc", "-c", "p.s", "-o", "p.o", cwd=tmp_path)
    assert unhex("extract", "p.o", "-o", "p.gsym", cwd=tmp_path).returncode == 0
    dump = unhex("gsym", "dump", "p.gsym", cwd=tmp_path).stdout
    found = re.findall(r"^function \S+ (f\d+)", dump, re.M)
    assert len(found) == count and found[-1] == f"f{count - 1}"
