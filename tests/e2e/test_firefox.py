# SPDX-License-Identifier: Apache-2.0
"""Profiles of the Firefox Profiler and of samply, symbolized. What samply finds itself is compared in
test_samply.py."""
import copy
import gzip
import json
import subprocess
import sys

import pytest

from firefox_profile import Builder, check, library, stack_frames, tables_of
from test_symbolize import oracle, pcs, program, run
from tool import ROOT, build_id, compile_c, symbol, unhex

sys.path[:0] = [str(ROOT / "bench")]

# pylint: disable=wrong-import-position
from servers import debug_id  # noqa: E402

__all__ = ["pcs", "program"]  # fixtures


def entry(path, code_id=True):
    name = build_id(path).removeprefix("gnu:")
    return library(path, name if code_id else None, debug_id(name))


def three_threads(program, pcs, shared):  # pylint: disable=redefined-outer-name
    """Every address as the innermost one, and as a caller."""
    b = Builder([entry(program)], shared)
    b.thread([["label", (0, pcs[i]), (0, pc)] for i, pc in enumerate(pcs[1:])])
    b.thread([["label"]], samples2={"stack": [7]})
    rows = b.thread([[(0, pc)] for pc in pcs])
    b.threads[-1] |= {"jsAllocations": {"length": 1, "stack": [rows[-1]]},
                      "nativeAllocations": {"length": 2, "stack": [rows[0], None]}}
    return b.doc()


def expect_symbols(path, tables):
    """All frames that have an address are of outer(), and have its native symbol, where its instructions begin."""
    symbols, frames = tables["nativeSymbols"], tables["frameTable"]
    begin, size = symbol(path, "outer")
    has = [a >= 0 for a in frames["address"]]
    assert [n is not None for n in frames["nativeSymbol"]] == has
    assert set(frames["nativeSymbol"]) - {None} <= {0}
    if any(has):
        assert (symbols["length"], symbols["address"], symbols["libIndex"], symbols["functionSize"]) == \
            (1, [begin], [0], [None])
        assert [tables["stringArray"][n] for n in symbols["name"]] == ["outer"]
        assert all(begin <= a < begin + size for a in frames["address"] if a >= 0)


@pytest.mark.parametrize("shared", [False, True])
def test_frames_get_the_names_of_addr2line_and_all_else_stays(program, pcs, shared):
    doc = three_threads(program, pcs, shared)
    check(doc)
    done = run("-", data=json.dumps(doc, indent=1).encode())
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout)
    check(got)
    for before, after in zip(doc["threads"], got["threads"], strict=True):
        old, new = before["samples"], after["samples"]
        for was, now in zip(old["stack"], new["stack"], strict=True):
            expected = []
            for address, _, name, *_ in stack_frames(doc, before, was):
                frames = oracle(program, address) if address >= 0 else [(name, None, None)]
                expected += [(address, len(frames) - 1 - i, *frame) for i, frame in enumerate(frames)]
            assert [x[:5] for x in stack_frames(got, after, now)] == expected
        assert {**old, "stack": 0} == {**new, "stack": 0}
        cause = after["markers"]["data"][0]["cause"]
        assert cause == {"time": 1, "stack": new["stack"][-1]}
        last = copy.deepcopy(after["markers"])
        last["data"][0]["cause"]["stack"] = before["markers"]["data"][0]["cause"]["stack"]
        assert last == before["markers"]
        expect_symbols(program, tables_of(got, after))
        for key in set(before) - {"nativeSymbols", "samples", "markers", "frameTable", "funcTable", "stackTable", "stringArray",
                                  "jsAllocations", "nativeAllocations"}:
            assert before[key] == after[key], key
    third = got["threads"][2]
    assert third["jsAllocations"]["stack"] == [third["samples"]["stack"][-1]]
    assert third["nativeAllocations"]["stack"] == [third["samples"]["stack"][0], None]
    assert got["meta"] == {**doc["meta"], "symbolicated": True}
    assert got["libs"] == doc["libs"]
    assert run("-", data=done.stdout).stdout == done.stdout


@pytest.mark.parametrize("shared", [False, True])
def test_without_anything_to_name_the_bytes_are_the_same(shared):
    b = Builder([{"name": "a", "path": "/nowhere/a", "debugName": "a", "debugPath": "a", "breakpadId": "", "codeId":
                  "00ff"}], shared)
    b.thread([["f", (0, 0x12)], ["f", "g"]])
    text = json.dumps(b.doc(), indent=2).encode()
    done = run("-", data=text)
    assert (done.returncode, done.stdout) == (0, text)
    assert b" %: /nowhere/a gnu:00ff" in done.stderr


def test_addresses_count_from_where_the_file_is_loaded(tmp_path):
    path = compile_c(tmp_path, "fixed", flags=("-O2", "-g", "-no-pie"))
    start = int([line.split()[0] for line in
                 symbols_of(path) if line.endswith(" main")][0], 16)
    assert start > 0x400000
    b = Builder([entry(path)])
    b.thread([[(0, start - 0x400000)]])
    done = run("-", data=json.dumps(b.doc()).encode())
    got = json.loads(done.stdout)
    assert [x[2:5] for x in stack_frames(got, got["threads"][0], got["threads"][0]["samples"]["stack"][0])] == \
        oracle(path, start)


