# SPDX-License-Identifier: Apache-2.0
"""/source/v1 and /asm/v1, with the requests of the Firefox Profiler"""
import json
import re
import subprocess
import urllib.error
import urllib.request

import pytest

from firefox_profile import check
from test_protocols import debug_id, image_base
from tool import build_id, compile_c, symbol, unhex



@pytest.fixture(scope="module", params=["-pie", "-no-pie"])
def prog(tmp_path_factory, request):
    return compile_c(tmp_path_factory.mktemp("profiler"), flags=("-O1", "-g", request.param))


@pytest.fixture(scope="module")
def pushed(server_of_module, prog):
    result = server_of_module.unhex("push", "--sources", "--with-debuginfo", prog)
    assert result.returncode == 0, result.stdout
    return server_of_module


def post(server, path, doc):
    """The bytes that the profiler's fetch() sends: no type of its own, no key."""
    request = urllib.request.Request(server.url + path, json.dumps(doc).encode(),
                                     {"Content-Type": "text/plain;charset=UTF-8"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.headers["Content-Type"] == "application/json"
        return json.load(answer)


def refused(server, path, doc, status, words):
    with pytest.raises(urllib.error.HTTPError) as failure:
        post(server, path, doc)
    assert failure.value.code == status
    assert words in json.load(failure.value)["error"]["message"]


# /source/v1

def source_request(prog, **more):
    start, _ = symbol(prog, "outer")
    return {"debugName": prog.name, "debugId": debug_id(build_id(prog)),
            "moduleOffset": hex(start - image_base(prog)), "file": str(prog.with_suffix(".c")),
            **more}


def test_a_source_file_comes_with_the_proof_of_an_address(pushed, prog):
    reported = post(pushed, "/source/v1", source_request(prog))
    assert reported == {"symbolsLastModified": None, "sourceLastModified": None,
                    "file": str(prog.with_suffix(".c")),
                    "source": prog.with_suffix(".c").read_text()}


def test_every_file_that_symbolicate_names_can_be_had(pushed, prog):
    base, (start, size) = image_base(prog), symbol(prog, "outer")
    name = debug_id(build_id(prog))
    (result,) = post(pushed, "/symbolicate/v5", {
        "memoryMap": [[prog.name, name]],
        "stacks": [[[0, pc - base] for pc in range(start, start + size)]]})["results"]
    requested = set()
    for frame in result["stacks"][0]:
        for one in (frame, *frame.get("inlines", [])):
            key = (one["file"], frame["module_offset"])
            if key not in requested:
                reported = post(pushed, "/source/v1", {
                    "debugName": prog.name, "debugId": name, "moduleOffset": key[1],
                    "file": key[0]})
                assert len(reported["source"].splitlines()) >= one["line"]
            requested.add(key)
    assert len({file for file, _ in requested}) >= 1


@pytest.mark.parametrize("change, status, words", [
    ({"file": "/etc/passwd"}, 404, "no code at"),
    ({"file": "prog.c"}, 404, "no code at"),
    ({"moduleOffset": "0x0"}, 404, "no code at"),
    ({"moduleOffset": "x"}, 400, "moduleOffset"),
    ({"moduleOffset": "0xffffffffffffffff"}, 404, "no code at"),
    ({"debugId": "0123456789ABCDEF0123456789ABCDEF0"}, 404, "debug ID"),
    ({"debugId": ""}, 400, "debugId"),
    ({"file": 7}, 400, "file"),
])
def test_without_the_proof_there_is_no_file(pushed, prog, change, status, words):
    refused(pushed, "/source/v1", source_request(prog, **change), status, words)


def test_a_file_that_was_not_uploaded_is_not_looked_for_here(server, prog):
    assert server.unhex("push", prog).returncode == 0
    refused(server, "/source/v1", source_request(prog), 404, "no source file")


# /asm/v1

def asm_request(prog, name="outer", **more):
    start, size = symbol(prog, name)
    return {"debugName": prog.name, "debugId": debug_id(build_id(prog)), "name": prog.name,
            "codeId": None, "startAddress": hex(start - image_base(prog)), "size": hex(size),
            "continueUntilFunctionEnd": False, **more}


def objdump(path, start, size):
    """Offset and mnemonic of each instruction."""
    text = subprocess.run(["objdump", "-d", "-M", "intel", "--no-show-raw-insn",
                           f"--start-address={start:#x}", f"--stop-address={start + size:#x}",
                           path], check=True, text=True, stdout=subprocess.PIPE).stdout
    found = re.findall(r"^\s*([0-9a-f]+):\t(\S+)", text, re.M)
    return [(int(pc, 16) - start, word) for pc, word in found]


@pytest.mark.parametrize("name", ["outer", "main", "_start"])
def test_instructions_are_those_of_objdump(pushed, prog, name):
    start, size = symbol(prog, name)
    if size == 0:
        size = 34  # _start, which says none
    reported = post(pushed, "/asm/v1", asm_request(prog, name, size=hex(size)))
    assert reported["startAddress"] == hex(start - image_base(prog)) and reported["size"] == hex(size)
    assert reported["arch"] == "x86_64" and reported["syntax"] == ["Intel"]
    want = objdump(prog, start, size)
    assert [offset for offset, _ in reported["instructions"]] == [offset for offset, _ in want]
    # Prefixes are words of their own there.
    same = sum(text.split()[0] == word for (_, text), (_, word) in zip(reported["instructions"], want))
    assert same >= len(want) - 1, (reported, want)


def test_a_function_reaches_its_end_when_its_size_is_not_known(pushed, prog):
    start, size = symbol(prog, "outer")
    reported = post(pushed, "/asm/v1", asm_request(prog, size="0x1", continueUntilFunctionEnd=True))
    assert int(reported["size"], 16) == size
    assert [offset for offset, _ in reported["instructions"]] == \
        [offset for offset, _ in objdump(prog, start, size)]
    inside = reported["instructions"][2][0]
    reported = post(pushed, "/asm/v1", asm_request(
        prog, startAddress=hex(start - image_base(prog) + inside), size="0x1",
        continueUntilFunctionEnd=True))
    assert int(reported["size"], 16) == size - inside


def test_a_code_id_names_the_module_too(pushed, prog):
    reported = post(pushed, "/asm/v1", asm_request(prog, debugId=None,
                                               codeId=build_id(prog).removeprefix("gnu:")))
    assert reported["instructions"]


@pytest.mark.parametrize("change, status, words", [
    ({"startAddress": "0x7fffffff0000"}, 404, "no code at"),
    ({"startAddress": "0xffffffffffffffff"}, 404, "no code at"),
    ({"startAddress": 7}, 400, "startAddress"),
    ({"size": "much"}, 400, "size"),
    ({"debugId": None}, 400, "codeId"),
    ({"debugId": "0123456789ABCDEF0123456789ABCDEF0"}, 404, "debug ID"),
    ({"continueUntilFunctionEnd": "yes"}, 400, "continueUntilFunctionEnd"),
])
def test_what_is_no_request_for_code_is_refused(pushed, prog, change, status, words):
    refused(pushed, "/asm/v1", asm_request(prog, **change), status, words)


def test_a_huge_range_is_cut(pushed, prog):
    reported = post(pushed, "/asm/v1", asm_request(prog, size="0xffffffffffffffff"))
    size = int(reported["size"], 16)
    assert symbol(prog, "outer")[1] < size <= 256 << 10
    assert size - 16 <= reported["instructions"][-1][0] < size


def test_code_of_a_program_that_was_not_uploaded_is_missing(server, prog):
    assert server.unhex("push", prog).returncode == 0
    refused(server, "/asm/v1", asm_request(prog), 404, "--with-debuginfo")


def test_what_is_no_code_becomes_bytes(server, tmp_path):
    prog = compile_c(tmp_path, source="__asm__(\".text\\n.globl odd\\n.type odd,@function\\n"
                     "odd: .byte 0x06,0x06,0x90\\nret\\n.size odd,.-odd\\n\");\n"
                     "int main(void) { return 0; }\n")
    assert server.unhex("push", "--with-debuginfo", prog).returncode == 0
    reported = post(server, "/asm/v1", asm_request(prog, "odd"))
    assert [offset for offset, _ in reported["instructions"]] == [0, 1, 2, 3]
    assert reported["instructions"][0][1].startswith(".byte") and reported["instructions"][3][1] == "ret"


def test_profiles_that_are_written_lead_to_the_code_of_their_functions(pushed, prog, tmp_path):
    """What the Profiler's assembly view requests for a frame: the code of its native symbol, of the size that is
    known by the frames in it, and on to the end of the function."""
    pcs = [start + i for start, size in (symbol(prog, "outer"), symbol(prog, "main")) for i in range(0, size, 3)]
    text = "".join(f"main;{prog}+{pc:#x} 1\n" for pc in pcs)
    unhex("symbolize", "-", "--to", "firefox", "-o", tmp_path / "x.json", stdin=text)
    doc = json.loads((tmp_path / "x.json").read_text())
    check(doc)
    (thread,) = doc["threads"]
    frames, natives, strings = thread["frameTable"], thread["nativeSymbols"], thread["stringArray"]
    base, seen = image_base(prog), set()
    assert natives["length"] == 2 and {strings[n] for n in natives["name"]} == {"outer", "main"}
    for row, name in enumerate(natives["name"]):
        start, size = symbol(prog, strings[name])
        assert natives["address"][row] == start - base
        own = [a for a, n in zip(frames["address"], frames["nativeSymbol"]) if n == row]
        assert own and all(0 <= a - natives["address"][row] < size for a in own)
        seen |= set(own)
        lib = doc["libs"][natives["libIndex"][row]]
        assert lib["breakpadId"] == debug_id(build_id(prog))
        reported = post(pushed, "/asm/v1", {
            "debugName": lib["debugName"], "debugId": lib["breakpadId"], "name": lib["name"], "codeId": lib["codeId"],
            "startAddress": hex(natives["address"][row]), "size": hex(max(own) - natives["address"][row] + 1),
            "continueUntilFunctionEnd": True})
        want = objdump(prog, start, size)
        assert [offset for offset, _ in reported["instructions"]][:len(want)] == [offset for offset, _ in want]
    assert seen == {pc - base for pc in pcs}
    # Inlined calls have the symbol of the function that they are in.
    inlined = [n for n, depth in zip(frames["nativeSymbol"], frames["inlineDepth"]) if depth > 0]
    assert inlined and None not in inlined
    # What is known by its name alone has none.
    assert frames["nativeSymbol"][frames["address"].index(-1)] is None
