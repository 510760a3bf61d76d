# SPDX-License-Identifier: Apache-2.0
"""Names as long as their file: every form of an answer has a bound, and says where it applied."""
import json
import subprocess
import sys

import pytest

from hostile_gsym import BASE, IMAGE, KINDS
from http_api import Api
from test_uploads_against_routes import debug_id
from tool import UNHEX

NAME = "gnu:" + bytes(range(20)).hex()
CUT = "...[cut]"
TEXT_MAX = 8192  # bytes of a name in an answer of the server
PRINTED_MAX = 64 << 10  # bytes of a name that the command prints


@pytest.fixture
def deep(server):
    """255 frames at each address, whose names all have 4 MiB."""
    api = Api(server)
    assert api.upload([NAME], KINDS["deep_frames"](bytes(range(20)))[0])[0] == 200
    return api


def assert_cut(name):
    assert len(name) == TEXT_MAX and name.endswith(CUT) and set(name[:-len(CUT)]) == {"n"}


def test_long_names_are_cut_with_a_mark_in_every_form(deep):
    status, doc, _ = deep("GET", f"/v1/symbolize/{NAME}?addr={BASE:#x}")
    assert status == 200 and len(doc["frames"][0]) == 255
    for frame in doc["frames"][0]:
        assert_cut(frame["function"])
    status, doc, _ = deep("GET", f"/v1/explain/{NAME}?addr={BASE:#x}")
    assert status == 200
    assert_cut(doc["candidates"][0]["frames"][0]["function"])
    status, doc, _ = deep("POST", "/symbolicate/v5", {"jobs": [{"memoryMap": [["x", debug_id(NAME)]],
                                                              "stacks": [[[0, BASE - IMAGE]]]}]})
    frame = doc["results"][0]["stacks"][0][0]
    assert status == 200 and len(frame["inlines"]) == 254
    for one in (frame, *frame["inlines"]):
        assert_cut(one["function"])
    deep.connection.request("POST", f"/pprof/{NAME}/symbol", hex(BASE))
    assert_cut(deep.connection.getresponse().read().decode().split("\t")[1].rstrip())
    deep.connection.request("POST", "/symbolize", f"id={NAME}&text={BASE:#x}")
    page = deep.connection.getresponse().read().decode()
    assert "n" + CUT in page and "n" * TEXT_MAX not in page


def test_an_answer_over_its_bound_says_so(deep):
    addresses = [BASE + i for i in range(400)]
    for method, path, body in (
            ("POST", "/v1/symbolize", {"modules": [{"id": NAME, "addresses": addresses}]}),
            ("POST", "/symbolicate/v5", {"jobs": [{"memoryMap": [["x", debug_id(NAME)]],
                                                   "stacks": [[[0, a - IMAGE] for a in addresses]]}]})):
        assert "request less" in deep.refused(413, "too_large", method, path, body)


# A program's peak includes that of the process that forked it, which is a small one here.
MEASURE = """import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:])
_, status, usage = os.wait4(process.pid, 0)
print(status, usage.ru_maxrss, file=sys.stderr)"""


@pytest.mark.parametrize("how", [(), ("--json",), ("--demangle", "none")])
def test_the_command_prints_cut_names_in_little_memory(tmp_path, how):
    path = tmp_path / "deep.gsym"
    path.write_bytes(KINDS["deep_frames"](bytes(range(20)))[0])
    with open(tmp_path / "out", "wb") as out:
        measured = subprocess.run([sys.executable, "-c", MEASURE, UNHEX, "lookup", path, hex(BASE), *how], stdout=out,
                                  stderr=subprocess.PIPE, text=True, check=True)
    status, kilobytes = map(int, measured.stderr.split())
    text = (tmp_path / "out").read_text()
    assert status == 0
    assert text.count(CUT) == 255 and "n" * PRINTED_MAX not in text
    assert kilobytes << 10 < 128 << 20
    if how == ("--json",):
        assert len(json.loads(text)["frames"]) == 255


def test_names_that_are_too_long_to_index_are_not_read_for_each_address(server, watched):
    """Each address by name would read 64 MiB of names, which have no index since they are over its limit."""
    api = Api(server)
    assert api.upload([NAME], KINDS["ends_of_one_name"](bytes(range(20)))[0])[0] == 200
    with watched.request("10,000 addresses by name"):
        message = api.refused(413, "too_large", "POST", "/v1/symbolize",
                              {"modules": [{"id": NAME, "addresses": [f"f{i}+0x1" for i in range(10000)]}]})
    assert "request fewer addresses" in message
