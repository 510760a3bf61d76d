# SPDX-License-Identifier: Apache-2.0
"""Split DWARF: entries in .dwo files or a .dwp package; frames equal those of llvm-symbolizer."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

from tool import unhex

HEADER = """
template <class T> struct Box {
	T value;
	__attribute__((always_inline)) inline T twice() const { return value * 2 + sum(value); }
	__attribute__((always_inline)) static inline T sum(T v)
	{
		volatile T total = 0;
		for (T i = 0; i < v; i++)
			total += i ^ v;
		return total;
	}
};
int one(int), two(int), three(int);
"""

UNIT = """
#include "common.h"
#include <stdlib.h>
static __attribute__((noinline)) int work_%(name)s(int n)
{
	Box<int> a{n};
	Box<long> b{n};
	if (__builtin_expect(n > 1000, 0))
		abort();
	return a.twice() + (int)b.twice();
}
__attribute__((noinline)) int %(name)s(int n) { return work_%(name)s(n) + Box<int>::sum(n); }
"""

MAIN = """
#include "common.h"
int main(int argc, char **) { return one(argc) + two(argc) + three(argc) + Box<int>{argc}.twice(); }
"""

# Debian 12 has clang 14 under its number alone, Debian 13 no GNU dwp.
CLANG = "clang++-14" if shutil.which("clang++-14") else "clang++"
GNU_DWP = [(cc, 4, "dwp") for cc in ("g++", CLANG) if shutil.which("dwp")]

UNITS = ("one", "two", "three", "main")
BUILDS = [(cc, version, opt) for cc in ("g++", CLANG) for version in (4, 5)
          for opt in ("-O0", "-O2")]


def build(folder, compiler, version, opt, *flags):
    """A program of four units; objects and .dwo files in obj/, the program in bin/."""
    for sub in ("src", "obj", "bin"):
        (folder / sub).mkdir(parents=True)
    (folder / "src/common.h").write_text(HEADER)
    for name in UNITS:
        text = MAIN if name == "main" else UNIT % {"name": name}
        (folder / f"src/{name}.cc").write_text(text)
        subprocess.run([compiler, "-g", f"-gdwarf-{version}", "-gsplit-dwarf", opt, *flags,
                        "-ffunction-sections", "-c", f"src/{name}.cc", "-o", f"obj/{name}.o"],
                       cwd=folder, check=True)
    subprocess.run([compiler, "-Wl,--build-id", "-Wl,--gc-sections",
                    *[f"obj/{name}.o" for name in UNITS], "-o", "bin/prog"],
                   cwd=folder, check=True)
    return folder / "bin/prog"


@pytest.fixture(scope="module")
def builds(tmp_path_factory):
    """Builds by (compiler, version, optimisation), each made once."""
    made = {}

    def get(compiler, version, opt):
        key = (compiler, version, opt)
        if key not in made:
            made[key] = build(tmp_path_factory.mktemp("split") / "tree", *key)
        return made[key]
    return get


def code_addresses(path):
    """Every address of the units' own functions."""
    found = []
    for row in subprocess.run(["nm", "-S", "--defined-only", path], check=True,
                              capture_output=True, text=True).stdout.splitlines():
        words = row.split()
        if len(words) == 4 and words[2] in "tTwW" and (
                words[3] == "main" or words[3].startswith("_Z")):
            start, size = int(words[0], 16), int(words[1], 16)
            found += range(start, start + size)
    assert len(found) > 200
    return sorted(found)


def ours(path, addresses):
    out = unhex("lookup", path, "--json", "--demangle", "none",
                stdin="".join(f"{a:#x}\n" for a in addresses))
    assert out.returncode == 0, out.stderr
    return [[(f["function"], os.path.basename(f.get("file") or ""), f["line"])
             for f in json.loads(line)["frames"]] for line in out.stdout.splitlines()]


def theirs(path, addresses):
    out = subprocess.run(["llvm-symbolizer-19", "--no-demangle", f"--obj={path}",
                          "--output-style=JSON"], check=True, capture_output=True, text=True,
                         input="".join(f"{a:#x}\n" for a in addresses))
    # A part split off a function has the function's name here.
    return [[(s["FunctionName"].removesuffix(".cold"), os.path.basename(s["FileName"]), s["Line"])
             for s in json.loads(line)["Symbol"]] for line in out.stdout.splitlines()]


