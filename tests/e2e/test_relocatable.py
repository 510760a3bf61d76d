# SPDX-License-Identifier: Apache-2.0
"""Object files and kernel modules: their relocations applied, their sections laid out."""
import json
import re
import shutil
import subprocess

import pytest

from tool import fails, lines, unhex

SOURCE = """
extern int ext(int);
static THREAD int local;
static inline __attribute__((always_inline)) int inner(int x)
{
	return ext(x) * 3;
}
__attribute__((noinline)) int first(int x)
{
	int sum = 0;
	for (int i = 0; i < x; i++)
		sum += inner(i) ^ i;
	return sum;
}
int second(int x)
{
	local = x;
	return x > 3 ? inner(first(x)) + 2 : first(x) + 1;
}
"""

SECTIONS = """
__attribute__((section(".init.text"))) int setup(int x)
{
	return inner(x) + 2;
}
__attribute__((cold)) int rare(int x)
{
	return inner(x) + first(x);
}
"""

# What a distribution's compiler and clang can write; each must come out as llvm-symbolizer says.
TARGETS = ["x86_64-linux-gnu", "i386-linux-gnu", "aarch64-linux-gnu", "aarch64_be-linux-gnu",
           "armv7-linux-gnueabihf", "riscv64-linux-gnu", "riscv32-linux-gnu", "s390x-linux-gnu",
           "powerpc64-linux-gnu", "powerpc64le-linux-gnu", "powerpc-linux-gnu",
           "mips64el-linux-gnu", "mips64-linux-gnu", "mips-linux-gnu", "mipsel-linux-gnu",
           "sparcv9-linux-gnu", "sparc-linux-gnu", "bpf", "bpfeb", "hexagon"]


def run(*args, **more):
    return subprocess.run([str(a) for a in args], check=True, capture_output=True, text=True,
                          **more).stdout


def clang():
    return shutil.which("clang-14") or "clang"


def compiled(folder, *args, compiler="gcc", source=SOURCE, name="x"):
    """folder/NAME.o"""
    thread = "" if "bpf" in args or "bpfeb" in args else "__thread"
    (folder / f"{name}.c").write_text(source.replace("THREAD", thread))
    run(compiler, "-c", "-O2", "-g", *args, f"{name}.c", "-o", f"{name}.o", cwd=folder)
    return folder / f"{name}.o"


def code_sections(path):
    """[(name, size, alignment)] of the code, as readelf lists it."""
    row = re.compile(r"\s*\[ *\d+\] (\S+) +\S+ +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+) [0-9a-f]+ +"
                     r"(\S+) +\d+ +\d+ +(\d+)$")
    found = [row.match(line) for line in run("readelf", "-SW", path).splitlines()]
    return [(m[1], int(m[2], 16), int(m[4])) for m in found if m and set("AX") <= set(m[3])]


