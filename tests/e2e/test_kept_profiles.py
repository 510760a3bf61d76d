# SPDX-License-Identifier: Apache-2.0
"""Profiles that the server keeps: uploads, spans of time, differences, tables, pages, retention."""
import gzip
import subprocess
import time
import urllib.parse

import pytest

import pprof_message
from conftest import Server
from http_api import Api
from tool import build_id, compile_c, symbol

KEEP = ("--keep-profiles", "7d")


def fetch(server, path, method="GET", body=None, accept=None, token=None):
    """Status, headers and bytes of an answer."""
    api = Api(server)
    headers = {"Accept": accept} if accept else {}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    api.connection.request(method, path, body, headers)
    answer = api.connection.getresponse()
    return answer.status, answer.headers, answer.read()


def keep(server, data, service="api", **more):
    """Sends a profile, and returns what the answer says of it."""
    query = urllib.parse.urlencode({"service": service, **more})
    status, doc, _ = Api(server)("POST", f"/v1/profiles?{query}", data)
    assert status == 201, doc
    assert len(doc["profiles"]) == 1
    return doc["profiles"][0]


def folded(server, **query):
    """The sum of a span as {stack: value}."""
    status, _, data = fetch(server, "/v1/profiles/merged?format=folded&" + urllib.parse.urlencode(query))
    assert status == 200, data
    return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in data.decode().splitlines()}


@pytest.fixture(scope="module")
def keeper(tmp_path_factory):
    s = Server(tmp_path_factory.mktemp("kept") / "server", options=KEEP).start()
    yield s
    assert s.stop() in (0, None)


def test_a_profile_is_kept_and_added_up_with_others(keeper):
    one = keep(keeper, b"main;work 5\nmain;idle 3\n", service="sum", host="a", build="v1", time=1_700_000_000)
    two = keep(keeper, b"main;work 7\nother 1\n", service="sum", host="b", build="v2", time=1_700_000_060)
    assert (one["host"], one["build"], one["samples"], two["samples"]) == ("a", "v1", 8, 8)
    assert one["ended"] == "2023-11-14T22:13:20Z"
    assert folded(keeper, service="sum") == {"main;work": 12, "main;idle": 3, "other": 1}
    assert folded(keeper, service="sum", host="a") == {"main;work": 5, "main;idle": 3}
    assert folded(keeper, service="sum", build="v2") == {"main;work": 7, "other": 1}
    assert folded(keeper, service="sum", until=1_700_000_030) == {"main;work": 5, "main;idle": 3}
    assert folded(keeper, id=two["id"]) == {"main;work": 7, "other": 1}


def test_addresses_get_the_names_that_the_server_has(keeper, tmp_path):
    program = compile_c(tmp_path)
    b = pprof_message.Builder()
    mapping = b.mapping(str(program), build_id(program).removeprefix("gnu:"))
    address = symbol(program, "main")[0]
    b.sample([b.location(address + 4, mapping), b.named("start")], 10)
    kept = keep(keeper, gzip.compress(b.profile.SerializeToString()), service="named")
    assert list(folded(keeper, id=kept["id"])) == [f"start;[prog+{address + 4:#x}]"]
    assert keeper.unhex("push", "--with-debuginfo", program).returncode == 0
    again = keep(keeper, b.profile.SerializeToString(), service="named")
    assert list(folded(keeper, id=again["id"])) == ["start;main"]


def test_go_tool_pprof_reads_a_kept_profile_and_a_span(keeper, tmp_path):
    kept = keep(keeper, b"main;work 5\nmain;idle 3\n", service="pprof")
    for path in (f"/p/{kept['id']}/pprof/profile", "/p/span/pprof/profile?service=pprof"):
        result = subprocess.run(["go", "tool", "pprof", "-top", keeper.url + path], capture_output=True, text=True,
                                env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PPROF_TMPDIR": str(tmp_path)},
                                check=True, timeout=120)
        assert "62.50%" in result.stdout and "work" in result.stdout, result.stdout
