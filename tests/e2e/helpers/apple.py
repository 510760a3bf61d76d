# SPDX-License-Identifier: Apache-2.0
"""Making Mach-O files with clang, ld64.lld, dsymutil and llvm-lipo, and asking llvm-symbolizer."""
import glob
import json
import os
import shutil
import subprocess

from tool import lines, unhex

SOURCE = """
static int table[4] = {1, 2, 3, 4};
namespace geo {
static inline __attribute__((always_inline)) int inner(int x) { return table[x & 3] * 3; }
template <typename T> struct Box {
	T v;
	__attribute__((noinline)) T twice(T k) const { return inner(v) + k; }
};
__attribute__((noinline)) int first(int x)
{
	int sum = 0;
	for (int i = 0; i < x; i++)
		sum += inner(i) ^ i;
	return sum;
}
}
static __attribute__((noinline)) int hidden(int x, int y)
{
	return x > y ? table[x & 3] ^ geo::first(y) : y;
}
extern "C" int other(int);
extern "C" int second(int x)
{
	geo::Box<int> b{x};
	return x > 3 ? geo::inner(geo::first(x)) + b.twice(2) : hidden(x, x * x) + other(x);
}
int main(int argc, char **argv) { return second(argc) + hidden(argc, *argv[0]); }
"""
OTHER = """
static inline __attribute__((always_inline)) int deep(int x) { return x * 7 + 1; }
static inline __attribute__((always_inline)) int mid(int x) { return deep(x) ^ deep(x + 3); }
extern int puts(const char *);
__attribute__((noinline)) int other(int x)
{
	return mid(x) + mid(x / 2) + puts("other");
}
"""


def run(*args, **more):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, check=False,
                          **more)
    assert done.returncode == 0, (args, done.stdout, done.stderr)
    return done.stdout


def tool(name):
    """Of the newest version that is installed, or without a version."""
    if shutil.which(name):
        return name
    found = glob.glob(f"/usr/bin/{name}-[0-9]*") + glob.glob(f"/usr/lib/llvm-*/bin/{name}")
    assert found, f"{name} is not installed"
    return max(found, key=lambda p: int("".join(c for c in p if c.isdigit())))


def compiled(folder, arch, *flags, dwarf=4):
    """Objects of the two sources in folder."""
    folder.mkdir(exist_ok=True)
    (folder / "a.cc").write_text(SOURCE)
    (folder / "b.c").write_text(OTHER)
    clang = shutil.which("clang-14") or "clang"
    for name in ("a.cc", "b.c"):
        run(clang, "-target", f"{arch}-apple-macos11", "-O2", "-g", f"-gdwarf-{dwarf}",
            "-nostdinc++", "-fno-exceptions", *flags, "-c", name, "-o", name[0] + ".o", cwd=folder)
    return [folder / "a.o", folder / "b.o"]


def linked(folder, arch, *flags, dwarf=4, kind=("-dylib", "-install_name", "libp.dylib"),
           name="p", dsym=True, keep=False):
    """A dylib, its dSYM bundle beside it, and the objects only if they are to be kept."""
    objects = compiled(folder, arch, *flags, dwarf=dwarf)
    link(folder / name, arch, objects, kind)
    if dsym:
        run("dsymutil-19", folder / name)
    if not keep:
        for path in objects:
            path.unlink()
    return folder / name


def link(out, arch, objects, kind=("-dylib", "-install_name", "libp.dylib")):
    run(tool("ld64.lld"), "-arch", arch, "-platform_version", "macos", "11.0", "11.0", *kind,
        "-undefined", "dynamic_lookup", "-o", out, *objects)
    return out


def inside(path):
    """The file in the bundle of path."""
    return next((path.parent / (path.name + ".dSYM") / "Contents/Resources/DWARF").iterdir())


def fat(out, paths, *flags):
    out.parent.mkdir(parents=True, exist_ok=True)
    run("llvm-lipo-19", "-create", *flags, *paths, "-output", out)
    return out


def text_of(path, arch):
    """[start, end) of __text."""
    reported = run("llvm-otool-19", "-l", "-arch", arch, path).splitlines()
    at = next(i for i, line in enumerate(reported) if line.split() == ["sectname", "__text"])
    words = dict(line.split()[:2] for line in reported[at:at + 6])
    start = int(words["addr"], 16)
    return start, start + int(words["size"], 16)


def ours(path, addresses, *how):
    out = unhex("lookup", path, "--json", "--demangle", "none", *how,
                stdin="".join(f"{a:#x}\n" for a in addresses))
    assert not out.stderr
    return [[(f.get("function", ""), f.get("file", ""), f.get("line", 0)) for f in o["frames"]]
            for o in lines(out)]


def theirs(path, addresses, arch=None):
    out = run("llvm-symbolizer-19", f"--obj={path}", "--no-demangle", "--output-style=JSON",
              *([f"--default-arch={arch}"] if arch else []),
              input="".join(f"{a:#x}\n" for a in addresses))
    return [[(f["FunctionName"], f["FileName"], f["Line"]) for f in json.loads(line)["Symbol"]]
            for line in out.splitlines()]


def agree(mine, reported):
    """All is the same, but for padding, which is no function's to us: up to 15 bytes in a row that
    llvm-symbolizer gives to the function before them."""
    run_of = 0
    for m, t in zip(mine, reported, strict=True):
        run_of = 0 if m else run_of + 1
        assert m == t or (not m and len(t) == 1 and run_of < 16), (m, t)
    assert any(mine)
