# SPDX-License-Identifier: Apache-2.0
"""OTLP profiles in JSON: as Google's protobuf package writes them, and as the definition of OTLP has them."""
import gzip
import json
import subprocess

import pytest
from google.protobuf import json_format

import otlp_message
from test_symbolize import oracle, otlp_of, pcs, program, run
from tool import build_id


def text_of(request):
    """As a producer writes it that leaves out default values."""
    return json_format.MessageToJson(request, indent=None).encode()


def request_of(text):
    return json_format.Parse(text, otlp_message.Request())


@pytest.fixture(scope="module")
def builder(program, pcs):
    return otlp_of(program, pcs, gnu=build_id(program).split(":")[1])


def test_names_are_those_that_the_message_in_protobuf_gets(program, pcs, builder):
    done = run("-", "--files", "/", data=text_of(builder.request))
    plain = run("-", "--files", "/", data=builder.data())
    assert done.returncode == 1 and plain.returncode == 1  # the path is a bare name
    full = otlp_of(program, pcs, gnu=build_id(program).split(":")[1])
    index = list(full.tables.string_table).index(program.name)
    full.tables.string_table[index] = str(program)
    done = run("-", data=text_of(full.request))
    assert done.returncode == 0, done.stderr
    got = request_of(done.stdout)
    assert got == otlp_message.Request.FromString(run("-", data=full.data()).stdout)
    for i, pc in enumerate(pcs):
        assert otlp_message.frames(got, i + 2) == oracle(program, pc), hex(pc)
    assert run("-", data=done.stdout).stdout == done.stdout


def local(program, pcs):
    b = otlp_of(program, pcs, gnu=build_id(program).split(":")[1])
    b.tables.string_table[list(b.tables.string_table).index(program.name)] = str(program)
    return b


def test_everything_but_the_dictionary_stays_byte_for_byte(program, pcs):
    """Odd spacing, unknown keys, escapes, default values, hexadecimal identities, numbers as strings or not."""
    doc = json.loads(text_of(local(program, pcs[:2]).request))
    doc["dictionary"]["linkTable"] = [{}, {"traceId": "0AF7651916CD43DD8448EB211C80319C", "spanId": "b7ad6b7169203331"}]
    doc["dictionary"]["locationTable"][2]["lines"] = []
    doc["dictionary"]["mappingTable"][1]["memoryStart"] = 4096
    doc["dictionary"]["later"] = {"deep": [1, [2.5e3, {"x": None}], "\u00e9\U0001f600\\"]}
    doc["resourceProfiles"][0]["resource"] = {"attributes": [
        {"key": "service.name", "value": {"stringValue": "caf\u00e9"}},
        {"key": "n", "value": {"intValue": "-5"}}, {"key": "d", "value": {"doubleValue": 1.5}},
        {"key": "list", "value": {"arrayValue": {"values": [{"boolValue": False}, {"bytesValue": "AAE="}]}}},
        {"key": "map", "value": {"kvlistValue": {"values": [{"key": "k", "value": {}}]}}}]}
    for style in ({"indent": 3}, {"separators": (",", ":")}, {"ensure_ascii": False, "indent": "\t"}):
        text = json.dumps(doc, **style)
        done = run("-", data=text.encode())
        assert done.returncode == 0, done.stderr
        got = json.loads(done.stdout)
        tables, before = got["dictionary"], doc["dictionary"]
        names = [tables["stringTable"][tables["functionTable"][x["functionIndex"]]["nameStrindex"]]
                 for x in tables["locationTable"][2]["lines"]]
        assert names == [name for name, _, _ in oracle(program, pcs[0])]
        for table in ("stringTable", "functionTable"):
            assert tables[table][:len(before[table])] == before[table]
            tables[table] = before[table]
        tables["locationTable"] = before["locationTable"]
        assert got == doc
        head = text[:text.index("locationTable")]
        assert done.stdout.decode().startswith(head) == (head.find("functionTable") < 0 and head.find("stringTable") < 0)
        tail = text[text.rindex("later"):]
        assert done.stdout.decode().endswith(tail)


def test_absent_tables_are_made(program, pcs):
    """All tables but that of the functions, which nobody has filled: absent, empty, null."""
    doc = json.loads(text_of(local(program, pcs[:1]).request))
    doc["dictionary"]["stackTable"][1]["locationIndices"] = [2]
    doc["dictionary"]["locationTable"][1] = {}
    del doc["dictionary"]["functionTable"]
    for value in ([], None, ...):
        if value is not ...:
            doc["dictionary"]["functionTable"] = value
        else:
            doc["dictionary"].pop("functionTable")
        done = run("-", data=json.dumps(doc).encode())
        assert done.returncode == 0, done.stderr
        tables = json.loads(done.stdout)["dictionary"]
        assert tables["functionTable"][0] == {}
        assert otlp_message.frames(request_of(done.stdout), 2) == oracle(program, pcs[0])


def test_compression_and_other_formats(program, pcs):
    text = text_of(local(program, pcs).request)
    assert gzip.decompress(run("-", data=gzip.compress(text)).stdout) == run("-", data=text).stdout
    assert run("-", "--to", "folded", data=text).stdout == \
        run("-", "--to", "folded", data=local(program, pcs).data()).stdout


def test_what_is_wrong_is_said_with_its_place(program):
    """@ marks the place."""
    for text, reason in (
            (b'{"dictionary": {"stringTable": [""], "mappingTable": @5}}', "expected an array"),
            (b'{"dictionary": {"stringTable": ["", "x@\\q"]}}', "unknown escape"),
            (b'{"dictionary": {"locationTable": [{}, @{"mappingIndex": 7}]}}', "mapping 7 is past its table of 0"),
            (b'{"dictionary": {"locationTable": [{"address": @"0x12"}]}}', "expected an integer"),
            (b'{"dictionary": {"locationTable": [{"mappingIndex": @3000000000}]}}', "expected an integer"),
            (b'{"dictionary": {}, "dictionary":@ {}}', "duplicate key"),
            (b'{"dictionary": {}} @{}', "unexpected text after the document"),
            (b'{"dictionary": {"linkTable": [{"traceId": @"xy!"}]}}', "expected hexadecimal"),
            (b'{"dictionary": {"stringTable": ["@\xff"]}}', "not UTF-8"),
            (json.dumps(json.loads(text_of(local(program, []).request))).encode()[:-1] + b"@", "")):
        done = run("-", data=text.replace(b"@", b""))
        assert (done.returncode, done.stdout) == (1, b""), text
        shown = done.stderr.decode()
        place = text.index(b"@")
        assert reason in shown and f"section OTLP JSON+{place:#x}: " in shown, (text, hex(place), shown)


def test_a_deep_value_and_a_long_one_are_bounded():
    deep = b'{"dictionary": {"x": ' + b"[" * 100000
    done = run("-", data=deep)
    assert done.returncode == 1 and b"more than 512 nested" in done.stderr
    value = b'{"arrayValue": {"values": [' * 40
    done = run("-", data=b'{"dictionary": {"attributeTable": [{"value": ' + value)
    assert done.returncode == 1 and b"more than 64 nested messages" in done.stderr
    with subprocess.Popen(["sh", "-c", "printf '{\"dictionary\": {\"stringTable\": [\"'; head -c 30000000 /dev/zero | "
                           "tr '\\0' x; printf '\"]}}'"], stdout=subprocess.PIPE) as long:
        done = run("-", data=long.stdout.read())
    assert done.returncode == 0 and len(done.stdout) > 30000000
