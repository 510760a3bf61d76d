# SPDX-License-Identifier: Apache-2.0
"""Files that dwz took common entries out of: binutils' addr2line follows them, and so do we."""
import json
import shutil
import subprocess

import pytest

from tool import unhex

HEADER = """
namespace common {
template <class T> struct Box {
	T value;
	__attribute__((always_inline)) inline T twice() const { return value * 2 + helper(value); }
	__attribute__((always_inline)) static inline T helper(T v)
	{
		T sum = 0;
		for (T i = 0; i < v; i++)
			sum += i ^ v;
		return sum;
	}
};
}
struct Large { %s };
""" % " ".join(f"int field_{i}; char other_{i}[{i + 1}];" for i in range(60))

MAIN = """
#include "common.h"
Large large_%(name)s;
__attribute__((noinline)) int work_%(name)s(int n)
{
	common::Box<int> box{n};
	large_%(name)s.field_1 = n;
	return box.twice();
}
int main(int argc, char **) { return work_%(name)s(argc); }
"""


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Two programs with a common supplementary file, named by a path that counts from them."""
    folder = tmp_path_factory.mktemp("dwz")
    (folder / "common.h").write_text(HEADER)
    for name in ("one", "two"):
        (folder / f"{name}.cc").write_text(MAIN % {"name": name})
        subprocess.run(["g++", "-g", "-O2", "-gdwarf-4", "-Wl,--build-id", f"{name}.cc", "-o", name],
                       cwd=folder, check=True)
    subprocess.run(["dwz", "-m", "common.debug", "-r", "one", "two"], cwd=folder, check=True)
    return folder


def code_addresses(path):
    """Every address of the worker functions and main."""
    rows = subprocess.run(["nm", "-S", "--defined-only", path], check=True, capture_output=True,
                          text=True).stdout.split("\n")
    found = []
    for row in rows:
        words = row.split()
        if len(words) == 4 and words[2] in "tT" and ("work_" in words[3] or words[3] == "main"):
            start, size = int(words[0], 16), int(words[1], 16)
            found += range(start, start + size)
    assert len(found) > 30
    return found


def ours(path, addresses):
    out = unhex("lookup", path, "--json", "--demangle", "none",
                stdin="".join(f"{a:#x}\n" for a in addresses))
    assert out.returncode == 0, out.stderr
    return [[(f["function"], f["line"]) for f in json.loads(line)["frames"]]
            for line in out.stdout.splitlines()]


def addr2line(path, address):
    out = subprocess.run(["addr2line", "-f", "-i", "-e", path, f"{address:#x}"], check=True,
                         capture_output=True, text=True).stdout.splitlines()
    lines = [place.split(" ")[0].rsplit(":", 1)[1] for place in out[1::2]]
    return list(zip(out[::2], [0 if n == "?" else int(n) for n in lines]))


@pytest.mark.parametrize("name", ["one", "two"])
def test_frames_whose_names_are_in_the_supplementary_file_equal_addr2line(pair, name):
    addresses = code_addresses(pair / name)
    frames = ours(pair / name, addresses)
    assert sum(len(f) > 1 for f in frames) > 10
    for address, mine in zip(addresses, frames):
        assert mine == addr2line(pair / name, address), f"{address:#x}"


def test_without_the_supplementary_file_lines_stay_and_the_loss_is_said(pair, tmp_path):
    shutil.copy(pair / "one", tmp_path / "one")
    out = unhex("extract", tmp_path / "one", "-o", tmp_path / "one.gsym")
    assert out.returncode == 0
    assert "supplementary file common.debug is missing" in out.stderr
    with_it = ours(pair / "one", code_addresses(pair / "one"))
    without = ours(tmp_path / "one", code_addresses(pair / "one"))
    assert [f[0][1] for f in with_it] == [f[0][1] for f in without]


def test_a_supplementary_file_of_another_build_id_is_not_taken(pair, tmp_path):
    shutil.copy(pair / "one", tmp_path / "one")
    shutil.copy(pair / "two", tmp_path / "common.debug")
    out = unhex("extract", tmp_path / "one", "-o", tmp_path / "one.gsym")
    assert out.returncode == 0
    assert "or has a different build ID" in out.stderr
