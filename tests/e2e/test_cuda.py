# SPDX-License-Identifier: Apache-2.0
"""GPU code: cubins and fat binaries that the seeds' maker assembled (fuzz/make_cuda_corpus.c), so that no
toolkit is needed. test_cuda_toolkit.py has what a toolkit's compiler makes."""
import json
import shutil

import pytest

from tool import ROOT, fails, lines, unhex

SEEDS = ROOT / "fuzz/corpus/fatbin"
CUBIN = SEEDS / "cubin"
HOST = SEEDS / "host"
FAT = SEEDS / "containers"

# What byte OFFSET of FUNCTION says, innermost first: as the maker's calls read.
EXPECTED = {
    "a+0": [("a", "k.cu", 10)],
    "a+0x10": [("low", "k.h", 3), ("a", "k.cu", 10)],
    "a+0xff": [("low", "k.h", 3), ("a", "k.cu", 10)],
    "_Z1bPf+0": [("_Z1bPf", "k.cu", 50)],
    "_Z1bPf+0x80": [("in", "k.cu", 60)],
    "_Z1bPf+0x90": [("low", "k.h", 3), ("in", "k.cu", 60)],
    "_Z1bPf+0xa0": [("lower", "k.h", 4), ("low", "k.h", 3), ("in", "k.cu", 60)],
    "_Z1bPf+0xc0": [("_Z1bPf", "k.cu", 55)],
    "in+0x10": [("low", "k.h", 3), ("in", "k.cu", 60)],
}


def crc_of(cubin):
    """CUPTI's number, by the page in docs/formats."""
    def add(value, data):
        for byte in data:
            value = (value ^ byte) * 0x01000193 & 0xffffffff
        return value
    n = len(cubin)
    k = 2 * (n - 1).bit_length()
    start = add(0x811c9dc5, n.to_bytes(8, "little"))
    return f"cubin-crc:{add(start, bytes(cubin[i * n // k] for i in range(k))):08x}"


def frames(answer):
    return [(f["function"], f["file"].removeprefix("/src/"), f["line"]) for f in answer["frames"]]


def looked_up(*args, stdin=None):
    result = unhex("lookup", "--json", "--demangle", "none", *args, stdin=stdin)
    return [frames(answer) for answer in lines(result)]


def test_places_in_a_cubin_are_named_by_function_and_offset():
    assert looked_up(CUBIN, *EXPECTED) == list(EXPECTED.values())


def test_places_are_read_from_standard_input_too():
    assert looked_up(CUBIN, stdin="\n".join(EXPECTED) + "\n") == list(EXPECTED.values())


def test_a_function_is_also_named_by_its_number_in_the_symbol_table():
    assert looked_up(CUBIN, "%1+0x10", "%2+0x20") == [EXPECTED["a+0x10"], EXPECTED["_Z1bPf+0xa0"]]


def test_lines_of_ptx_are_reported_where_there_are_no_others():
    ptx = SEEDS / "ptx"
    assert looked_up(ptx, "hand+0", "hand+0x7f", "told+0x20") == [
        [("hand", ".nv_debug_ptx_txt", 12)], [("hand", ".nv_debug_ptx_txt", 14)], [("told", "k.cu", 7)]]
    (reported,) = lines(unhex("id", "--json", ptx))
    assert reported["sources"] == [{"source": "dwarf", "version": 2, "found": 1}, {"source": "symtab", "found": 2},
                               {"source": "ptx", "found": 1}]


def test_an_address_is_the_place_in_the_file():
    (answer,) = lines(unhex("lookup", "--json", CUBIN, "a+0x10"))
    start = int(answer["address"], 16) - 0x10
    assert start > 0 and CUBIN.read_bytes()[start:start + 256] == bytes(range(256))


def test_unknown_functions_are_reported():
    fails(unhex("lookup", CUBIN, "nothing+1"), 1, CUBIN, 'no function is named "nothing"')
    fails(unhex("lookup", CUBIN, "%77+1"), 1, CUBIN, "symbol 77 is not a function")
    assert "nothing+1 ??" in unhex("lookup", CUBIN, "nothing+1").stdout
    assert unhex("lookup", CUBIN, "a+", "0").returncode == 2


