# SPDX-License-Identifier: Apache-2.0
"""/symbolicate/v5 of ours and of samply's local server on the same binaries, address by address.

Files, lines, how deep calls are inlined and how far into a function an address is have to be the
same everywhere. Names may differ in what the table DIFFERENCES has, each with a check that it is
that and nothing else; of other compilers' and samply's versions a hundredth may be new to it."""
import collections
import functools
import itertools
import json
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from firefox_profile import check, stack_frames
from http_api import Api
from tool import ROOT, build_id, compile_c, stripped, unhex

sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests/oracle")]

# pylint: disable=wrong-import-position
from elfread import Elf  # noqa: E402
from servers import debug_id, running, serve_samply  # noqa: E402

ADDRESSES = 3000  # of each binary
CXX = r"""
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>
namespace shapes {
template <class T> struct box {
	T v;
	box(T x) : v(x) {}
	T get() const { return v; }
	bool operator<(const box &o) const { return v < o.v; }
};
static int twice(int x) { return x * 2; }
}
int main(int argc, char **argv)
{
	std::map<std::string, std::vector<shapes::box<int>>> m;
	for (int i = 0; i < argc; i++)
		m[argv[i]].push_back(shapes::twice(i));
	auto f = [&](auto x) { return m.size() + x; };
	for (auto &p : m) {
		std::sort(p.second.begin(), p.second.end());
		std::printf("%s %d\n", p.first.c_str(), p.second[0].get());
	}
	return (int)f(argc);
}
"""
RUST = r"""
use std::collections::HashMap;
fn main() {
    let mut m: HashMap<String, Vec<usize>> = HashMap::new();
    for (i, a) in std::env::args().enumerate() {
        m.entry(a).or_default().push(i);
    }
    let mut v: Vec<_> = m.iter().map(|(k, v)| (k.len(), v.iter().sum::<usize>())).collect();
    v.sort_by_key(|x| x.1);
    println!("{:?}", v);
}
"""


def library(name):
    """One that this interpreter, or any program of C++, runs with."""
    reported = subprocess.run(["ldconfig", "-p"], check=True, capture_output=True, text=True,
                          env={"PATH": "/sbin:/usr/sbin"}).stdout
    return Path(re.search(rf"^\s*{re.escape(name)} .*x86-64.* => (\S+)", reported,
                                  re.MULTILINE)[1]).resolve()


def cxx(folder):
    path = folder / "cxx"
    subprocess.run(["g++", "-O2", "-g", "-Wl,--build-id", "-o", path, "-x", "c++", "-"], check=True,
                   input=CXX, text=True)
    return path


def rust(folder):
    path = folder / "rust"
    subprocess.run(["rustc", "-O", "-g", "-C", "link-arg=-Wl,--build-id", "-o", path, "-"],
                   check=True, input=RUST, text=True, capture_output=True, cwd=folder)
    return path


MAKERS = {
    "c": lambda folder: compile_c(folder, "c"),
    "c at a fixed address":
        lambda folder: compile_c(folder, "fixed", flags=("-O2", "-g", "-no-pie")),
    "c without debug information": lambda folder: stripped(compile_c(folder, "bare"))[0],
    "c++": cxx,
    "rust": rust,
    "libc": lambda folder: library("libc.so.6"),
    "libstdc++": lambda folder: library("libstdc++.so.6"),
}


def libs_entry(path):
    """As a profile has it."""
    name = build_id(path).removeprefix("gnu:")
    return {"name": path.name, "debugName": path.name, "path": str(path), "debugPath": str(path),
            "breakpadId": debug_id(name), "codeId": name, "arch": "x86_64"}


