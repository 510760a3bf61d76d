# SPDX-License-Identifier: Apache-2.0
"""kill -9 at random points while clients do everything at once"""
import collections
import http.client
import os
import random
import signal
import time

import pytest

from crash import THERE, WRITES, Clients, check_names
from faults import KILL, Faults
from http_api import Api, listed, with_uuid
from tool import build_id, lines, symbol, unhex
from waiting import pause_for, wait_for

KILLS = 50  # of each test


def check(server):
    """`unhex store check` finds nothing wrong."""
    result = unhex("store", "check", "--json", "--data", server.data)
    assert result.returncode == 0, (result.stdout, result.stderr)
    *found, total = lines(result)
    assert found == [] and total["problems"] == 0
    return total


def seeds(n):
    first = int(os.environ.get("UNHEX_SEED", "0")) or random.randrange(1, 1 << 32)
    return [first + i for i in range(n)]


def kill_after(clients, faults, rng, points):
    """Half of them at a moment, half at one of the next calls that write to the disk."""
    def at_a_moment():
        pause_for(rng.uniform(0.005, 0.06), "a kill at any moment")
        clients.killed_at = time.monotonic()
        clients.server.stop(signal.SIGKILL)
        points["a moment"] += 1

    def at_a_call():
        faults.arm(KILL, at=rng.randrange(1, 200))
        assert clients.server.process.wait(60) == -signal.SIGKILL
        clients.killed_at = time.monotonic()
        clients.server.stop(signal.SIGKILL)
        points[faults.what] += 1
        faults.disarm()

    return at_a_call if rng.random() < 0.5 else at_a_moment


def everything_is_answered(clients, server):
    """Also what was on its way to be extracted when the last server died."""
    api = Api(server)
    names = clients.those(THERE)
    body = {"modules": [{"id": name, "addresses": [clients.pc]} for name in names]}

    def answered():
        status, doc, _ = api("POST", "/v1/symbolize", body)
        assert status == 200, doc
        return {check_names(answer) for answer in doc["modules"]} == {"found"}
    wait_for(answered, seconds=120)


@pytest.mark.parametrize("part", range(4))
def test_nothing_acknowledged_is_lost_and_nothing_else_is_visible(tmp_path, prog, part):
    seed = seeds(4)[part]
    print(f"UNHEX_SEED={seed - part} part {part}")
    rng, faults = random.Random(seed), Faults(tmp_path)
    gsym = prog.with_suffix(".gsym")
    assert unhex("extract", prog, "-o", gsym).returncode == 0
    server = faults.server(tmp_path / "data").start()
    clients = Clients(server, gsym.read_bytes(), prog.read_bytes(), build_id(prog),
                      symbol(prog, "outer")[0], rng.randrange(1 << 32))
    points = collections.Counter()
    for _ in range(KILLS):
        clients.run(kill_after(clients, faults, rng, points))
        server.start()
        clients.compare(listed(Api(server)))
        check(server)
    everything_is_answered(clients, server)
    total = check(server)
    assert server.stop() == 0
    writes = sum(n for what, n in clients.in_flight.items() if what in WRITES)
    print(f"{KILLS} kills at {dict(points)}\n"
          f"in flight then: {dict(clients.in_flight)}, {writes} of them writes\n"
          f"answered before: {dict(clients.answers)}\n"
          f"{len(clients.those(THERE))} modules left, {total['blobs']} blobs")
    assert writes >= KILLS // 4 and min(clients.answers[what] for what in WRITES) > 0


def finish(server, name, data, uid=None):
    """Goes on with an upload, or begins it: its UID, and the answer to the finish."""
    api = Api(server)
    state = api("GET", f"/v1/uploads/{uid}")[1] if uid else {}
    if state.get("state") not in ("open", "done"):
        uid, state = api.announce([name], data), {"state": "open", "offset": 0}
    if state["state"] == "open" and state["offset"] < len(data):
        assert api.put(uid, data[state["offset"]:], state["offset"])[0] == 200
    return uid, api.finish(uid)[:2]


def kill_at_each_call(server, faults, uploads, kills):
    """Of the finish of one more upload each time, of `uploads` as (name, data)."""
    for at, (name, data) in enumerate(uploads, 1):
        api = Api(server)
        uid = api.announce([name], data)
        assert api.put(uid, data)[0] == 200
        try:
            with faults.armed(KILL, at=at):
                assert api.finish(uid)[0] == 200
            return
        except (ConnectionError, http.client.HTTPException):
            assert server.stop(signal.SIGKILL) == -signal.SIGKILL
        kills[faults.what] += 1
        server.start()
        uid, (status, doc) = finish(server, name, data, uid)
        assert status == 200, (at, kills, doc)


def test_an_upload_goes_on_after_a_kill_at_each_call_of_its_finish(tmp_path, prog):
    """Also where the server may not open files that are read-only: it does not run as root."""
    root = os.geteuid() == 0
    around = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search") if root else ()
    gsym = prog.with_suffix(".of_finish.gsym")
    assert unhex("extract", prog, "-o", gsym).returncode == 0
    faults, kills, names = Faults(tmp_path), collections.Counter(), []

    def uploads():
        while len(names) < 1000:
            uuid = (len(names) + 1).to_bytes(20, "big")
            names.append(f"gnu:{uuid.hex()}")
            yield names[-1], with_uuid(gsym.read_bytes(), uuid)

    server = faults.server(tmp_path / "data", around=around).start()
    # Other threads write as well, so that the nth call of one finish need not be that of the next:
    # a sweep may pass by a call that is made once.
    for _ in range(4):
        kill_at_each_call(server, faults, uploads(), kills)
        if kills["fsync"] >= 3 and kills["renameat"] >= 1:
            break
    assert kills["fsync"] >= 3 and kills["renameat"] >= 1, kills
    assert len(listed(Api(server))) == len(names)
    check(server)
    assert server.stop() == 0
    print(f"killed at {dict(kills)}")
