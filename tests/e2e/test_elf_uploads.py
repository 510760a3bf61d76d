# SPDX-License-Identifier: Apache-2.0
"""Whole ELF files sent to the server, which extracts them in a child that can do nothing else"""
import hashlib
import http.client
import pathlib
import random
import signal
import subprocess

import pytest

from unhex_server import Server
from http_api import Api
from tool import build_id, lines, stripped, symbol, unhex
from waiting import wait_for


def send(api, path, kind="executable", ids=None, **more):
    """Announces, sends and finishes; the uid."""
    data = path.read_bytes() if isinstance(path, pathlib.Path) else path
    status, doc, _ = api("POST", "/v1/uploads",
                         {"ids": ids or [build_id(path)], "size": len(data), "kind": kind,
                          "sha256": hashlib.sha256(data).hexdigest(), **more})
    assert status == 201, doc
    assert api.put(doc["uid"], data)[0] == 200
    return doc["uid"]


def settled(api, uid, seconds=60):
    """What the upload came to."""
    def ended():
        status, doc, _ = api("GET", f"/v1/uploads/{uid}")
        assert status == 200, doc
        return doc if doc["state"] not in ("open", "pending") else None
    return wait_for(ended, seconds, 0.02)


def names(api, name, pc):
    status, doc, _ = api("GET", f"/v1/symbolize/{name}?addr={pc:#x}")
    return [f["function"] for f in doc["frames"][0]] if status == 200 and "frames" in doc else None


def candidates(api, name):
    status, doc, _ = api("GET", f"/v1/modules/{name}")
    assert status == 200, doc
    return doc["candidates"]


def test_an_executable_becomes_what_we_would_extract(server, prog):
    api = Api(server)
    uid = send(api, prog, file="prog", description="whole")
    status, doc, _ = api.finish(uid)
    assert status in (200, 202), doc
    assert settled(api, uid)["state"] == "done"
    start, _ = symbol(prog, "outer")
    assert names(api, build_id(prog), start)[-1] == "outer"
    reported = candidates(api, build_id(prog))
    assert {c["kind"] for c in reported} == {"gsym", "executable"}
    ours = prog.with_suffix(".gsym")
    assert unhex("extract", prog, "-o", ours).returncode == 0
    connection = http.client.HTTPConnection(api.url.hostname, api.url.port)
    connection.request("GET", f"/v1/gsym/{build_id(prog)}",
                       headers={"Authorization": f"Bearer {server.token}"})
    assert connection.getresponse().read() == ours.read_bytes()
    # Doing it again changes nothing.
    again = send(api, prog)
    assert api.finish(again)[1]["status"] == "already-there"


def test_push_sends_whole_files_and_waits(server, prog):
    exe, debug = stripped(prog, "halves")
    result = server.unhex("push", "--json", "--with-debuginfo", "-e", exe, "-d", debug)
    (reported,) = lines(result)
    assert (result.returncode, reported["status"], reported["reason"]) == (0, "uploaded", "")
    assert reported["size"] == exe.stat().st_size + debug.stat().st_size
    api, (start, _) = Api(server), symbol(prog, "outer")
    assert names(api, build_id(prog), start)[-1] == "outer"
    kinds = {c["kind"] for c in candidates(api, build_id(prog))}
    assert kinds == {"gsym", "executable", "debuginfo"}
    (reported,) = lines(server.unhex("push", "--json", "--with-debuginfo", "-e", exe, "-d", debug))
    assert reported["status"] == "already-there"


@pytest.mark.parametrize("first", ["stripped", "debug"])
def test_the_two_halves_meet_whichever_came_first(server, prog, first):
    api = Api(server)
    exe, debug = stripped(prog)
    start, _ = symbol(prog, "outer")
    parts = [(exe, "executable"), (debug, "debuginfo")]
    for path, kind in parts if first == "stripped" else reversed(parts):
        uid = send(api, path, kind=kind, ids=[build_id(prog)])
        api.finish(uid)
        assert settled(api, uid)["state"] == "done"
    assert names(api, build_id(prog), start)[-1] == "outer"
    status, doc, _ = api("GET", f"/v1/symbolize/{build_id(prog)}?addr={start:#x}")
    assert doc["quality"] == "inlines"
    kinds = [c["kind"] for c in candidates(api, build_id(prog))]
    assert kinds.count("executable") == 1 and kinds.count("debuginfo") == 1


def test_what_is_no_binary_is_refused_at_once(server):
    api = Api(server)
    uid = send(api, b"this is a shell script, isn't it?\n" * 10, ids=["gnu:" + "12" * 20])
    assert "ELF" in api.refused(422, "unsupported", "POST", f"/v1/uploads/{uid}/finish")


def test_bytes_of_another_module_are_not_taken_for_this_one(server, prog):
    api = Api(server)
    uid = send(api, prog, ids=["gnu:" + "ab" * 20])
    api.finish(uid)
    doc = settled(api, uid)
    assert doc["state"] == "failed" and "cannot have both" in doc["reason"]
    start, _ = symbol(prog, "outer")
    assert not names(api, "gnu:" + "ab" * 20, start)


def children_of(pid):
    return subprocess.run(["pgrep", "-P", str(pid)], text=True,
                          stdout=subprocess.PIPE).stdout.split()


def test_a_thousand_damaged_files_cost_the_server_nothing(server, prog):
    api, some = Api(server), random.Random(3)
    good = prog.read_bytes()
    pid = server.process.pid
    uids = []
    for i in range(1000):
        bad = bytearray(good[:some.randrange(64, len(good))] if i % 3 else good)
        for _ in range(some.randrange(1, 60)):
            bad[some.randrange(len(bad))] = some.randrange(256)
        if i % 2:
            bad[:4] = b"\x7fELF"
        uid = send(api, bytes(bad), ids=[build_id(prog)], force=True)
        status, doc, _ = api.finish(uid)
        # What was read before the answer, and is damaged, is refused by the answer itself.
        if status in (200, 202) or doc["error"]["code"] == "corrupt":
            uids.append(uid)
    states = [settled(api, uid, 120)["state"] for uid in uids]
    assert server.process.poll() is None and server.process.pid == pid
    print({state: states.count(state) for state in states})
    assert len(states) > 300 and set(states) == {"done", "failed"}
    uid = send(api, prog, force=True) # a damaged one may have had more lines
    api.finish(uid)
    assert settled(api, uid)["state"] == "done"
    # The process that starts the confined children stays, and none of these does.
    (starter,) = children_of(pid)
    wait_for(lambda: children_of(starter) == [])


def test_what_was_pending_is_done_after_a_crash(tmp_path, prog):
    s = Server(tmp_path / "server").start()
    uids = []
    api = Api(s)
    for i in range(8):
        data = prog.read_bytes() + bytes([i])
        uid = send(api, data, ids=[build_id(prog)], force=True)
        assert api.finish(uid)[0] in (200, 202)
        uids.append(uid)
    s.stop(signal.SIGKILL)
    s.start()
    try:
        api = Api(s)
        assert [settled(api, uid)["state"] for uid in uids] == ["done"] * len(uids)
        start, _ = symbol(prog, "outer")
        assert names(api, build_id(prog), start)[-1] == "outer"
    finally:
        assert s.stop() == 0
