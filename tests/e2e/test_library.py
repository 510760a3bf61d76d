# SPDX-License-Identifier: Apache-2.0
"""The library alone: built, installed and used as its users do, by C and C++, shared and static."""
import os
import re
import shutil
import subprocess

import pytest

from tool import ROOT, lines, symbol, unhex

HEADERS = sorted(h for h in (ROOT / "include/unhex").glob("*.h") if h.name != "client.h")
CLANG = shutil.which("clang-14") or "clang"
EXAMPLE = ROOT / "docs/examples/library.c"
GPU_EXAMPLE = ROOT / "docs/examples/gpu.c"
PROFILER_EXAMPLE = ROOT / "docs/examples/profiler.c"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]

VERSIONS = r"""
#include <stdio.h>
#include <unhex/version.h>
int main(void)
{
	printf("%d.%d.%d %s\n", UX_VERSION_MAJOR, UX_VERSION_MINOR, UX_VERSION_PATCH, ux_version());
	return 0;
}
"""

COLUMNS = r"""
#include <stdio.h>
#include <unhex/unhex.h>
int main(int argc, char **argv)
{
	struct ux_input in = ux_input_path(argv[argc - 1]);
	uint64_t flags[] = {0, UX_MODULE_COLUMNS, UX_MODULE_COLUMNS | UX_MODULE_INDEX};
	for (int i = 0; i < 3; i++) {
		struct ux_module_opts opts = {sizeof(opts), NULL, flags[i]};
		struct ux_module *m = NULL;
		struct ux_frame frame;
		uint64_t pc = 0;
		size_t n = 0;
		if (ux_module_open(&in, &opts, &m, NULL) != UX_OK ||
		    ux_module_find(m, "main", 0, &pc, NULL) != UX_OK ||
		    ux_module_lookup(m, pc, 0, &frame, 1, &n, NULL) != UX_OK)
			return 1;
		printf("%s:%u:%u\n", frame.base, frame.line, frame.column);
		ux_module_close(m);
	}
	return 0;
}
"""


def run(*args, **more):
    """Standard output of a command that works."""
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def install(work, *options):
    """The root that a build without programs is installed below."""
    clean = {k: v for k, v in os.environ.items() if k not in ("CFLAGS", "LDFLAGS", "DESTDIR")}
    run("meson", "setup", work / "build", ROOT, "-Dprograms=disabled", "-Dclient=disabled", "--prefix=/usr",
        "--libdir=lib", "--buildtype=debug", *options, env=clean)
    run("ninja", "-C", work / "build", env=clean)
    run("meson", "install", "-C", work / "build", "--no-rebuild", "--destdir", work / "root",
        env=clean)
    return work / "root"


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    return install(tmp_path_factory.mktemp("library"))


@pytest.fixture(scope="module")
def static_prefix(tmp_path_factory):
    """For programs that are linked statically as a whole: Debian has no static ISA-L."""
    return install(tmp_path_factory.mktemp("static"), "-Disal=disabled")


def pkg_config(prefix, *args):
    """What pkg-config says of the installed library."""
    return run("pkg-config", *args, "unhex", env={
        **os.environ, "PKG_CONFIG_SYSROOT_DIR": str(prefix),
        "PKG_CONFIG_LIBDIR": f"{prefix}/usr/lib/pkgconfig:"
        + run("pkg-config", "--variable", "pc_path", "pkg-config").strip()}).split()


def build(prefix, source, out, compiler=("gcc", "-std=c11"), how=()):
    """A program of the library's user."""
    static = ["--static"] if "-static" in how else []
    run(*compiler, *WARNINGS, *how, *pkg_config(prefix, "--cflags"), source, "-o", out,
        *pkg_config(prefix, *static, "--libs"))
    return out


def start(prefix, program, *args):
    """The program's words; the shared library is where it was installed."""
    return run(program, *args, env={**os.environ, "LD_LIBRARY_PATH": f"{prefix}/usr/lib"})


