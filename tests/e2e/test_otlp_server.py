# SPDX-License-Identifier: Apache-2.0
"""OTLP/HTTP profiles sent to a server: what it names, what it leaves as it is, and how it answers."""
import gzip
import hashlib
import http.client
import json
import re
import subprocess
import urllib.parse
import urllib.request

import pytest
from google.protobuf import json_format

import contract
import otlp_message
from unhex_server import Server
from http_api import Api
from tool import build_id, compile_c, instructions, symbol, unhex

PROTOBUF = "application/x-protobuf"
TAKE, NAME = "/v1development/profiles", "/v1/symbolize/otlp"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compile_c(tmp_path_factory.mktemp("otlp"))


@pytest.fixture(scope="module")
def pcs(program):
    """Every instruction of outer(), which has inlined calls."""
    return instructions(program, "outer")


@pytest.fixture(scope="module")
def server(server_of_module, program):
    done = unhex("push", "--url", server_of_module.url, "--token", server_of_module.token, program)
    assert done.returncode == 0, done.stderr
    return server_of_module


def send(server, path, body, token="", **headers):
    """Status, content type, body and headers of an answer. Headers have _ in place of -."""
    url = urllib.parse.urlsplit(server.url)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
    headers = {"Content-Type": PROTOBUF, **{k.replace("_", "-"): v for k, v in headers.items()}}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    connection.request("POST", path, body, headers)
    answer = connection.getresponse()
    data = answer.read()
    kind = answer.headers.get("Content-Type")
    contract.check_answer("POST", path, answer.status, kind, None)
    return answer.status, kind, data, dict(answer.headers)


def named(server, body, **headers):
    """The message with the server's names."""
    status, kind, data, _ = send(server, NAME, body, **headers)
    assert (status, kind) == (200, PROTOBUF), data
    return data


def message_of(program, pcs, **ids):
    """What the eBPF profiler sends: addresses of the file, IDs as attributes; and one location with a name."""
    b = otlp_message.Builder()
    mapping = b.mapping(program.name, ids or {"gnu": build_id(program).split(":")[1]})
    caller = b.named("already named")
    for i, pc in enumerate(pcs):
        b.sample([b.location(pc, mapping), caller], values=[i + 1])
    return b


def oracle(path, pc):
    """(name, file, line) of each frame, by another symbolizer."""
    done = subprocess.run(["addr2line", "-f", "-i", "-e", path, hex(pc)], capture_output=True, text=True, check=True)
    text = done.stdout.splitlines()
    return [(name, place.split(":")[0], int(place.split(":")[1].split()[0]))
            for name, place in zip(text[::2], text[1::2], strict=True)]


def field(number, content):
    """A length-delimited field."""
    size, head = len(content), bytes([number << 3 | 2])
    while size >= 0x80:
        head += bytes([size & 0x7f | 0x80])
        size >>= 7
    return head + bytes([size]) + content


def json_of(request):
    """OTLP's JSON, whose fields come in the order of their numbers."""
    return json_format.MessageToJson(request, indent=None)


def status_of(data):
    """The google.rpc.Status in an answer."""
    found = re.fullmatch(rb"\x08(.)\x12.(.*)", data, re.S) or re.fullmatch(rb"\x08(.)\x12..(.*)", data, re.S)
    return found[1][0], found[2].decode()


def test_locations_get_names_and_all_else_stays(server, program, pcs):
    b = message_of(program, pcs)
    got = otlp_message.Request.FromString(named(server, b.data()))
    assert otlp_message.frames(got, 1) == [("already named", "", 7)]
    for i, pc in enumerate(pcs):
        assert otlp_message.frames(got, i + 2) == oracle(program, pc), hex(pc)
    assert any(len(otlp_message.frames(got, i + 2)) > 1 for i in range(len(pcs)))
    assert got.resource_profiles == b.request.resource_profiles
    old, new = b.request.dictionary, got.dictionary
    for table in ("mapping_table", "link_table", "attribute_table", "stack_table"):
        assert getattr(old, table) == getattr(new, table), table
    for table in ("string_table", "function_table"):
        assert list(getattr(new, table))[:len(getattr(old, table))] == list(getattr(old, table)), table
        assert len(set(x if isinstance(x, str) else x.SerializeToString() for x in getattr(new, table))) == \
            len(getattr(new, table)), table
    for before, after in zip(old.location_table, new.location_table, strict=True):
        assert (before.address, before.mapping_index, before.attribute_indices) == \
            (after.address, after.mapping_index, after.attribute_indices)


def test_locations_that_come_again_get_the_same_names(server, program, pcs):
    """New ones, those whose stack was made, those whose stack is found by the address; and all in one message."""
    half, whole = (message_of(program, some).data() for some in (pcs[::2], pcs))
    first = named(server, half)
    assert [named(server, half) for _ in range(3)] == [first] * 3
    every = named(server, whole)
    assert [named(server, whole) for _ in range(3)] == [every] * 3
    assert named(server, half) == first
    for data, some in (first, pcs[::2]), (every, pcs):
        got = otlp_message.Request.FromString(data)
        assert [otlp_message.frames(got, i + 2) for i in range(len(some))] == [oracle(program, pc) for pc in some]


