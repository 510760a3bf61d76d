# SPDX-License-Identifier: Apache-2.0
"""Other people's protocols, with the requests of their clients."""
import gzip
import http.server
import json
import random
import shutil
import struct
import subprocess
import threading
import urllib.request

import pytest

from http_api import Api
from tool import build_id, compile_c, symbol, unhex

GO = shutil.which("go")


@pytest.fixture(scope="module")
def prog(tmp_path_factory):
    return compile_c(tmp_path_factory.mktemp("protocols"), flags=("-O1", "-g", "-no-pie"))


@pytest.fixture(scope="module")
def pushed(server_of_module, prog):
    assert server_of_module.unhex("push", prog).returncode == 0
    return server_of_module


def debug_id(name):
    """Breakpad's name of a GNU build ID: a GUID of a little-endian machine, and age 0."""
    b = bytes.fromhex(name.removeprefix("gnu:"))[:16].ljust(16, b"\0")
    return (b[3::-1] + b[5:3:-1] + b[7:5:-1] + b[8:]).hex().upper() + "0"


def image_base(path):
    headers = subprocess.run(["readelf", "-lW", path], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    return min(int(line.split()[2], 16) for line in headers.splitlines()
               if line.split()[:1] == ["LOAD"])


def profiler(server, doc):
    """As the Firefox Profiler asks: without a type of its own, the key in the path or none."""
    request = urllib.request.Request(server.url + "/symbolicate/v5", json.dumps(doc).encode(),
                                     {"Content-Type": "text/plain;charset=UTF-8",
                                      "Authorization": f"Bearer {server.token}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.headers["Content-Type"] == "application/json"
        return json.load(answer)["results"]


# Mozilla

def test_the_profiler_gets_functions_lines_and_inlined_calls(pushed, prog):
    base = image_base(prog)
    name, (start, size) = debug_id(build_id(prog)), symbol(prog, "outer")
    offsets = list(range(start - base, start - base + size))
    (result,) = profiler(pushed, {"jobs": [{"memoryMap": [["prog", name]],
                                            "stacks": [[[0, o] for o in offsets]]}]})
    assert result["found_modules"] == {f"prog/{name}": True}
    (stack,) = result["stacks"]
    assert len(stack) == len(offsets)
    inlined = 0
    for i, (offset, frame) in enumerate(zip(offsets, stack)):
        ours = json.loads(unhex("lookup", "--json", prog, hex(base + offset)).stdout) \
            if i % 7 == 0 else None
        assert frame["frame"] == i and frame["module"] == "prog"
        assert frame["module_offset"] == hex(offset)
        assert frame["function"] == "outer"
        assert int(frame["function_offset"], 16) == base + offset - start
        assert frame["file"] == str(prog.with_suffix(".c")) and frame["line"] > 0
        inlined += "inlines" in frame
        if ours:
            chain = [*frame.get("inlines", []), frame]
            assert [f["function"] for f in chain] == [f["function"] for f in ours["frames"]]
            assert [f["line"] for f in chain] == [f["line"] for f in ours["frames"]]
    assert inlined > 0


def test_each_unknown_module_is_reported(pushed, prog):
    name, other = debug_id(build_id(prog)), "0123456789ABCDEF0123456789ABCDEF0"
    doc = {"memoryMap": [["prog", name], ["gone", other], ["quiet", other], ["prog", name]],
           "stacks": [[[0, 1], [1, 0x20], [-1, 7]], [[3, 2]], []]}
    (result,) = profiler(pushed, doc)
    assert result["found_modules"] == {f"prog/{name}": True, f"gone/{other}": False,
                                       f"quiet/{other}": None}
    assert result["stacks"] == [
        [{"frame": 0, "module": "prog", "module_offset": "0x1"},
         {"frame": 1, "module": "gone", "module_offset": "0x20"},
         {"frame": 2, "module": "<unknown>", "module_offset": "0x7"}],
        [{"frame": 0, "module": "prog", "module_offset": "0x2"}], []]


def from_first_function(gsym):
    """The same GSYM as a writer without the image has it: its base is the first function."""
    data = bytearray(gsym)
    version, width = struct.unpack_from("<HB", data, 4)
    base, n = struct.unpack_from("<QI", data, 8)
    assert version == 1
    starts = [int.from_bytes(data[48 + i * width:48 + (i + 1) * width], "little") for i in range(n)]
    assert starts[0] > 0
    struct.pack_into("<Q", data, 8, base + starts[0])
    for i, start in enumerate(starts):
        data[48 + i * width:48 + (i + 1) * width] = (start - starts[0]).to_bytes(width, "little")
    return bytes(data)


def test_offsets_in_a_file_whose_start_is_unknown_name_nothing(server, prog, tmp_path):
    assert unhex("extract", prog, "-o", tmp_path / "x.gsym").returncode == 0
    api, own = Api(server), build_id(prog)
    api.upload([own], from_first_function((tmp_path / "x.gsym").read_bytes()))
    start, _ = symbol(prog, "outer")
    offset = start - image_base(prog)
    # Addresses of the file are named as ever; offsets would have to be guessed.
    status, doc, _ = api("GET", f"/v1/symbolize/{own}?addr={start:#x}")
    assert status == 200 and "outer" in json.dumps(doc)
    (result,) = profiler(server, {"memoryMap": [["prog", debug_id(own)]], "stacks": [[[0, offset]]]})
    assert result["stacks"] == [[{"frame": 0, "module": "prog", "module_offset": hex(offset)}]]
    source = {"debugName": "prog", "debugId": debug_id(own), "moduleOffset": hex(offset),
              "file": str(prog.with_suffix(".c"))}
    status, doc, _ = api("POST", "/source/v1", source)
    assert status == 404 and "do not record where the file's image begins" in json.dumps(doc), doc


def test_a_profile_of_many_addresses_is_one_request(pushed, prog):
    base, name = image_base(prog), debug_id(build_id(prog))
    start, size = symbol(prog, "outer")
    some = random.Random(1)
    stack = [[0, start - base + some.randrange(size)] for _ in range(100000)]
    (result,) = profiler(pushed, {"jobs": [{"memoryMap": [["prog", name]], "stacks": [stack]}]})
    assert len(result["stacks"][0]) == len(stack)
    assert {f["function"] for f in result["stacks"][0]} == {"outer"}


@pytest.mark.parametrize("doc, words", [
    ({}, "memoryMap"),
    ({"memoryMap": []}, "stacks"),
    ({"memoryMap": [["a"]], "stacks": []}, "memoryMap[0]"),
    ({"memoryMap": [["a", 7]], "stacks": []}, "memoryMap[0]"),
    ({"memoryMap": [["a", "00"]], "stacks": [[[1, 0]]]}, "memoryMap has 1"),
    ({"memoryMap": [["a", "00"]], "stacks": [[[-2, 0]]]}, "memoryMap has 1"),
    ({"memoryMap": [["a", "00"]], "stacks": [[[0, -1]]]}, "pair"),
    ({"memoryMap": [["a", "00"]], "stacks": [[[0, 1.5]]]}, "pair"),
    ({"memoryMap": [["a", "00"]], "stacks": [7]}, "stack"),
    ({"jobs": [7]}, "job"),
])
def test_what_is_no_request_is_refused_in_words(pushed, doc, words):
    assert words in Api(pushed).refused(400, "invalid", "POST", "/symbolicate/v5", doc)


def test_more_jobs_than_ten_are_refused(pushed):
    Api(pushed).refused(413, "too_large", "POST", "/symbolicate/v5",
                        {"jobs": [{"memoryMap": [], "stacks": []}] * 11})


# pprof

def varint(v):
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def profile_of(addresses, low, high, path):
    """A CPU profile without any name, one sample an address (profile.proto)."""
    strings = ["", "samples", "count", str(path)]
    out = field(1, field(1, 1) + field(2, 2))
    for i, address in enumerate(addresses, 1):
        out += field(2, field(1, varint(i)) + field(2, varint(1)))
        out += field(4, field(1, i) + field(2, 1) + field(3, address))
    out += field(3, field(1, 1) + field(2, low) + field(3, high) + field(5, 3))
    return gzip.compress(out + b"".join(field(6, s) for s in strings))


class Front(http.server.BaseHTTPRequestHandler):
    """A program with net/http/pprof; a redirect names the server that symbolizes for it."""
    profile, symbols = b"", ""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.profile)

    def do_POST(self):
        self.send_response(307)
        self.send_header("Location", self.symbols)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.mark.skipif(not GO, reason="needs Go")
def test_go_tool_pprof_gets_its_names(pushed, prog, tmp_path):
    base, (start, size) = image_base(prog), symbol(prog, "outer")
    main, _ = symbol(prog, "main")
    Front.profile = profile_of([start, start + size // 2, main], base, base + 0x10000, prog.name)
    Front.symbols = f"{pushed.url}/pprof/{build_id(prog)}/symbol"
    front = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Front)
    threading.Thread(target=front.serve_forever, daemon=True).start()
    try:
        reported = subprocess.run(
            [GO, "tool", "pprof", "-symbolize=remote", "-top",
             f"http://127.0.0.1:{front.server_port}/debug/pprof/profile"],
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}, check=True, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    finally:
        front.shutdown()
    names = {line.split()[-1] for line in reported.stdout.splitlines() if "%" in line}
    assert "main" in names and "outer" in names | {n.split(".")[-1] for n in names}, reported


def test_pprof_asks_whether_there_are_symbols(pushed, prog):
    def ask(path, body=None):
        request = urllib.request.Request(pushed.url + path, body,
                                         {"Authorization": f"Bearer {pushed.token}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read().decode()
    name, (start, _) = build_id(prog), symbol(prog, "main")
    assert ask(f"/pprof/{name}/symbol") == "num_symbols: 1\n"
    assert ask(f"/pprof/{name}/symbol", b"") == ""
    reported = ask(f"/pprof/{name}/symbol", f"{start:#x}+0x1+{start:#x}\n".encode())
    assert reported == f"{start:#x}\tmain\n" * 2
    api = Api(pushed)
    api.refused(404, "not_found", "GET", "/pprof/gnu:00/symbol")
    api.refused(400, "invalid", "POST", f"/pprof/{name}/symbol", "12x")