def test_a_place_is_found_in_any_module_and_gsym(tmp_path):
    gsym = tmp_path / "k.gsym"
    assert unhex("extract", CUBIN, "-o", gsym).returncode == 0
    assert looked_up(gsym, *EXPECTED) == list(EXPECTED.values())


def test_a_cubin_has_a_file_id_and_cuptis_number():
    (reported,) = lines(unhex("id", "--json", CUBIN))
    assert reported["arch"] == "sm_90" and reported["quality"] == "inlines"
    assert reported["ids"][0].startswith("file:")
    assert reported["ids"][1] == crc_of(CUBIN.read_bytes())


def test_each_piece_of_a_programs_gpu_code_is_reported():
    program, *pieces = lines(unhex("id", "--json", HOST))
    assert "gpu" not in program and program["file"] == str(HOST)
    reported = [(p["gpu"], p["arch"], p["kind"], p["size"]) for p in pieces]
    size = CUBIN.stat().st_size
    assert reported == [(1, "sm_80", "cubin", size), (2, "sm_90", "cubin", size),
                    (3, "compute_90", "ptx", 20), (4, "sm_100f", "cubin", size),
                    (5, "compute_90f", "ptx", 20)]
    for piece in pieces:
        if piece["kind"] == "cubin":
            assert piece["quality"] == "inlines" and piece["name"] == "k.cu"
            assert crc_of(CUBIN.read_bytes()) in piece["ids"]
    text = unhex("id", HOST).stdout
    assert "gpu 3: compute_90 ptx, 20 bytes, compiled by the driver at run time" in text


def test_a_fat_binary_is_described_like_a_program():
    fat, *pieces = lines(unhex("id", "--json", FAT))
    assert len(pieces) == 5 and fat["ids"][0].startswith("file:") and "quality" not in fat


@pytest.mark.parametrize("which", ["sm_80", "sm_90", "sm_100f", "1", "2", "4"])
def test_gpu_code_is_chosen_by_architecture_or_number(which):
    assert looked_up(HOST, "--gpu", which, *EXPECTED) == list(EXPECTED.values())
    assert looked_up(FAT, "--gpu", which, "a+0") == [EXPECTED["a+0"]]


def test_gpu_code_is_chosen_by_its_identity():
    (reported,) = lines(unhex("id", "--json", CUBIN))
    for name in reported["ids"]:
        assert looked_up(HOST, "--gpu", name, "a+0") == [EXPECTED["a+0"]]


def test_explain_tells_of_a_programs_gpu_code():
    (answer,) = lines(unhex("lookup", "--json", HOST, "--gpu", "sm_90", "a+0x10"))
    reported, address = lines(unhex("explain", "--json", HOST, "--gpu", "sm_90", answer["address"]))
    assert reported["quality"] == "inlines"
    assert {s["source"] for s in reported["sources"]} == {"dwarf", "symtab"}
    assert frames(address) == EXPECTED["a+0x10"] and address["name_from"] == "dwarf"
    fails(unhex("explain", HOST, "--gpu", "sm_70", "1"), 1, HOST, "no GPU code for sm_70")


def test_what_is_no_choice_is_refused():
    fails(unhex("lookup", HOST, "--gpu", "sm_70", "1"), 1, HOST, "no GPU code for sm_70",
          "sm_80, sm_90, compute_90 (not compiled), sm_100f")
    fails(unhex("lookup", HOST, "--gpu", "3", "1"), 1, HOST, "is ptx", "at run time")
    fails(unhex("lookup", FAT, "1"), 1, FAT, "3 pieces of GPU code")
    fails(unhex("lookup", "/bin/true", "--gpu", "sm_80", "1"), 1, "none")