def test_a_named_message_stays_byte_for_byte(server, program, pcs):
    once = named(server, message_of(program, pcs).data())
    assert named(server, once) == once


def test_the_same_names_as_from_the_command(server, program, pcs, tmp_path):
    data = message_of(program, pcs).data()
    (tmp_path / "in").write_bytes(data)
    done = unhex("symbolize", "--no-local", "--url", server.url, "-o", tmp_path / "out", tmp_path / "in")
    assert done.returncode == 0, done.stderr
    ours = otlp_message.Request.FromString(named(server, data))
    theirs = otlp_message.Request.FromString((tmp_path / "out").read_bytes())
    for i in range(len(ours.dictionary.location_table)):
        assert otlp_message.frames(ours, i) == otlp_message.frames(theirs, i)


def test_linkage_names_are_kept_beside_readable_ones(server, tmp_path):
    source = tmp_path / "names.cc"
    source.write_text("namespace n { template <class T> __attribute__((noinline)) int f(T v) { return v + 1; } }\n"
                      "int main(int c, char **) { return n::f<long>(c); }\n")
    subprocess.run(["g++", "-O1", "-g", "-Wl,--build-id", "-o", tmp_path / "names", source], check=True)
    assert server.unhex("push", tmp_path / "names").returncode == 0
    address = symbol(tmp_path / "names", "_ZN1n1fIlEEiT_")[0]
    b = message_of(tmp_path / "names", [address])
    got = otlp_message.Request.FromString(named(server, b.data())).dictionary
    function = got.function_table[got.location_table[2].lines[-1].function_index]
    assert got.string_table[function.name_strindex] == "int n::f<long>(long)"
    assert got.string_table[function.system_name_strindex] == "_ZN1n1fIlEEiT_"


@pytest.mark.parametrize("inline", [False, True])
@pytest.mark.parametrize("kind", ["gnu", "htlhash"])
def test_modules_are_found_by_each_kind_of_id(server, program, pcs, kind, inline):
    data = program.read_bytes()
    digest = hashlib.sha256(data[:4096] + data[-4096:] + len(data).to_bytes(8, "big")).hexdigest()[:32]
    text = build_id(program).split(":")[1].upper() if kind == "gnu" else digest
    b = otlp_message.Builder()
    b.sample([b.location(pcs[0], b.mapping("x", {kind: text}, inline=inline))], values=[1])
    got = otlp_message.Request.FromString(named(server, b.data()))
    assert otlp_message.frames(got, 1) == oracle(program, pcs[0])


def test_unknown_fields_are_kept(server, program, pcs):
    b = message_of(program, pcs[:1])
    later = b"\x9a\x06\x03new"  # field 99
    resource, dictionary = b.request.resource_profiles[0].SerializeToString(), b.request.dictionary.SerializeToString()
    got = named(server, field(1, resource + later) + field(2, dictionary + later) + later)
    assert got.startswith(field(1, resource + later)) and got.endswith(later)
    assert got.count(later) == 3
    assert otlp_message.frames(otlp_message.Request.FromString(got), 2) == oracle(program, pcs[0])


def test_a_dictionary_in_two_parts_is_one(server, program, pcs):
    """Parts of one message are joined by every reader of protobuf."""
    b = message_of(program, pcs)
    whole = b.request.dictionary
    first, second = otlp_message.Request().dictionary, otlp_message.Request().dictionary
    first.location_table.extend(whole.location_table[:2])
    second.MergeFrom(whole)
    del second.location_table[:2]
    got = named(server, field(2, first.SerializeToString()) + field(2, second.SerializeToString()))
    assert otlp_message.Request.FromString(got).dictionary == \
        otlp_message.Request.FromString(named(server, b.data())).dictionary


def test_a_location_of_a_process_is_left_alone(server, program, pcs):
    """Its address cannot be turned into one of the file without the executable's segments."""
    b = otlp_message.Builder()
    mapping = b.mapping("x", {"gnu": build_id(program).split(":")[1]}, start=0x7F0000000000)
    b.sample([b.location(0x7F0000000000 + pcs[0], mapping)], values=[1])
    assert named(server, b.data()) == b.data()


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_compressed_messages_are_taken(server, program, pcs, coding):
    data = message_of(program, pcs).data()
    packed = gzip.compress(data) if coding == "gzip" else \
        subprocess.run(["zstd", "-c"], input=data, capture_output=True, check=True).stdout
    assert named(server, packed, Content_Encoding=coding) == named(server, data)
    status, kind, answer, _ = send(server, NAME, packed[:-9], Content_Encoding=coding)
    assert (status, kind) == (400, PROTOBUF)
    assert status_of(answer)[0] == 3 and coding in status_of(answer)[1]
    assert send(server, NAME, b"neither", Content_Encoding=coding)[0] == 400