def expected(prog, address):
    """What the example has to print, as the command knows it."""
    (answer,) = lines(unhex("lookup", prog, address, "--json", "--demangle=short"))
    assert len(answer["frames"]) > 1
    return "".join(f"{address} {f['function']} {f['file']}:{f['line']}"
                   f"{' inlined' if f.get('inlined') else ''}\n" for f in answer["frames"])


def inlined_address(prog):
    """An address where functions are inlined."""
    at, size = symbol(prog, "outer")
    for answer in lines(unhex("lookup", prog, *range(at, at + size), "--json")):
        if len(answer["frames"]) == 3:
            return answer["address"]
    raise LookupError("nothing is inlined into outer")


def test_exactly_the_library_is_installed(prefix):
    found = {str(p.relative_to(prefix / "usr")) for p in prefix.rglob("*") if not p.is_dir()}
    assert found == {f"include/unhex/{h.name}" for h in HEADERS} | {
        "lib/libunhex.a", "lib/libunhex.so", "lib/libunhex.so.0.1", "lib/libunhex.so.0.1.0",
        "lib/pkgconfig/unhex.pc"}


def test_the_shared_library_exports_what_the_headers_declare_and_nothing_else(prefix):
    library = prefix / "usr/lib/libunhex.so"
    exported = re.findall(r" [A-Z] (\S+)", run("nm", "-D", "--defined-only", library))
    declared = re.findall(r"UX_API [^;(]*?(ux_\w+)\(", "".join(h.read_text() for h in HEADERS))
    mapped = re.findall(r"^\t(ux_\w+);", (ROOT / "lib/public/libunhex.map").read_text(), re.M)
    assert len(declared) == len(set(declared)) > 10
    assert sorted(mapped) == sorted(declared)
    assert sorted(exported) == sorted(["UNHEX_0.1"] + [f"{d}@@UNHEX_0.1" for d in declared])


def test_every_function_is_in_the_manual():
    manual = (ROOT / "docs/api/library.md").read_text()
    for header in HEADERS:
        for function in re.findall(r"UX_API [^;(]*?(ux_\w+)\(", header.read_text()):
            assert f"`{function}" in manual, function


@pytest.mark.parametrize("header", HEADERS, ids=lambda h: h.name)
@pytest.mark.parametrize("compiler", [("gcc", "-std=c11", "-xc"), ("g++", "-std=c++11", "-xc++")],
                         ids=["c", "c++"])
def test_each_header_stands_alone(header, compiler, tmp_path):
    source = tmp_path / "source"
    source.write_text(f"#include <unhex/{header.name}>\n#include <unhex/{header.name}>\n"
                      "extern int nothing;\n")
    run(*compiler, *WARNINGS, "-fsyntax-only", "-I", ROOT / "include", source)


def test_the_example_is_short():
    assert len(EXAMPLE.read_text().splitlines()) <= 40


@pytest.mark.parametrize("compiler", [("gcc", "-std=c11"), ("g++", "-std=c++11", "-xc++"),
                                      (CLANG, "-std=c11")], ids=["c", "c++", "clang"])
def test_the_example_runs_with_the_shared_library(prefix, prog, compiler, tmp_path):
    example = build(prefix, EXAMPLE, tmp_path / "example", compiler)
    assert "libunhex.so.0.1" in run("readelf", "-d", example)
    address = inlined_address(prog)
    assert start(prefix, example, prog, address) == expected(prog, address)


def test_the_example_runs_with_the_static_library(static_prefix, prog, tmp_path):
    example = build(static_prefix, EXAMPLE, tmp_path / "example", how=["-static"])
    assert "NEEDED" not in run("readelf", "-d", example)
    address = inlined_address(prog)
    assert run(example, prog, address) == expected(prog, address)


def test_the_example_reads_gsym_files_and_names_what_it_cannot_read(prefix, prog, tmp_path):
    example = build(prefix, EXAMPLE, tmp_path / "example")
    gsym = tmp_path / "o.gsym"
    assert unhex("extract", prog, "-o", gsym).returncode == 0
    address = inlined_address(prog)
    assert start(prefix, example, gsym, address, "0x1") == (
        expected(prog, address) + "0x1 nothing known\n")
    bad = subprocess.run([example, EXAMPLE, address], capture_output=True, text=True,
                         env={**os.environ, "LD_LIBRARY_PATH": f"{prefix}/usr/lib"})
    assert bad.returncode == 1
    assert bad.stderr == f"{EXAMPLE}: not an ELF, Mach-O or GSYM file\n"