@pytest.fixture(scope="module")
def binaries(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samply")
    return {name: make(folder) for name, make in MAKERS.items()}


@pytest.fixture(scope="module")
def servers(server_of_module, binaries, tmp_path_factory):
    """Functions that ask ours and theirs."""
    reported = server_of_module.unhex("push", *binaries.values())
    assert reported.returncode == 0, reported.stdout + reported.stderr

    def ours(body):
        status, doc, _ = Api(server_of_module)("POST", "/symbolicate/v5", body)
        return status, doc

    with running(serve_samply(ROOT / ".peers/samply/bin/samply", [
            libs_entry(path) for path in binaries.values()],
            tmp_path_factory.mktemp("samply-home"))) as server:
        def theirs(body):
            status, text = server.ask("POST", "/symbolicate/v5", json.dumps(body))
            return status, json.loads(text)
        yield ours, theirs


def offsets_of(path):
    """Of code, from where the file's first byte is mapped; the same every time."""
    spans, dice = Elf(path).code, random.Random(3)
    reported = subprocess.run(["readelf", "-lW", path], check=True, capture_output=True, text=True)
    base = min(int(line.split()[2], 16) for line in reported.stdout.splitlines()
               if line.split()[:1] == ["LOAD"])
    chosen = dice.choices(spans, [high - low for low, high in spans], k=ADDRESSES)
    return base, [dice.randrange(low, high) - base for low, high in chosen]


def names_at(path):
    """{start of a function: names that symbol tables have for it}, its debug file's too."""
    names = collections.defaultdict(set)
    found = json.loads(unhex("id", "--json", path).stdout).get("debug_file") or {}
    for file in (path, found.get("file")):
        if file:
            for s in Elf(file).symbols:
                names[s.value].add(s.name.partition("@")[0])
    return names


def base_name(text):
    """The last name of a C++ or Rust one, without parameters, template arguments and clones."""
    text = re.sub(r" \[clone [^]]*\]", "", text)
    text = re.sub(r"operator(<=>|<<=?|>>=?|<=?|>=?|->\*?|\(\))", "operator", text)
    for pair in ("<>", "()", "{}", "[]"):
        inside = re.compile(f"\\{pair[0]}[^\\{pair[0]}\\{pair[1]}]*\\{pair[1]}")
        while inside.search(text):
            text = inside.sub("", text)
    return re.split(r"::|\s|&|\*", re.sub(r"\s*(const|&&?)$", "", text.strip()))[-1]


def plain(text):
    """Without what a compiler adds to the name of a part or a copy of a function."""
    return re.sub(r"( \[clone [^]]*\])+$|\.(part|constprop|isra|cold|localalias|llvm)\b.*$", "",
                  text)


def is_alias(ours, theirs, symbols):
    """Both are symbols of the same address, theirs with or without the "_" in front."""
    known = {plain(s) for s in symbols}
    return plain(ours) in known and bool({theirs, "_" + theirs} & known)


@functools.cache
def filtered(linkage):
    """As binutils demangle it."""
    return subprocess.run(["c++filt", linkage], check=True, capture_output=True,
                          text=True).stdout.strip()


# What samply says otherwise: why, and how to know that it is that. symbols: those that are at the
# function's start; empty for an inlined call.
DIFFERENCES = {
    "one '_' in front is cut, as Apple's linkers want it":
        lambda ours, theirs, symbols: ours == "_" + theirs,
    "what kind of copy it is of a function is not given":
        lambda ours, theirs, symbols: plain(ours) in (theirs, "_" + theirs),
    "of several symbols of one address, another one":
        is_alias,
    "stubs of imported functions have no name":
        lambda ours, theirs, symbols: re.fullmatch(r".*@plt|fun_[0-9a-f]+", ours) and
        re.fullmatch(r"|fun_[0-9a-f]+", theirs),
    "thunks in words of its own":
        lambda ours, theirs, symbols: " thunk to " in ours and "thunk(" in theirs,
    "a linkage name that its demangler does not read":
        lambda ours, theirs, symbols: theirs.startswith("Z") and
        filtered("_" + theirs) == re.sub(r" \[clone [^]]*\]", "", ours),
    "another demangler: types and arguments in other words, the function is the same":
        lambda ours, theirs, symbols: base_name(ours) == base_name(theirs),
    "another demangler: std::ostream for basic_ostream<char>, and the other way round":
        lambda ours, theirs, symbols: base_name(ours).replace("basic_", "") ==
        base_name(theirs).replace("basic_", ""),
}


def why(ours, theirs, symbols):
    """The row of the table; "" for none needed; None for none that fits."""
    if ours == theirs:
        return ""
    return next((row for row, fits in DIFFERENCES.items() if fits(ours, theirs, symbols)), None)


def chain(frame):
    """The calls at an address, innermost first."""
    return [*frame.get("inlines", []), frame] if "function" in frame else []


def as_samply_has(file):
    """Sources of Rust's own library are given as places in its repository."""
    found = re.fullmatch(r"/rustc/([0-9a-f]{40})/(.*)", file or "")
    return f"git:github.com/rust-lang/rust:{found[2]}:{found[1]}" if found else file


UNKNOWN = "NO ROW FITS"


def compare(ours, theirs, symbols_at, base, counts):
    """What is not the same about one address; counts what is the matter with names."""
    mine, other = chain(ours), chain(theirs)
    offset = int(ours["module_offset"], 16)
    if mine and not other:
        reason = why(mine[-1]["function"], "", ())
        counts[reason or UNKNOWN] += 1
        return [] if reason else ["only ours answers"]
    if len(mine) != len(other):
        return ["the calls are inlined to another depth"]
    wrong = []
    for number, (a, b) in enumerate(zip(mine, other)):
        own = number + 1 == len(mine)
        start = base + offset - int(a["function_offset"], 16) if own else None
        if own and a["function_offset"] != b["function_offset"] and "@plt" not in a["function"]:
            wrong.append("the function begins elsewhere")
        if as_samply_has(a.get("file")) != b.get("file") or a.get("line") != b.get("line"):
            wrong.append("another place")
        reason = why(a["function"], b["function"], symbols_at.get(start, ()))
        counts[UNKNOWN if reason is None else reason or "the same"] += 1
        if reason is None:
            print("a name:", a["function"], b["function"])
    return wrong


@pytest.mark.parametrize("name", MAKERS)
def test_samply_says_the_same(servers, binaries, name):
    path, counts = binaries[name], collections.Counter()
    entry = libs_entry(path)
    base, offsets = offsets_of(path)
    body = {"jobs": [{"memoryMap": [[path.name, entry["breakpadId"]]],
                      "stacks": [[[0, o] for o in offsets]]}]}
    answers = []
    for ask in servers:
        status, doc = ask(body)
        assert status == 200, doc
        (result,) = doc["results"]
        assert list(result["found_modules"].values()) == [True]
        answers.append(result["stacks"][0])
    symbols_at = names_at(path)
    wrong = []
    for ours, theirs in zip(*answers):
        assert ours["frame"] == theirs["frame"]
        assert ours["module"] == theirs["module"] == path.name
        assert ours["module_offset"] == theirs["module_offset"]
        if what := compare(ours, theirs, symbols_at, base, counts):
            wrong.append((what, ours, theirs))
    print(f"{name}: {len(offsets)} addresses, {sum(counts.values())} functions")
    for reason, n in counts.most_common():
        print(f"{n:8} {reason}")
    assert not wrong, (len(wrong), wrong[:3])
    assert counts[UNKNOWN] <= sum(counts.values()) // 100
    assert sum(counts.values()) >= ADDRESSES / 4


RECORDED = r"""
#include <algorithm>
#include <cstdio>
#include <vector>
static inline unsigned mix(unsigned x)
{
	for (int i = 0; i < 50; i++)
		x = x * 1103515245 + 12345;
	return x;
}
__attribute__((noinline)) unsigned work(unsigned n)
{
	std::vector<unsigned> v;
	for (unsigned i = 0; i < n; i++)
		v.push_back(mix(i));
	std::sort(v.begin(), v.end());
	return v[n / 2];
}
int main()
{
	unsigned s = 0;
	for (int i = 0; i < 60; i++)
		s += work(40000 + i);
	std::printf("%u\n", s);
}
"""


def chain_of_stacks(doc, thread, stack):
    """The addresses of a stack, innermost first: (library, address, [frames as stack_frames() has them])."""
    for key, frames in itertools.groupby(stack_frames(doc, thread, stack), lambda x: (x[5], x[0])):
        group = []
        for frame in frames:  # a function that calls itself has the same address twice
            group.append(frame)
            if frame[1] == 0:
                yield *key, group
                group = []


def test_profiles_that_samply_writes_get_the_names_that_it_would_give_them(tmp_path):
    """perf records a program of C++, samply makes a profile of that, we name it, and samply is then requested for
    each of its addresses."""
    path = tmp_path / "recorded"
    subprocess.run(["g++", "-O2", "-g", "-Wl,--build-id", "-o", path, "-x", "c++", "-"], check=True, input=RECORDED,
                   text=True)
    subprocess.run(["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "499", "-g", "-o", tmp_path / "perf.data", path],
                   capture_output=True, check=True)
    samply = ROOT / ".peers/samply/bin/samply"
    subprocess.run([samply, "import", "-s", "-o", tmp_path / "profile.json", tmp_path / "perf.data"], check=True,
                   capture_output=True)
    done = unhex("symbolize", tmp_path / "profile.json", "-o", tmp_path / "named.json")
    assert done.returncode == 0, done.stderr
    doc = json.loads((tmp_path / "named.json").read_text())
    check(doc)
    places = {}
    for thread in doc["threads"]:
        for stack in thread["samples"]["stack"]:
            for lib, address, frames in chain_of_stacks(doc, thread, stack):
                if lib is not None and not frames[-1][2].startswith("0x"):
                    places[lib, address] = frames
    counts = collections.Counter()
    with running(serve_samply(samply, doc["libs"], tmp_path)) as server:
        for lib in {lib for lib, _ in places}:
            entry, addresses = doc["libs"][lib], [a for k, a in places if k == lib]
            status, text = server.ask("POST", "/symbolicate/v5", json.dumps(
                {"memoryMap": [[entry["debugName"], entry["breakpadId"]]], "stacks": [[[0, a] for a in addresses]]}))
            assert status == 200, text
            for address, theirs in zip(addresses, json.loads(text)["results"][0]["stacks"][0], strict=True):
                ours = places[lib, address]
                calls = [*theirs.get("inlines", []), theirs]
                assert len(ours) == len(calls), (ours, theirs)
                for mine, other in zip(ours, calls):
                    assert (mine[3], mine[4]) == (other.get("file"), other.get("line")), (mine, other)
                    reason = why(mine[2], other.get("function", ""), ())
                    counts[UNKNOWN if reason is None else reason or "the same"] += 1
    print(f"{len(places)} addresses:", dict(counts))
    assert counts["the same"] > 30 and counts[UNKNOWN] <= 1 + sum(counts.values()) // 100
