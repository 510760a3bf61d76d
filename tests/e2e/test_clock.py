# SPDX-License-Identifier: Apache-2.0
"""The machine's clock jumps under a running server, and between two runs of it"""
import contextlib
import signal
import sqlite3
import time

import pytest

from faults import Faults
from http_api import Api, listed, with_uuid
from tool import unhex
from waiting import wait_for

DAY = 24 * 60 * 60
YEAR = 365 * DAY


def uuid_of(n):
    return bytes([n]) * 20


def put(api, gsym, n):
    name = f"gnu:{uuid_of(n).hex()}"
    assert api.upload([name], with_uuid(gsym, uuid_of(n)))[0] == 200
    return name


@pytest.mark.parametrize("years", [10, -10])
def test_no_jump_of_the_clock_takes_anything_away(tmp_path, gsym, years):
    """Retention of a day and sweeps every second: whatever believed the clock would be gone."""
    faults = Faults(tmp_path)
    server = faults.server(tmp_path / "data", options=(
        "--keep-days", "1", "--set", "sweep-every=1s", "--set", "sweep-grace=1m")).start()
    log = server.data.with_suffix(".log")
    try:
        api, names = Api(server), set()
        for n in range(1, 4):
            names.add(put(api, gsym, n))
        begun = api.announce(["gnu:" + uuid_of(9).hex()], with_uuid(gsym, uuid_of(9)))
        assert api.put(begun, with_uuid(gsym, uuid_of(9))[:100])[0] == 200
        faults.clock(years * YEAR)
        wait_for(lambda: b"the clock was changed" in log.read_bytes())  # it has swept, or would have
        for restart in range(2):
            api = Api(server)
            assert listed(api) == names
            status, doc, _ = api("GET", f"/v1/uploads/{begun}")
            assert (status, doc["state"], doc["offset"]) == (200, "open", 100)
            names.add(put(api, gsym, 4 + restart))
            # The key is as good as it was.
            assert api("POST", "/v1/query", {"ids": ["gnu:00"]})[0] == 200
            assert server.stop() == 0
            server.start()
        api = Api(server)
        faults.clock(0)  # somebody sets it right
        assert api.put(begun, with_uuid(gsym, uuid_of(9))[100:], 100)[0] == 200
        assert api.finish(begun)[0] == 200
        assert listed(api) == names | {"gnu:" + uuid_of(9).hex()}
        assert b"what=swept" not in log.read_bytes()
    finally:
        assert server.stop() == 0
    assert unhex("store", "check", "--data", server.data).returncode == 0


def test_a_request_is_waited_for_whatever_the_clock_says(tmp_path, gsym):
    """A server that stops gives requests in flight their seconds, by a clock that cannot be set."""
    faults = Faults(tmp_path)
    server = faults.server(tmp_path / "data").start()
    api = Api(server)
    uid = api.announce(["gnu:" + gsym[28:48].hex()], gsym)
    api.connection.putrequest("PUT", f"/v1/uploads/{uid}")
    api.connection.putheader("Authorization", f"Bearer {server.token}")
    api.connection.putheader("Content-Length", str(len(gsym)))
    api.connection.endheaders()
    api.connection.send(gsym[:10])
    other = Api(server)
    wait_for(lambda: other("GET", f"/v1/uploads/{uid}")[1]["offset"] == 10)
    other.connection.close()
    server.process.terminate()
    wait_for(lambda: b"event=stop" in server.data.with_suffix(".log").read_bytes())
    faults.clock(10 * YEAR)
    faults.clock(-10 * YEAR)
    api.connection.send(gsym[10:])
    assert api.connection.getresponse().status == 200
    assert server.process.wait(60) == 0


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_key_that_ended_by_the_clock_stays_so_when_the_clock_goes_back(tmp_path, how):
    """In the same process, and after a restart or a crash."""
    faults = Faults(tmp_path)
    server = faults.server(tmp_path / "data").start()

    def key(*args):
        result = unhex("key", *args, "--data", server.data)
        assert result.returncode == 0, result.stderr
        return result.stdout.strip()

    def status(token):
        return Api(server, token)("GET", "/v1/modules")[0]

    try:
        ending = key("create", "--scopes", "read,symbolize", "--expires", "12h")
        forever = key("create", "--scopes", "read,symbolize")
        kept = key("create", "--scopes", "read,symbolize", "--expires", "30d")
        assert [status(t) for t in (ending, forever, kept)] == [200] * 3
        faults.clock(DAY)
        assert [status(t) for t in (ending, forever, kept)] == [401, 200, 200]
        faults.clock(0)
        assert [status(t) for t in (ending, forever, kept)] == [401, 200, 200]
        with contextlib.closing(sqlite3.connect(server.data / "index.sqlite")) as db:
            wait_for(lambda: (db.execute("SELECT value FROM numbers WHERE name = 'clock-latest'").fetchone() or (0,))[0]
                     > time.time() + DAY / 2)
        faults.clock(-10 * YEAR)
        server.stop(how)
        server.start()
        assert [status(t) for t in (ending, forever, kept)] == [401, 200, 200]
        # Keys made now count from the latest time, and work.
        assert status(key("create", "--scopes", "read,symbolize", "--expires", "1h")) == 200
    finally:
        faults.clock(0)
        server.stop()