@pytest.mark.parametrize("coding", [None, "gzip"])
def test_json_is_answered_with_json(server, program, pcs, coding):
    b = message_of(program, pcs)
    text = json_of(b.request)
    body, more = (text.encode(), {}) if coding is None else (gzip.compress(text.encode()), {"Content_Encoding": coding})
    status, kind, answer, _ = send(server, NAME, body, Content_Type="application/json; charset=utf-8", **more)
    assert (status, kind) == (200, "application/json"), answer
    theirs = json_format.Parse(answer.decode(), otlp_message.Request())
    ours = otlp_message.Request.FromString(named(server, b.data()))
    assert [otlp_message.frames(theirs, i) for i in range(len(pcs) + 2)] == \
        [otlp_message.frames(ours, i) for i in range(len(pcs) + 2)]
    assert otlp_message.frames(theirs, 2) == oracle(program, pcs[0])
    cut = text.index('"dictionary"')
    assert answer.decode()[:cut] == text[:cut]  # the resource profiles, byte for byte
    status, kind, answer, _ = send(server, TAKE, body, Content_Type="application/json", **more)
    assert (status, kind) == (200, "application/json")
    assert "otlp-forward" in json.loads(answer)["partialSuccess"]["errorMessage"]


def test_errors_of_json_are_json(server):
    for body, status in ((b"{", 400), (b"[]", 400), (b'{"dictionary":{"locationTable":[{"mappingIndex":9}]}}', 400),
                         (b'{"dictionary":7}', 400)):
        got, kind, answer, _ = send(server, NAME, body, Content_Type="application/json")
        assert (got, kind) == (status, "application/json"), answer
        assert json.loads(answer)["code"] == 3 and json.loads(answer)["message"]
    big = b'{"dictionary":{"stringTable":["' + b"x" * (4 << 20) + b'"]}}'
    got, _, answer, _ = send(server, NAME, big, Content_Type="application/json")
    assert got == 413 and "protobuf" in json.loads(answer)["message"]
    assert send(server, TAKE, big, Content_Type="application/json")[0] == 200


def test_answers_have_the_form_of_the_specification(server, program, pcs):
    status, kind, answer, _ = send(server, TAKE, message_of(program, pcs).data())
    assert (status, kind) == (200, PROTOBUF)
    assert answer.startswith(b"\x0a") and b"otlp-forward" in answer  # partial_success without rejected_profiles
    assert send(server, TAKE, b"")[0] == 200
    for body, more, code in ((b"\x12\x05abc", {}, (400, 3)), (b"x", {"Content_Type": "text/plain"}, (415, 3)),
                             (b"", {"Content_Encoding": "br"}, (415, 3))):
        status, _, answer, _ = send(server, TAKE, body, **more)
        assert (status, status_of(answer)[0]) == code, answer


def test_a_message_over_the_limit_is_refused_however_it_is_packed(tmp_path):
    server = Server(tmp_path / "server", options=("--set", "otlp-bytes=1M")).start()
    try:
        for coding in ("gzip", "zstd"):
            bomb = bytes(100 << 20)
            packed = gzip.compress(bomb) if coding == "gzip" else \
                subprocess.run(["zstd", "-c"], input=bomb, capture_output=True, check=True).stdout
            status, _, answer, _ = send(server, NAME, packed, Content_Encoding=coding)
            assert status == 413 and status_of(answer) == (8, "inflates to more than 1048576 bytes")
        assert send(server, NAME, field(1, bytes(1 << 20)))[0] == 413
        assert send(server, NAME, field(1, bytes((1 << 20) - 10)))[0] == 200
    finally:
        assert server.stop() == 0


@pytest.mark.parametrize("message", [
    field(2, field(1, b"") + field(2, b"\x08\x05")),  # mapping 5 of 1
    field(2, field(1, b"\x2a\x01\x07") + field(2, b"\x08\x00")),  # attribute 7 of 0
    field(2, field(2, b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")),
    field(2, field(2, b"\x12\xff\xff\xff\xff\x0f")),
    b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"\x10\x01",
    field(2, b"\x10\x01"),
])
def test_a_malformed_message_is_refused_with_its_offset(server, message):
    status, _, answer, _ = send(server, NAME, message)
    code, text = status_of(answer)
    assert (status, code) == (400, 3)
    assert re.search(r"OTLP profiles.*(0x|offset |at )", text), text


def test_counters_say_what_became_of_locations(server, program, pcs):
    def counts():
        text = Api(server)("GET", "/metrics")[0] and urllib.request.urlopen(
            urllib.request.Request(server.url + "/metrics", headers={"Authorization": f"Bearer {server.token}"}),
            timeout=60).read().decode()
        return {k: int(v) for k, v in re.findall(r'^unhex_otlp_locations_total\{result="(\w+)"\} (\d+)', text, re.M)}
    before = counts()
    b = message_of(program, pcs[:3])
    b.sample([b.location(1, b.mapping("gone", {"gnu": "77" * 20})), b.location(2, b.mapping("none", {}))], values=[1])
    b.sample([b.location(0xfffffff, 1)], values=[1])
    send(server, TAKE, b.data())
    after = counts()
    assert {k: after[k] - before[k] for k in after} == \
        {"already": 2, "named": 3, "no_symbol": 1, "pending": 0, "missing": 1, "no_id": 1}