def agree(path, oracle=None):
    """Compares all frames; returns how many addresses have inlined ones."""
    addresses = code_addresses(oracle or path)
    mine, other = ours(path, addresses), theirs(oracle or path, addresses)
    assert len(mine) == len(other) == len(addresses)
    for address, a, b in zip(addresses, mine, other):
        assert a == b, f"{address:#x}"
    return sum(len(frames) > 1 for frames in mine)


def package(path, tool):
    """Packs the .dwo files of path into path.dwp and hides them; gives the folder they were in."""
    subprocess.run([tool, "-e", path, "-o", f"{path}.dwp"], cwd=path.parent.parent, check=True,
                   timeout=60)
    for dwo in path.parent.parent.rglob("*.dwo"):
        dwo.unlink()


def copy_of(path, where):
    """The whole tree somewhere else; the one it was compiled in stays."""
    shutil.copytree(path.parent.parent, where)
    return where / "bin/prog"


@pytest.mark.parametrize("compiler,version,opt", BUILDS)
def test_frames_from_dwo_files_where_they_were_compiled_equal_llvm(builds, compiler, version, opt):
    assert agree(builds(compiler, version, opt)) > 100


# GNU dwp crashes on DWARF 5, and llvm-dwp does not come to an end on what GCC makes of it.
@pytest.mark.parametrize("compiler,version,tool", [
    *GNU_DWP, ("g++", 4, "llvm-dwp-19"), (CLANG, 4, "llvm-dwp-19"), (CLANG, 5, "llvm-dwp-19")])
def test_frames_from_a_package_equal_llvm(tmp_path, compiler, version, tool):
    path = build(tmp_path / "tree", compiler, version, "-O2")
    with_dwo = ours(path, code_addresses(path))
    package(path, tool)
    assert agree(path) > 100
    assert ours(path, code_addresses(path)) == with_dwo


def test_the_package_of_a_debug_file_is_found_under_both_names(tmp_path):
    path = build(tmp_path / "tree", CLANG, 5, "-O2")
    expected = ours(path, code_addresses(path))
    addresses = code_addresses(path)
    package(path, "llvm-dwp-19")
    for name in ("prog.debug.dwp", "prog.dwp"):
        folder = tmp_path / name
        folder.mkdir()
        subprocess.run(["objcopy", "--only-keep-debug", path, folder / "prog.debug"], check=True)
        subprocess.run(["strip", "-o", tmp_path / "stripped", path], check=True)
        shutil.copy(f"{path}.dwp", folder / name)
        out = unhex("extract", tmp_path / "stripped", "--debug", folder / "prog.debug", "-o",
                    folder / "prog.gsym")
        assert out.returncode == 0 and out.stderr == "", out.stderr
        assert ours(folder / "prog.gsym", addresses) == expected


@pytest.mark.parametrize("compiler,version", [("g++", 4), ("g++", 5), (CLANG, 5)])
def test_a_moved_folder_keeps_its_frames_when_the_dwo_files_are_beside_it(tmp_path, compiler,
                                                                          version):
    path = build(tmp_path / "tree", compiler, version, "-O2")
    addresses = code_addresses(path)
    expected = ours(path, addresses)
    for kept in ("obj/{}.dwo", "{}.dwo"):  # by their name in the skeleton, or by its last part
        folder = tmp_path / f"moved{kept.count('/')}"
        folder.mkdir()
        shutil.copy(path, folder / "prog")
        for name in UNITS:
            target = folder / kept.format(name)
            target.parent.mkdir(exist_ok=True)
            shutil.copy(path.parent.parent / f"obj/{name}.dwo", target)
        hidden = path.parent.parent.rename(tmp_path / "hidden")
        assert ours(folder / "prog", addresses) == expected
        hidden.rename(path.parent.parent)


@pytest.mark.parametrize("compiler,version,opt", BUILDS)
def test_a_missing_dwo_costs_its_unit_the_inlined_frames_and_nothing_else(tmp_path, compiler,
                                                                          version, opt):
    path = build(tmp_path / "tree", compiler, version, opt)
    addresses = code_addresses(path)
    whole = ours(path, addresses)
    (tmp_path / "tree/obj/two.dwo").unlink()
    out = unhex("extract", path, "-o", tmp_path / "out.gsym")
    assert out.returncode == 0
    assert out.stderr.count("\n") == 1
    assert "1 of 4 .dwo files are missing" in out.stderr
    part = ours(path, addresses)
    lost = 0
    for address, a, b in zip(addresses, whole, part):
        if a == b:
            continue
        lost += 1
        assert "two" in a[-1][0] or "Box" in a[-1][0], f"{address:#x}"
        # What is left are the symbol, which names a cold part apart, and the skeleton's lines.
        assert len(b) == 1 and b[0][0].removesuffix(".cold") == a[-1][0], f"{address:#x}"
        assert b[0][1:] == a[0][1:], f"{address:#x}"
    assert lost > 10


