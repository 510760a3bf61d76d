# SPDX-License-Identifier: Apache-2.0
"""unhex serve that asks others: servers of ours, debuginfod's, buckets and folders"""
import time
import urllib.error
import urllib.request

import pytest

from conftest import Server
from http_api import Api
from tool import build_id, compile_c, stripped, symbol
from upstream_stub import Stub

PATIENCE = 60  # seconds: for a machine that is busy


@pytest.fixture(scope="module")
def prog(tmp_path_factory):
    return compile_c(tmp_path_factory.mktemp("upstreams"), flags=("-O1", "-g"))


@pytest.fixture(scope="module")
def halves(prog):
    return stripped(prog, "prog.bin")


@pytest.fixture(scope="module")
def other(tmp_path_factory, prog, halves):
    """A server of ours that has the program, its files too."""
    s = Server(tmp_path_factory.mktemp("other") / "server").start()
    pushed = s.unhex("push", "--with-debuginfo", "-e", halves[0], "-d", halves[1])
    assert pushed.returncode == 0, pushed.stdout
    yield s
    assert s.stop() in (0, None)


@pytest.fixture
def servers(tmp_path):
    """Makes servers with these upstreams, and stops them."""
    made = []

    def make(*upstreams, more=(), start=True):
        s = Server(tmp_path / f"server{len(made)}")
        s.options = tuple(a for u in upstreams for a in ("--upstream", u)) + tuple(more)
        made.append(s)
        return s.start() if start else s

    yield make
    for s in made:
        assert s.stop() in (0, None)


@pytest.fixture
def stub():
    with Stub() as s:
        yield s


def hex_id(path):
    return build_id(path).removeprefix("gnu:")


def own(url, name, kind="unhex"):
    return f"{kind}+{url},name={name},private"


def get(server, path, headers=None):
    status, body, _ = raw(server, path, headers)
    return status, body


def raw(server, path, headers=None):
    request = urllib.request.Request(server.url + path, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, answer.read(), dict(answer.headers)
    except urllib.error.HTTPError as answer:
        return answer.code, answer.read(), dict(answer.headers)


def ask(server, name, address="0x1"):
    status, doc, _ = Api(server)("POST", "/v1/symbolize",
                                 {"modules": [{"id": name, "addresses": [address]}]})
    assert status == 200, doc
    return doc["modules"][0]


def symbolize(server, name, address):
    """The answer when it is pending no more."""
    end = time.monotonic() + PATIENCE
    while True:
        doc = ask(server, name, address)
        if doc["status"] != "pending" or time.monotonic() > end:
            return doc
        assert doc["retry_after"] >= 1
        time.sleep(0.1)


def explain(server, name):
    status, doc, _ = Api(server)("GET", f"/v1/explain/{name}")
    assert status == 200
    return doc


def names(doc):
    return [f["function"] for f in doc["frames"][0]]


def test_what_another_server_has_is_fetched_once_and_kept(servers, other, prog):
    s = servers(own(other.url, "central"))
    start, _ = symbol(prog, "outer")
    assert ask(s, build_id(prog), hex(start))["status"] in ("pending", "found")
    assert names(symbolize(s, build_id(prog), hex(start))) == ["outer"]
    status, doc, _ = Api(s)("GET", f"/v1/modules/{build_id(prog)}")
    (candidate,) = doc["candidates"]
    assert (candidate["origin"], candidate["quality"]) == ("upstream", "inlines")