def layout(path):
    """{section: address} as docs/formats/relocatable.md has it."""
    sections = code_sections(path)
    sections.sort(key=lambda s: 0 if s[0] == ".text" else 2 if s[0].startswith(".init") else 1)
    at, result = 0, {}
    for name, size, align in sections:
        at = -(-at // align) * align
        result.setdefault(name, at)
        at += size
    return result


def ours(path, addresses):
    out = unhex("lookup", path, "--json", "--demangle", "none",
                stdin="".join(f"{a:#x}\n" for a in addresses))
    assert not out.stderr
    return [[(f.get("function", ""), f.get("file", ""), f.get("line", 0)) for f in o["frames"]]
            for o in lines(out)]


def symbolizer(path, addresses):
    out = run("llvm-symbolizer-19", f"--obj={path}", "--no-demangle", "--output-style=JSON",
              input="".join(f"{a:#x}\n" for a in addresses))
    result = []
    for line in out.splitlines():
        frames = [(f["FunctionName"], f["FileName"], f["Line"])
                  for f in json.loads(line)["Symbol"]]
        result.append([] if frames == [("", "", 0)] else frames)
    return result


def addr2line(path, section, offsets):
    """binutils' frames: (function, line)."""
    out = run("addr2line", "-fiae", path, "-j", section, input="".join(f"{o:#x}\n" for o in offsets))
    result = []
    for line in out.splitlines():
        if line.startswith("0x"):
            result.append([])
        elif not result[-1] or len(result[-1][-1]) == 2:
            result[-1].append((line,))
        else:
            number = line.split(" ")[0].rsplit(":", 1)[1]
            result[-1][-1] += (0 if number == "?" else int(number),)
    return result


def linked(path):
    """A linked copy whose code lies as in the layout, but 256 MiB higher."""
    base, out = 0x10000000, path.with_suffix(".linked")
    rows = [f'"{name}" {base + at:#x} : {{ *("{name}") }}' for name, at in layout(path).items()]
    script = path.with_suffix(".ld")
    script.write_text("SECTIONS {\n" + "\n".join(rows) + "\n. = 0x40000000;\n"
                      ".rest : { *(.rodata* .data* .bss* .tbss* .eh_frame* .note*) }\n}\n")
    run("ld", "-T", script, "--unresolved-symbols=ignore-all", "--noinhibit-exec", "-e", "0",
        "-o", out, path)
    return base, out


def no_padding(theirs):
    """llvm-symbolizer gives lines between functions; those have no function."""
    return [f if f and f[-1][0] else [] for f in theirs]


def without_labels(theirs, mine):
    """llvm-symbolizer names functions of these machines after the labels inside of them."""
    return [[*t[:-1], (m[-1][0], *t[-1][1:])] if t and m and re.fullmatch("|L?LBB.*", t[-1][0])
            else t for t, m in zip(theirs, mine)]


def one_text(path):
    return [size for name, size, _ in code_sections(path) if name == ".text"][0]


@pytest.mark.parametrize("dwarf", [4, 5])
@pytest.mark.parametrize("target", TARGETS)
def test_every_machines_objects_come_out_as_llvm_symbolizer_says(tmp_path, target, dwarf):
    path = compiled(tmp_path, "-target", target, "-fintegrated-as", f"-gdwarf-{dwarf}",
                    compiler=clang())
    addresses = range(one_text(path))
    mine = ours(path, addresses)
    assert sum(len(f) > 1 for f in mine) > 10
    assert {f[-1][0] for f in mine if f} == {"first", "second"}
    theirs = symbolizer(path, addresses)
    if target.startswith(("riscv", "bpf")):
        theirs = without_labels(theirs, mine)
    assert mine == no_padding(theirs)


@pytest.mark.parametrize("dwarf", [4, 5])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("flags", [[], ["-ffunction-sections"], ["-gz=zlib"], ["-fPIC", "-Og"]])
def test_several_code_sections_lie_one_behind_the_other(tmp_path, compiler, dwarf, flags):
    path = compiled(tmp_path, f"-gdwarf-{dwarf}", *flags, source=SOURCE + SECTIONS,
                    compiler=clang() if compiler == "clang" else compiler)
    assert sum(size > 0 for _, size, _ in code_sections(path)) > 1
    base, copy = linked(path)
    addresses = [at + i for (name, size, _) in code_sections(path)
                 for at in [layout(path)[name]] for i in range(size)]
    mine = ours(path, addresses)
    by_name = {f[-1][0] for f in mine if f}
    assert {"first", "second", "setup", "rare"} <= by_name
    theirs = no_padding(symbolizer(copy, [base + a for a in addresses]))
    # GCC's cold part has a symbol of its own; DWARF names it after the whole
    theirs = [[(f[0].removesuffix(".cold"), *f[1:]) for f in t] for t in theirs]
    assert mine == theirs


@pytest.mark.parametrize("dwarf", [4, 5])
def test_offsets_in_each_section_are_addr2lines(tmp_path, dwarf):
    path = compiled(tmp_path, f"-gdwarf-{dwarf}", "-fno-reorder-functions",
                    source=SOURCE + SECTIONS)
    for name, size, _ in code_sections(path):
        if size == 0:
            continue
        mine = [[(f[0], f[2]) for f in frames]
                for frames in ours(path, range(layout(path)[name], layout(path)[name] + size))]
        theirs = addr2line(path, name, range(size))
        known = [i for i, f in enumerate(mine) if f]
        assert len(known) > size * 0.8
        assert [mine[i] for i in known] == [theirs[i] for i in known]


def test_text_comes_first_and_init_last(tmp_path):
    path = compiled(tmp_path, source="int ext(int); static inline int inner(int x) "
                    "{ return ext(x); } int first(int);\n" + SECTIONS +
                    '__attribute__((section(".zzz"))) int second(int x) { return x; }\n'
                    "int first(int x) { return inner(x) + 1; }\n")
    names = sorted(layout(path), key=layout(path).get)
    assert names[0] == ".text" and names[-1] == ".init.text" and ".zzz" in names
    at = layout(path)
    assert ours(path, [0])[0][-1][0] == "first"
    assert ours(path, [at[".zzz"]])[0][-1][0] == "second"
    assert ours(path, [at[".init.text"]])[0][-1][0] == "setup"


def test_compact_relocations_say_the_same(tmp_path):
    path = compiled(tmp_path, "-ffunction-sections", compiler=clang())
    run(clang(), "-S", "-O2", "-g", "-ffunction-sections", "x.c", "-o", "x.s", cwd=tmp_path)
    run("llvm-mc-19", "-triple=x86_64", "-filetype=obj", "--crel", "x.s", "-o", "crel.o",
        cwd=tmp_path)
    assert "CREL" in run("llvm-readelf-19", "-SW", tmp_path / "crel.o")
    addresses = range(100)
    assert ours(tmp_path / "crel.o", addresses) == ours(path, addresses)


def test_loongarch_distances(tmp_path):
    rows = "".join(f"f{i}:\n\tnop\n\tla.local $a0, f0\n\tret\n" for i in range(40))
    (tmp_path / "l.s").write_text(".text\n" + rows)
    run("llvm-mc-19", "-triple=loongarch64", "-mattr=+relax", "-filetype=obj", "-g", "l.s", "-o",
        "l.o", cwd=tmp_path)
    assert "R_LARCH_ADD16" in run("llvm-readelf-19", "-rW", tmp_path / "l.o")
    addresses = range(one_text(tmp_path / "l.o"))
    mine = ours(tmp_path / "l.o", addresses)
    # a label, then lines of 4, 8 and 4 bytes of code
    assert [(f[0][0], f[0][2]) for f in mine] == \
        [(f"f{a // 16}", 3 + a // 16 * 4 + (0, 1, 1, 2)[a % 16 // 4]) for a in addresses]


def test_uleb128_distances_of_risc_v(tmp_path):
    (tmp_path / "x.c").write_text((SOURCE + SECTIONS).replace("THREAD", ""))
    run(clang(), "-target", "riscv64-linux-gnu", "-S", "-O2", "-g", "-gdwarf-5", "-mrelax",
        "-ffunction-sections", "x.c", "-o", "x.s", cwd=tmp_path)
    text = (tmp_path / "x.s").read_text()  # its versions of extensions are not LLVM 19's
    (tmp_path / "x.s").write_text(re.sub(r"(?m)^\s*\.attribute.*\n", "", text))
    run("llvm-mc-19", "-triple=riscv64", "-mattr=+m,+a,+f,+d,+c,+relax", "-filetype=obj", "x.s",
        "-o", "x.o", cwd=tmp_path)
    assert "R_RISCV_SUB_ULEB128" in run("llvm-readelf-19", "-rW", tmp_path / "x.o")
    mine = ours(tmp_path / "x.o", range(sum(s for _, s, _ in code_sections(tmp_path / "x.o"))))
    assert {f[-1][0] for f in mine if f} == {"first", "second", "setup", "rare"}
    assert sum(len(f) > 1 for f in mine) > 20


def test_what_ld_dropped_is_not_taken_for_the_first_function(tmp_path):
    """`ld -r` keeps the DWARF of a group's second copy, with zeros for its addresses."""
    template = "template <class T> __attribute__((noinline)) T twice(T x) { return x + x; }\n"
    for name in ("a", "b"):
        (tmp_path / f"{name}.cc").write_text(
            template + f"int {name}(int x) {{ return twice(x) + 1; }}\n")
        run("g++", "-c", "-O1", "-g", f"{name}.cc", "-o", f"{name}.o", cwd=tmp_path)
    run("ld", "-r", "a.o", "b.o", "-o", "ab.o", cwd=tmp_path)
    at = layout(tmp_path / "ab.o")
    first = ours(tmp_path / "ab.o", [0])[0]
    assert [f[0] for f in first] == ["_Z1ai"] and first[0][1].endswith("a.cc")
    group = next(a for n, a in at.items() if n.startswith(".text._Z5twice"))
    assert ours(tmp_path / "ab.o", [group])[0][-1][0] == "_Z5twiceIiET_S0_"


def test_type_units_in_groups_are_not_taken_for_the_code(tmp_path):
    (tmp_path / "t.cc").write_text("struct Big { int a, b, c; int sum() const; };\n"
                                   "int Big::sum() const { return a + b + c; }\n"
                                   "int use(Big *x) { return x->sum(); }\n")
    for dwarf in (4, 5):
        run("g++", "-c", "-O1", "-g", f"-gdwarf-{dwarf}", "-fdebug-types-section", "t.cc", "-o",
            "t.o", cwd=tmp_path)
        functions = {f[0][0] for f in ours(tmp_path / "t.o", range(16)) if f}
        assert functions == {"_ZNK3Big3sumEv", "_Z3useP3Big"}
        assert ours(tmp_path / "t.o", [0])[0][0][2] == 2


def test_a_stripped_module_and_its_debug_file_are_one(tmp_path):
    path = compiled(tmp_path, source=SOURCE + SECTIONS)
    run("objcopy", "--only-keep-debug", path, tmp_path / "x.debug")
    run("objcopy", "--strip-debug", path, tmp_path / "x.ko")
    whole = ours(path, range(200))
    out = unhex("extract", tmp_path / "x.ko", "-d", tmp_path / "x.debug", "-o",
                tmp_path / "x.gsym")
    assert out.returncode == 0 and not out.stderr
    assert ours(tmp_path / "x.gsym", range(200)) == whole
    assert sum(len(f) > 1 for f in whole) > 10


def test_a_linked_debug_file_of_an_object_is_refused(tmp_path):
    path = compiled(tmp_path, source=SOURCE)
    _, copy = linked(path)
    fails(unhex("extract", path, "-d", copy, "-o", tmp_path / "x.gsym"), 1,
          "one of them was linked")


def test_the_build_id_of_a_module_is_its_identity(tmp_path):
    path = compiled(tmp_path)
    note = tmp_path / "note.s"
    note.write_text('.section .note.gnu.build-id,"a",@note\n.long 4, 8, 3\n.ascii "GNU\\0"\n'
                    ".quad 0x0807060504030201\n")
    run("as", note, "-o", tmp_path / "note.o")
    run("ld", "-r", path, tmp_path / "note.o", "-o", tmp_path / "x.ko")
    assert lines(unhex("id", "--json", tmp_path / "x.ko"))[0]["ids"][0] == "gnu:0102030405060708"
    assert unhex("extract", tmp_path / "x.ko", "-o", tmp_path / "x.gsym").returncode == 0
    assert "0102030405060708" in unhex("gsym", "stat", tmp_path / "x.gsym").stdout


def test_relocations_of_an_unknown_type_are_said_and_cost_their_places(tmp_path):
    path = compiled(tmp_path)
    before = ours(path, range(64))
    data = bytearray(path.read_bytes())
    header = next(l for l in run("readelf", "-SW", path).splitlines() if ".rela.debug_line " in l)
    words = header.replace("[ ", "[").split()
    off, size = int(words[4], 16), int(words[5], 16)
    patched = 0
    for at in range(off, off + size, 24):
        if data[at + 8] == 1:  # R_X86_64_64: where a sequence begins
            data[at + 8] = 41
            patched += 1
    assert patched > 0
    (tmp_path / "y.o").write_bytes(data)
    out = unhex("extract", tmp_path / "y.o", "-o", tmp_path / "y.gsym")
    assert out.returncode == 0
    assert f"{patched} relocations skipped" in out.stderr
    assert "section .debug_line+0x" in out.stderr and "unknown type 41 (machine 62)" in out.stderr
    assert unhex("lookup", tmp_path / "y.o", "0x0").stderr == out.stderr
    after = ours(tmp_path / "y.gsym", range(64))
    assert [[f[0] for f in m] for m in before] == [[f[0] for f in m] for m in after]
    assert all(f[0][2] == 0 for f in after if f)


def test_a_bound_on_memory_changes_nothing(tmp_path):
    path = compiled(tmp_path, "-gz=zlib")
    for name, more in (("a", []), ("b", ["--memory=64M"]), ("c", ["--threads=8"])):
        assert unhex("extract", path, "-o", tmp_path / name, *more).returncode == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "c").read_bytes()