def test_extract_writes_one_piece(tmp_path):
    host = shutil.copy(HOST, tmp_path / "train")
    result = unhex("extract", host, "--gpu", "sm_90", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert looked_up(tmp_path / "train.sm_90.gsym", *EXPECTED) == list(EXPECTED.values())
    direct = tmp_path / "direct.gsym"
    assert unhex("extract", CUBIN, "-o", direct).returncode == 0
    assert (tmp_path / "train.sm_90.gsym").read_bytes() == direct.read_bytes()


def test_the_same_bytes_come_out_at_any_thread_count(tmp_path):
    made = []
    for threads in (1, 2, 8):
        out = tmp_path / f"{threads}.gsym"
        assert unhex("extract", CUBIN, "--threads", threads, "-o", out).returncode == 0
        made.append(out.read_bytes())
    assert made[0] == made[1] == made[2]


def changed(cubin, into):
    """The same cubin with another line number, at a place that CUPTI's number does not look at."""
    data = bytearray(cubin.read_bytes())
    n, k = len(data), 2 * (len(data) - 1).bit_length()
    sampled = {i * n // k for i in range(k)}
    at = data.index(bytes([0x03, 0x09, 0x01]))  # the first row of `a`: advance_line 9, copy
    assert at + 1 not in sampled
    data[at + 1] = 0x10
    into.write_bytes(data)
    return into


def push(server, *args):
    result = server.unhex("push", "--json", *args)
    return result.returncode, lines(result)


def test_push_takes_each_piece_once(server):
    status, reported = push(server, HOST)
    assert status == 0, reported
    assert {t.get("gpu", 0): t["status"] for t in reported} == {
        0: "skipped", 1: "uploaded", 2: "skipped", 4: "skipped"}
    status, reported = push(server, FAT)
    assert status == 0, reported
    assert {t.get("gpu", 0): t["status"] for t in reported} == {
        1: "already-there", 2: "skipped", 4: "skipped"}
    assert push(server, "--no-gpu", HOST)[1][0]["status"] == "failed"


def answered(server, name, address):
    (answer,) = lines(server.unhex("lookup", "--json", name, hex(address)))
    return frames(answer)


def test_the_server_answers_by_cuptis_number(server):
    (reported,) = lines(unhex("id", "--json", CUBIN))
    (answer,) = lines(unhex("lookup", "--json", CUBIN, "a+0x10"))
    assert push(server, CUBIN)[1][0]["status"] == "uploaded"
    for name in reported["ids"]:
        assert answered(server, name, int(answer["address"], 16)) == EXPECTED["a+0x10"]


def test_the_server_knows_functions_by_name(server, tmp_path):
    (reported,) = lines(unhex("id", "--json", CUBIN))
    assert push(server, CUBIN)[1][0]["status"] == "uploaded"
    name = reported["ids"][1]
    result = server.unhex("lookup", "--json", "--demangle", "none", name, *EXPECTED, "nothing+1")
    answers = lines(result)
    assert [a["address"] for a in answers] == [*EXPECTED, "nothing+1"]
    assert [frames(a) for a in answers] == [*EXPECTED.values(), []]
    result = server.unhex("lookup", name, stdin="a+0x10\nnothing+1\n")
    assert result.stdout.splitlines() == ["a+0x10 low at /src/k.h:3", "    (inlined by) a at /src/k.cu:10",
                                          "nothing+1 ??"]


def test_cubins_with_one_number_stay_apart(server, tmp_path):
    other = changed(CUBIN, tmp_path / "other.cubin")
    (first,), (second,) = lines(unhex("id", "--json", CUBIN)), lines(unhex("id", "--json", other))
    assert first["ids"][1] == second["ids"][1]
    assert first["ids"][0] != second["ids"][0]
    (answer,) = lines(unhex("lookup", "--json", CUBIN, "a+0"))
    at = int(answer["address"], 16)
    assert push(server, CUBIN)[1][0]["status"] == "uploaded"
    assert push(server, other)[1][0]["status"] == "uploaded"
    assert answered(server, first["ids"][0], at) == [("a", "k.cu", 10)]
    assert answered(server, second["ids"][0], at) == [("a", "k.cu", 17)]
    assert answered(server, second["ids"][1], at) == [("a", "k.cu", 17)]  # that of the last one
    status, reported = push(server, CUBIN, other)
    assert [t["status"] for t in reported] == ["already-there", "already-there"]
