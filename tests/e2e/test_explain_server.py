# SPDX-License-Identifier: Apache-2.0
"""/v1/explain: why a module has, or lacks, symbols"""
import subprocess

from http_api import Api
from tool import build_id, symbol, unhex


def explain(server, name, query=""):
    status, doc, _ = Api(server)("GET", f"/v1/explain/{name}{query}")
    assert status == 200, doc
    return doc


def gsym_of(path, *strip):
    """Of a copy from which something was taken away."""
    out = path.with_name("less")
    subprocess.run(["strip", *strip, "-o", out, path], check=True)
    gsym = out.with_suffix(".gsym")
    assert unhex("extract", out, "-o", gsym).returncode == 0
    return gsym.read_bytes()


def test_an_unknown_id_gets_advice(server):
    doc = explain(server, "gnu:" + "00" * 20, "?addr=0x10")
    assert doc["status"] == "missing" and doc["candidates"] == []
    assert "unhex push" in doc["advice"][0]


def test_each_candidate_says_what_it_knows_and_one_is_chosen(server, prog):
    api, name, (start, _) = Api(server), build_id(prog), symbol(prog, "outer")
    assert api.upload([name], gsym_of(prog, "--strip-debug"))[0] == 200
    doc = explain(server, name, f"?addr={start}")
    assert doc["status"] == "found" and doc["quality"] == "symtab"
    (only,) = doc["candidates"]
    assert only["chosen"] and only["frames"][-1]["function"] == "outer"
    assert "-g" in doc["advice"][0]
    assert server.unhex("push", prog).returncode == 0
    doc = explain(server, name, f"?addr={start:#x}")
    assert doc["quality"] == "inlines" and doc["advice"] == []
    assert [c["chosen"] for c in doc["candidates"]] == [True, False]
    assert doc["candidates"][0]["frames"][-1]["line"] > 0
    assert "better candidate" in doc["candidates"][1]["says"]
    doc = explain(server, name, "?addr=0x1")
    assert not any(c["chosen"] for c in doc["candidates"])
    assert "this build's file" in doc["advice"][0]
    doc = explain(server, name)
    assert [c["chosen"] for c in doc["candidates"]] == [True, False]


def test_nonsense_is_refused(server, prog):
    api = Api(server)
    api.refused(400, "invalid", "GET", "/v1/explain/what:is-this")
    api.refused(400, "invalid", "GET", f"/v1/explain/{build_id(prog)}?addr=here")