@pytest.mark.parametrize("compiler,version", [("g++", 4), ("g++", 5), (CLANG, 4),
                                              (CLANG, 5)])
def test_a_dwo_of_another_build_is_not_taken(tmp_path, compiler, version):
    path = build(tmp_path / "tree", compiler, version, "-O2")
    addresses = code_addresses(path)
    whole = ours(path, addresses)
    shutil.copy(tmp_path / "tree/obj/one.dwo", tmp_path / "tree/obj/three.dwo")
    out = unhex("extract", path, "-o", tmp_path / "out.gsym")
    assert out.returncode == 0
    assert out.stderr.count("\n") == 1
    assert "1 of 4 .dwo files belong to another build" in out.stderr
    for a, b in zip(whole, ours(path, addresses)):
        assert a == b or ("three" in a[-1][0] and len(b) == 1)


def test_damaged_dwo_files_and_packages_are_reported_and_cost_only_themselves(tmp_path):
    path = build(tmp_path / "tree", CLANG, 5, "-O2")
    dwo = tmp_path / "tree/obj/one.dwo"
    good = dwo.read_bytes()
    dwo.write_bytes(good[:len(good) // 2])
    out = unhex("extract", path, "-o", tmp_path / "out.gsym")
    assert out.returncode == 0
    assert "1 of 4 DWARF units cannot be read in full" in out.stderr
    dwo.write_bytes(good)
    pathlib.Path(f"{path}.dwp").write_bytes(b"no package")
    out = unhex("extract", path, "-o", tmp_path / "out.gsym")
    assert out.returncode == 0
    assert "; some of their symbols are missing; the first: " in out.stderr
    pathlib.Path(f"{path}.dwp").unlink()
    assert agree(path) > 100


def test_the_output_does_not_depend_on_the_number_of_threads(tmp_path, builds):
    path = builds("g++", 5, "-O2")
    made = []
    for threads in (1, 2, 8):
        out = unhex("extract", path, "--threads", threads, "-o", tmp_path / f"{threads}.gsym")
        assert out.returncode == 0 and out.stderr == "", out.stderr
        made.append((tmp_path / f"{threads}.gsym").read_bytes())
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("flags", [("-fsplit-dwarf-inlining",), ("-fdebug-types-section",),
                                   ("-gdwarf64",)])
def test_what_clang_can_add_to_split_units_changes_no_frame(tmp_path, flags):
    path = build(tmp_path / "tree", CLANG, 5, "-O2", *flags)
    assert agree(path) > 100


def test_inlined_calls_in_the_skeleton_stand_in_for_a_missing_dwo(tmp_path):
    path = build(tmp_path / "tree", CLANG, 5, "-O2", "-fsplit-dwarf-inlining")
    for dwo in (tmp_path / "tree/obj").glob("*.dwo"):
        dwo.unlink()
    assert agree(path) > 100


def test_type_units_in_dwo_files_are_passed_over(tmp_path):
    for version in (4, 5):
        path = build(tmp_path / f"tree{version}", "g++", version, "-O2", "-fdebug-types-section")
        assert agree(path) > 100


def test_compressed_dwo_sections_are_inflated(tmp_path):
    path = build(tmp_path / "tree", "g++", 5, "-O2")
    expected = ours(path, code_addresses(path))
    for dwo in (tmp_path / "tree/obj").glob("*.dwo"):
        subprocess.run(["objcopy", "--compress-debug-sections=zlib", dwo], check=True)
        assert b"debug_info" in dwo.read_bytes()
    assert ours(path, code_addresses(path)) == expected


def test_linked_objects_of_link_time_optimisation_share_one_dwo(tmp_path):
    folder = tmp_path / "tree"
    (folder / "src").mkdir(parents=True)
    (folder / "src/common.h").write_text(HEADER)
    for name in UNITS:
        text = MAIN if name == "main" else UNIT % {"name": name}
        (folder / f"src/{name}.cc").write_text(text)
    subprocess.run([CLANG, "-g", "-gdwarf-5", "-gsplit-dwarf", "-O2", "-flto",
                    *[f"src/{name}.cc" for name in UNITS], "-fuse-ld=lld", "-o", "prog"],
                   cwd=folder, check=True)
    assert agree(folder / "prog") > 100