@pytest.mark.parametrize("compiler", [("gcc", "-std=c11"), (CLANG, "-std=c11")], ids=["gcc", "clang"])
def test_the_example_of_gpu_code(prefix, compiler, tmp_path):
    example = build(prefix, GPU_EXAMPLE, tmp_path / "gpu", compiler)
    host = ROOT / "fuzz/corpus/fatbin/host"
    pieces = lines(unhex("id", "--json", host))[1:]
    reported = start(prefix, example, host).splitlines()
    functions = ["  kernel a, 256 bytes", "  function in, 64 bytes", "  kernel _Z1bPf, 256 bytes"]
    expect = []
    for piece in pieces:
        head = f"{piece['gpu']} {piece['arch']} {piece['kind']}"
        expect += [" ".join([head, *piece["ids"]]), *functions] if piece["ids"] else [head + ", no addresses yet"]
    assert reported == expect
    assert start(prefix, example, host, "sm_90", "_Z1bPf", "0xa0") == (
        "lower /src/k.h:4\nlow /src/k.h:3\nin /src/k.cu:60\n")
    bad = subprocess.run([example, host, "3", "a", "0"], capture_output=True, text=True,
                         env={**os.environ, "LD_LIBRARY_PATH": f"{prefix}/usr/lib"})
    assert bad.returncode == 1 and "is ptx" in bad.stderr


SAMPLED = """
__attribute__((noinline)) unsigned leaf(unsigned x)
{
	for (unsigned i = 0; i < 1000; i++)
		x = x * 3 + i;
	return x;
}
__attribute__((noinline)) unsigned middle(unsigned x) { return leaf(x) + 1; }
int main(void)
{
	unsigned x = 1;
	for (int i = 0; i < 100000; i++)
		x = middle(x);
	return 3;
}
"""


@pytest.mark.parametrize("compiler", [("gcc", "-std=c11"), (CLANG, "-std=c11")], ids=["gcc", "clang"])
def test_the_example_of_a_profiler(prefix, compiler, tmp_path):
    """The innermost address is looked up as it is, all others as return addresses: main never looks like the
    function behind it."""
    example = build(prefix, PROFILER_EXAMPLE, tmp_path / "profiler", compiler)
    (tmp_path / "sampled.c").write_text(SAMPLED)
    run("gcc", "-O0", "-g", "-fno-omit-frame-pointer", tmp_path / "sampled.c", "-o", tmp_path / "sampled")
    reported = start(prefix, example, tmp_path / "sampled").splitlines()
    stacks = [line.removesuffix(" 1").split(";") for line in reported]
    full = [s for s in stacks if s[-3:] == ["main", "middle", "leaf"]]
    assert len(full) > 20 and len(full) > len(stacks) / 2
    assert len(PROFILER_EXAMPLE.read_text().splitlines()) <= 60


def test_columns_are_there_on_request(prefix, tmp_path):
    (tmp_path / "columns.c").write_text(COLUMNS)
    program = build(prefix, tmp_path / "columns.c", tmp_path / "columns")
    (tmp_path / "p.c").write_text("typedef int number;\n  number main(void) { return 0; }\n")
    run("gcc", "-g", tmp_path / "p.c", "-o", tmp_path / "p")
    without, column, indexed = start(prefix, program, tmp_path / "p").splitlines()
    assert [without, column, indexed] == ["p.c:2:0", "p.c:2:21", "p.c:2:21"]


def test_all_say_the_same_version(prefix, tmp_path):
    source = tmp_path / "versions.c"
    source.write_text(VERSIONS)
    said = start(prefix, build(prefix, source, tmp_path / "versions")).split()
    assert said == pkg_config(prefix, "--modversion") * 2