@pytest.mark.parametrize("flags", [("-fPIE", "-pie"), ("-no-pie",)])
def test_a_server_names_what_is_not_here(server, tmp_path, flags):
    path = compile_c(tmp_path, "served", flags=("-O2", "-g", *flags))
    start = int([line.split()[0] for line in symbols_of(path) if line.endswith(" main")][0], 16)
    assert unhex("push", "--url", server.url, "--token", server.token, path).returncode == 0
    lib = {**entry(path), "path": "/nowhere/served"}
    b = Builder([lib, {**lib, "codeId": None}])
    b.thread([[(0, start - (0x400000 if flags == ("-no-pie",) else 0))], [(1, start)]])
    done = run("-", "--no-local", "--url", server.url, data=json.dumps(b.doc()).encode())
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout)
    stacks = [stack_frames(got, got["threads"][0], x) for x in got["threads"][0]["samples"]["stack"]]
    assert [x[2:5] for x in stacks[0]] == oracle(path, start)
    assert stacks[1][0][2] == hex(start)
    assert b"the recording has no build ID to query the server with" in done.stderr


def symbols_of(path):
    return subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.splitlines()


def test_a_library_without_a_code_id_is_known_by_its_debug_id(program, pcs):
    b = Builder([entry(program, code_id=False)])
    b.thread([[(0, pcs[0])]])
    doc = b.doc()
    done = run("-", data=json.dumps(doc).encode())
    assert done.returncode == 0 and b"100.0 %" in done.stderr
    doc["libs"][0]["breakpadId"] = "00" * 16 + "0"
    done = run("-", data=json.dumps(doc).encode())
    assert done.returncode == 1 and b"has the debug ID" in done.stderr
    assert json.loads(done.stdout) == doc


def test_native_symbols_that_are_there_stay(program, pcs):
    """A frame that has one keeps it; others get rows behind."""
    b = Builder([entry(program)])
    b.thread([[(0, pcs[0]), (0, pcs[5])]])
    doc = b.doc()
    thread = doc["threads"][0]
    thread["nativeSymbols"] = {"length": 1, "libIndex": [0], "address": [7], "name": [0], "functionSize": [9]}
    thread["frameTable"]["nativeSymbol"][0] = 0
    got = json.loads(run("-", data=json.dumps(doc).encode()).stdout)
    check(got)
    symbols, frames = got["threads"][0]["nativeSymbols"], got["threads"][0]["frameTable"]
    assert symbols["address"] == [7, symbol(program, "outer")[0]] and symbols["functionSize"] == [9, None]
    assert frames["nativeSymbol"][:2] == [0, 1]
    del thread["nativeSymbols"]
    assert run("-", data=json.dumps(doc).encode()).returncode == 0


def test_compression_and_other_formats(program, pcs, tmp_path):
    data = json.dumps(three_threads(program, pcs, False)).encode()
    assert gzip.decompress(run("-", data=gzip.compress(data)).stdout) == run("-", data=data).stdout
    folded = run("-", "--to", "folded", data=data).stdout.decode()
    expected = {";".join(["thread 2", *[name for name, _, _ in oracle(program, pc)][::-1]]) for pc in pcs}
    assert {line.rpartition(" ")[0] for line in folded.splitlines() if line.startswith("thread 2;")} == expected
    (tmp_path / "p.json").write_bytes(data)
    done = unhex("flame", tmp_path / "p.json", "-o", tmp_path / "p.firefox.json")
    assert done.returncode == 0, done.stderr
    check(json.loads((tmp_path / "p.firefox.json").read_text()))


def test_what_is_wrong_is_said_with_its_place(program, pcs):
    def damaged(change):
        b = Builder([entry(program)])
        b.thread([["label", (0, pcs[0])]])
        doc = b.doc()
        change(doc["threads"][0])
        return json.dumps(doc).encode()
    for change, reason in (
            (lambda t: t["stackTable"].update(prefix=[None, 1]), "stack 1 precedes its prefix 1"),
            (lambda t: t["stackTable"].update(frame=[0, 2]), '"frame" has row 2 of 2'),
            (lambda t: t["stackTable"].update(frame=[0]), "columns of one table have 2 and 1 rows"),
            (lambda t: t["frameTable"].update(func=[0, 99]), '"func" has row 99 of 2'),
            (lambda t: t["frameTable"].update(address=[0]), "columns of one table have 1 and 2 rows"),
            (lambda t: t["frameTable"].update(address=[0, "x"]), "expected a number"),
            (lambda t: t["funcTable"].update(name=[0, 55]), '"name" has row 55 of'),
            (lambda t: t["funcTable"].update(resource=[0, 1]), '"resource" has row 1 of 1'),
            (lambda t: t["resourceTable"].update(lib=[3]), '"lib" has row 3 of 1'),
            (lambda t: t["samples"].update(stack=[2]), '"stack" has row 2 of 2'),
            (lambda t: t.pop("stackTable"), 'the key "stackTable"'),
            (lambda t: t.update(stringArray=[5]), "expected a string")):
        done = run("-", data=damaged(change))
        assert (done.returncode, done.stdout) == (1, b""), reason
        assert reason in done.stderr.decode() and "section Firefox profile+0x" in done.stderr.decode(), done.stderr
    whole = damaged(lambda t: None)
    for n in range(len(b'{"meta": {}, "libs"'), len(whole), 97):
        done = run("-", data=whole[:n])
        assert (done.returncode, done.stdout) == (1, b""), n
