# SPDX-License-Identifier: Apache-2.0
"""Two Go programs that were linked with the same build ID of the GNU kind (-B): the second one gets no names of the first"""
import hashlib
import subprocess

import pytest

from http_api import Api
from tool import lines
from waiting import wait_for

GNU = "gnu:" + "5a" * 20


@pytest.fixture(scope="module", name="programs")
def link_programs(tmp_path_factory):
    """one and two; plain: one without symbols, so that Go's ID of it differs in the linker's parts."""
    folder = tmp_path_factory.mktemp("push-go")
    (folder / "go.mod").write_text("module programs\n\ngo 1.19\n")
    built = {}
    for name, package, flags in (("one", "one", ""), ("two", "two", ""), ("plain", "one", " -s -w")):
        (folder / f"cmd-{package}").mkdir(exist_ok=True)
        (folder / f"cmd-{package}/main.go").write_text(
            f"package main\n\n//go:noinline\nfunc {package}() {{ println(\"{package}\") }}\n\nfunc main() {{ {package}() }}\n")
        built[name] = folder / name
        subprocess.run(["go", "build", "-trimpath", f"-ldflags=-B 0x{GNU[4:]}{flags}", "-o", built[name], f"./cmd-{package}"],
                       cwd=folder, check=True)
    return built


def push(server, *args):
    result = server.unhex("push", "--json", *args)
    return result.returncode, lines(result)


def refused(status, reported, first):
    assert (status, reported["status"], reported["id"]) == (1, "failed", GNU)
    assert f"another Go program ({first})" in reported["reason"] and "-B" in reported["reason"]


@pytest.mark.parametrize("options", [(), ("--force",), ("--dry-run",), ("--with-debuginfo",)], ids=lambda o: " ".join(o) or "plain")
def test_the_second_program_is_refused(server, programs, options):
    status, (reported,) = push(server, programs["one"])
    assert (status, reported["status"], reported["id"]) == (0, "uploaded", GNU)
    status, (reported,) = push(server, *options, programs["two"])
    refused(status, reported, "one")
    ids = server.get(f"/v1/modules/{GNU}")[1]["ids"]
    assert sum(i.startswith("go:") for i in ids) == 1
    result = server.unhex("lookup", GNU, "main.one+0")
    assert result.returncode == 0 and "main.one" in result.stdout


def test_both_in_one_push(server, programs):
    status, reported = push(server, programs["one"], programs["two"])
    by = {r["file"]: r for r in reported}
    assert by[str(programs["one"])]["status"] == "uploaded"
    refused(status, by[str(programs["two"])], "one")


def test_another_link_of_the_same_program_is_the_same_module(server, programs):
    assert push(server, programs["one"])[0] == 0
    status, (reported,) = push(server, programs["plain"])
    assert (status, reported["status"]) == (0, "better-there"), reported
    assert push(server, programs["one"])[1][0]["status"] == "already-there"


def test_a_program_without_symbols_has_gos_tables(server, programs):
    """What runs on hosts: -s -w leaves no symbol table."""
    status, (reported,) = push(server, programs["plain"])
    assert (status, reported["status"]) == (0, "uploaded"), reported
    result = server.unhex("lookup", GNU, "main.one+0")
    assert "main.one" in result.stdout and "main.go:" in result.stdout
    assert push(server, programs["plain"])[1][0]["status"] in ("already-there", "better-there")


def test_a_server_learns_ids_from_the_file_that_it_reads(server, programs):
    """A client that announces the build ID alone."""
    assert push(server, programs["one"])[0] == 0
    api = Api(server)
    data = programs["two"].read_bytes()
    status, doc, _ = api("POST", "/v1/uploads", {"ids": [GNU], "size": len(data), "kind": "executable", "quality": "inlines",
                                                 "sha256": hashlib.sha256(data).hexdigest(), "force": True})
    assert status == 201 and api.put(doc["uid"], data)[0] == 200
    uid = doc["uid"]
    wait_for(lambda: api.finish(uid)[0] != 202)
    status, doc, _ = api.finish(uid)
    assert status >= 400, doc
    assert "another Go program" in doc["error"]["message"]
