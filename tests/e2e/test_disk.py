# SPDX-License-Identifier: Apache-2.0
"""A disk that is full, broken or read-only, an index that somebody else holds, bytes that change"""
import collections
import concurrent.futures
import errno
import hashlib
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import threading
import time
import urllib.request

import pytest

from unhex_server import Server
from faults import FAIL_ON, FAIL_ONE, Faults
from http_api import Api, listed, with_uuid
from tool import UNHEX, build_id, fails, lines, symbol, unhex
from waiting import pause_for, wait_for


@pytest.fixture
def faults(tmp_path):
    return Faults(tmp_path)


@pytest.fixture
def server(faults, tmp_path):
    s = faults.server(tmp_path / "data").start()
    yield s
    faults.disarm()
    assert s.stop() in (0, None)


def uuid_of(n):
    return hashlib.sha1(str(n).encode()).digest()


def check(server):
    result = unhex("store", "check", "--json", "--data", server.data)
    assert result.returncode == 0 and len(lines(result)) == 1, (result.stdout, result.stderr)


class Attempt:
    """An upload that goes on after what failed has been mended."""

    def __init__(self, api, name, data, kind="gsym"):
        self.api, self.name, self.data, self.kind = api, name, data, kind
        self.uid = None

    def go_on(self):
        """(200, document) when it is done, else the answer that refused."""
        if not self.uid:
            status, doc, _ = self.api("POST", "/v1/uploads", {
                "ids": [self.name], "size": len(self.data), "kind": self.kind,
                "sha256": hashlib.sha256(self.data).hexdigest()})
            if status != 201:
                return status, doc
            self.uid = doc["uid"]
        status, doc, _ = self.api("GET", f"/v1/uploads/{self.uid}")
        if status != 200 or doc["state"] != "open":
            return status, doc
        at, third = doc["offset"], len(self.data) // 3 + 1
        while at < len(self.data):
            status, doc, _ = self.api.put(self.uid, self.data[at:at + third], at)
            if status != 200:
                return status, doc
            at = doc["offset"]
        return self.api.finish(self.uid)[:2]


@pytest.mark.parametrize("action, error", [(FAIL_ON, errno.ENOSPC), (FAIL_ONE, errno.ENOSPC),
                                           (FAIL_ONE, errno.EIO)])
def test_an_upload_survives_a_fault_at_each_call(server, faults, prog, gsym, action, error):
    api, said = Api(server), collections.Counter()
    start, at, there = symbol(prog, "outer")[0], 0, set()
    while True:
        at += 1
        uuid = uuid_of(at)
        name = f"gnu:{uuid.hex()}"
        attempt = Attempt(api, name, with_uuid(gsym, uuid))
        with faults.armed(action, at, error):
            status, doc = attempt.go_on()
            failed, what = faults.failed, faults.what
        if failed == 0:
            break
        word = doc["error"]["code"] if status != 200 else "ok"
        said[what, status, word] += 1
        assert (status, word) in ((200, "ok"), (500, "input_output"), (507, "disk_full")), doc
        assert error == errno.ENOSPC or status != 507, (what, doc)
        # What is acknowledged is there, what is not is not. Only a commit is visible before the disk has it: where that
        # sync fails, it is acknowledged by the next request alone.
        there |= {name} if status == 200 else set()
        extra = listed(api) - there
        assert there <= listed(api) and extra <= ({name} if what == "fdatasync" else set()), (what, extra)
        status, doc = attempt.go_on()
        assert status == 200, (what, doc)
        there.add(name)
        assert listed(api) == there
        status, doc, _ = api("GET", f"/v1/symbolize/{name}?addr={start}")
        assert status == 200 and doc["frames"][0][-1]["function"] == "outer"
    check(server)
    print(f"{at - 1} calls failed, each in an upload of its own: {dict(said)}")
    assert status == 200 and at > 20


def test_a_file_to_be_extracted_is_not_failed_by_a_full_disk(server, faults, prog):
    """Nor is a delete half done."""
    api, name = Api(server), build_id(prog)
    attempt = Attempt(api, name, prog.read_bytes(), "executable")
    for at in range(1, 200):
        with faults.armed(FAIL_ON, at):
            status, doc = attempt.go_on()
            if status in (200, 202):
                break
        assert status in (500, 507), doc  # of a failed fsync, SQLite does not say why
    assert at > 20
    uid = attempt.uid
    state = wait_for(lambda: api("GET", f"/v1/uploads/{uid}")[1]["state"])
    assert state in ("pending", "done")
    for at in range(1, 300):
        with faults.armed(FAIL_ON, at):
            status, doc, _ = api("DELETE", f"/v1/modules/{name}")
        if status == 204:
            break
        assert status in (500, 507) and listed(api) == {name}
    assert at > 2 and listed(api) == set()
    check(server)


def test_a_file_system_that_is_full_takes_uploads_again_when_it_has_room(tmp_path, prog, gsym):
    """A real one, of 4 MB, in a mount namespace of the server's own."""
    disk = tmp_path / "disk"
    disk.mkdir()
    options = ["-m"] if os.geteuid() == 0 else ["-Ur", "-m"]
    server = Server(disk / "data", around=("unshare", *options, "sh", "-c",
                                           f'mount -t tmpfs -o size=4m none {disk} && exec "$@"',
                                           "sh")).start()
    try:
        api = Api(server)
        there, refused = set(), collections.Counter()
        for n in range(10000):
            uuid = uuid_of(n)
            name = f"gnu:{uuid.hex()}"
            status, doc = Attempt(api, name, with_uuid(gsym, uuid)).go_on()
            if status == 200:
                there.add(name)
            else:
                assert status == 507, doc
                refused[doc["error"]["message"]] += 1
            if sum(refused.values()) == 20:
                break
        assert there and set(refused) == {"the server's disk is full"}
        assert listed(api) == there
        start = symbol(prog, "outer")[0]
        for name in sorted(there)[:20]:
            status, doc, _ = api("GET", f"/v1/symbolize/{name}?addr={start}")
            assert status == 200 and doc["frames"][0][-1]["function"] == "outer"
        enter = ["-m"] if os.geteuid() == 0 else ["-m", "-U", "--preserve-credentials"]
        inside = ["nsenter", "-t", str(server.process.pid), *enter]
        subprocess.run([*inside, UNHEX, "store", "check", "--data", server.data], check=True,
                       stdout=subprocess.DEVNULL)
        # With its source named, mount takes none of the earlier options: of a user's they have IDs from outside.
        subprocess.run([*inside, "mount", "-t", "tmpfs", "-o", "remount,size=8m", "none", disk], check=True)
        print(f"{len(there)} uploads fit, {sum(refused.values())} were refused")
        attempt = Attempt(api, "gnu:" + uuid_of(-1).hex(), with_uuid(gsym, uuid_of(-1)))
        assert attempt.go_on()[0] == 200
        assert listed(api) == there | {attempt.name}
    finally:
        assert server.stop() == 0


def disk_of(server, inside):
    """/readyz and /metrics on the disk, and its free bytes."""
    status, doc, _ = Api(server)("GET", "/readyz")
    assert status == 200
    def free_bytes():
        return int(subprocess.run([*inside, "stat", "-f", "-c", "%a", server.data], check=True,
                                  stdout=subprocess.PIPE, text=True).stdout) * 4096
    before = free_bytes()
    request = urllib.request.Request(server.url + "/metrics", headers={"Authorization": f"Bearer {server.token}"})
    with urllib.request.urlopen(request) as answer:
        values = dict(re.findall(r"^(unhex_disk_\w+) (\d+)$", answer.read().decode(), re.M))
    free = free_bytes()
    # The server may be removing files or allocating its reserve meanwhile.
    slack = 1 << 20
    assert min(before, free) - slack < int(values["unhex_disk_free_bytes"]) < max(before, free) + slack
    return doc["uploads"], free, int(values["unhex_disk_least_free_bytes"])


@pytest.mark.parametrize("restart", [False, True])
def test_a_full_disk_is_mended_by_a_delete(tmp_path, prog, gsym, restart):
    """Uploads stop before the last bytes. Then another program takes those, too, and a delete still works."""
    disk = tmp_path / "disk"
    disk.mkdir()
    root = os.geteuid() == 0
    # The file system outlives the server.
    holder = subprocess.Popen(["unshare", *(["-m"] if root else ["-Ur", "-m"]), "sh", "-c",
                               f"mount -t tmpfs -o size=24m none {disk} && echo ready && exec sleep 600"],
                              stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "ready\n"
    inside = ["nsenter", "-t", str(holder.pid), *(["-m"] if root else ["-m", "-U", "--preserve-credentials"])]
    server = Server(disk / "data", around=tuple(inside)).start()
    try:
        api, there = Api(server), []
        data = gsym + bytes(300000 - len(gsym))
        for n in range(1000):
            uuid = uuid_of(n)
            attempt = Attempt(api, f"gnu:{uuid.hex()}", with_uuid(data, uuid))
            status, doc = attempt.go_on()
            if status != 200:
                break
            there.append(attempt.name)
        assert status == 507 and doc["error"]["code"] == "disk_full" and len(there) > 10, doc
        uploads, free, least = disk_of(server, inside)
        # The bytes of the last upload left so much; the pages that the index wrote about it came on top.
        assert free >= least - (128 << 10) and least > 1 << 20, (free, least)
        # What came of the last one is gone: nothing of an upload is left.
        parts = subprocess.run([*inside, "find", server.data / "uploads", "-type", "f", "-size", "+0"], check=True,
                               stdout=subprocess.PIPE, text=True).stdout
        assert parts == ""

        def fill():
            """Another program takes what is free; a write to the index may have freed the index's log meanwhile."""
            subprocess.run([*inside, "sh", "-c", f"cat /dev/zero >> {disk}/other 2>/dev/null"], check=False)
            uploads, free, _ = disk_of(server, inside)
            return uploads == "disk_full" and free == 0
        # Now the disk is full to the last byte.
        wait_for(fill)
        if restart:
            assert server.stop(signal.SIGKILL) == -signal.SIGKILL
            server.start()
            api = Api(server)
            # The log was freed. The other program is there again at once, and the reserve is there before it.
            wait_for(fill)
        status, doc = Attempt(api, "gnu:" + uuid_of(-1).hex(), with_uuid(gsym, uuid_of(-1))).go_on()
        assert status == 507, doc
        start = symbol(prog, "outer")[0]
        status, doc, _ = api("GET", f"/v1/symbolize/{there[0]}?addr={start}")
        assert status == 200 and doc["frames"][0][-1]["function"] == "outer"
        # A key can be revoked, and modules deleted; each gives its bytes back at once.
        key = subprocess.run([*inside, UNHEX, "key", "create", "--scopes", "read", "--data", server.data], check=False,
                             stdout=subprocess.PIPE, text=True)
        assert key.returncode == 0 and key.stdout.startswith("ux_")
        gone = there[:len(there) // 2]
        for name in gone:
            status, doc, _ = api("DELETE", f"/v1/modules/{name}")
            assert status == 204, (name, doc)
        # Without a restart, and soon: files are removed at once while the disk is full.
        wait_for(lambda: disk_of(server, inside)[0] == "accepted")
        wait_for(lambda: disk_of(server, inside)[1] > len(gone) * 300000 * 0.8)
        uploads, free, least = disk_of(server, inside)
        assert Attempt(api, gone[0], with_uuid(data, uuid_of(0))).go_on()[0] == 200
        assert listed(api) == set(there[len(gone):]) | {gone[0]}
        print(f"{len(there)} uploads fit; {least >> 10} KiB stayed free; {len(gone)} deletes gave {free >> 10} KiB back")
        assert server.stop() == 0
        subprocess.run([*inside, UNHEX, "store", "check", "--data", server.data], check=True,
                       stdout=subprocess.DEVNULL)
    finally:
        server.stop()
        holder.kill()
        holder.wait()


def test_a_folder_that_is_read_only_is_said_at_the_start(faults, tmp_path, prog, gsym):
    server = faults.server(tmp_path / "data").start()
    api, name = Api(server), "gnu:" + uuid_of(1).hex()
    assert Attempt(api, name, with_uuid(gsym, uuid_of(1))).go_on()[0] == 200
    # It becomes so under a server, as a file system does that met an error.
    start = symbol(prog, "outer")[0]
    with faults.armed(FAIL_ON, 1, errno.EROFS):
        for n in range(5):
            other = Attempt(api, "gnu:" + uuid_of(n + 2).hex(), with_uuid(gsym, uuid_of(n + 2)))
            assert other.go_on()[0] == 500
            status, doc, _ = api("GET", f"/v1/symbolize/{name}?addr={start}")
            assert status == 200 and doc["frames"][0][-1]["function"] == "outer"
            assert api("GET", f"/v1/gsym/{name}")[0] == 200
        assert listed(api) == {name}
        assert api("GET", "/readyz")[0] == 200
        assert server.stop() == 0
        result = unhex("serve", "--listen", "127.0.0.1:0", "--data", server.data,
                       env=server.environment)
    fails(result, 1, "cannot open", server.data, os.strerror(errno.EROFS))
    server.start()
    assert listed(Api(server)) == {name}
    assert server.stop() == 0
    check(server)


def test_an_index_that_another_process_holds_is_waited_for_and_then_said(server, prog, gsym):
    api = Api(server)
    attempt = Attempt(api, "gnu:" + uuid_of(1).hex(), with_uuid(gsym, uuid_of(1)))
    assert attempt.go_on()[0] == 200
    db = sqlite3.connect(server.data / "index.sqlite", isolation_level=None,
                         check_same_thread=False)
    db.execute("BEGIN IMMEDIATE")
    second = Attempt(api, "gnu:" + uuid_of(2).hex(), with_uuid(gsym, uuid_of(2)))
    threading.Timer(0.2, lambda: db.execute("COMMIT")).start()
    assert second.go_on()[0] == 200
    # More writers than the server has threads, and for longer than it waits.
    db.execute("BEGIN IMMEDIATE")
    others = [Attempt(Api(server), f"gnu:{uuid_of(n).hex()}", with_uuid(gsym, uuid_of(n)))
              for n in range(3, 43)]
    with concurrent.futures.ThreadPoolExecutor(len(others)) as pool:
        requested = time.monotonic()
        jobs = [pool.submit(other.go_on) for other in others]
        start, waits = symbol(prog, "outer")[0], []
        while not all(job.done() for job in jobs):
            begun = time.monotonic()
            status, doc, _ = api("GET", f"/v1/symbolize/{attempt.name}?addr={start}")
            assert status == 200 and doc["frames"][0][-1]["function"] == "outer"
            waits.append(time.monotonic() - begun)
            pause_for(0.02, "the rate of a reader")
        print(f"{len(jobs)} writers got Retry-After after "
              f"{time.monotonic() - requested:.1f} s; {len(waits)} readers waited {max(waits):.2f} s "
              "at most")
        assert {job.result()[0] for job in jobs} == {503}
        assert {job.result()[1]["error"]["code"] for job in jobs} == {"unavailable"}
    db.execute("COMMIT")
    assert {other.go_on()[0] for other in others} == {200}
    assert len(listed(api)) == 2 + len(others)
    check(server)


def blob_of(server, data):
    name = hashlib.sha256(data).hexdigest()
    return server.data / "blobs" / name[:2] / name[2:4] / name


def flip(server, data, bit):
    """As a disk does, which changes no time."""
    path = blob_of(server, data)
    was, bad = path.stat(), bytearray(path.read_bytes())
    assert bad == data
    bad[bit // 8] ^= 1 << bit % 8
    path.chmod(0o600)
    path.write_bytes(bad)
    path.chmod(was.st_mode & 0o777)
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))


def test_a_flipped_bit_never_becomes_a_name(tmp_path, prog, gsym):
    """One in each of 100 files: found in all of them, answered by the next one where there is one."""
    server, rng = Server(tmp_path / "data").start(), random.Random(9)
    poor = prog.with_suffix(".poor.gsym")
    assert unhex("extract", prog, "-o", poor, "--no-dwarf").returncode == 0
    start, poor, elf = symbol(prog, "outer")[0], poor.read_bytes(), prog.read_bytes()
    api, alone, pairs = Api(server), [], []
    for n in range(100):
        uuid = uuid_of(n)
        best = with_uuid(gsym, uuid)
        (pairs if n % 4 == 0 else alone).append((f"gnu:{uuid.hex()}", best))
        assert api.upload([f"gnu:{uuid.hex()}"], best)[0] == 200
        if n % 4 == 0:
            assert api.upload([f"gnu:{uuid.hex()}"], with_uuid(poor, uuid), force=True)[0] == 200
    name = build_id(prog)
    assert api.upload([name], elf, kind="executable")[0] in (200, 202)
    wait_for(lambda: api("GET", f"/v1/modules/{name}")[1]["candidates"][-1]["state"] == "ready")
    assert server.stop() == 0
    for _, best in alone + pairs:
        flip(server, best, rng.randrange(len(best) * 8))
    flip(server, elf, rng.randrange(len(elf) * 8))
    server.start()
    api, reported = Api(server), collections.Counter()
    for name, _ in alone:
        status, doc, _ = api("POST", "/v1/symbolize",
                             {"modules": [{"id": name, "addresses": [start]}]})
        (answer,) = doc["modules"]
        assert status == 200 and answer["status"] == "failed" and "damaged" in answer["reason"]
        assert "frames" not in answer
        api.refused(500, "input_output", "GET", f"/v1/gsym/{name}")
        explained = api("GET", f"/v1/explain/{name}?addr={start}")[1]
        assert '"frames": [{' not in json.dumps(explained), explained
        reported["alone: failed"] += 1
    for name, _ in pairs:
        status, doc, _ = api("GET", f"/v1/symbolize/{name}?addr={start}")
        assert status == 200 and doc["quality"] == "symtab"
        assert doc["frames"] == [[{"function": "outer"}]]
        api.connection.request("GET", f"/v1/gsym/{name}")
        answer = api.connection.getresponse()
        assert answer.read() == with_uuid(poor, bytes.fromhex(name.removeprefix("gnu:")))
        reported["pair: the next one answered"] += 1
    api.refused(500, "input_output", "GET", f"/buildid/{build_id(prog)[4:]}/executable")
    api.refused(500, "input_output", "GET", f"/buildid/{build_id(prog)[4:]}/section/.text")
    assert server.stop() == 0
    result = unhex("store", "check", "--json", "--repair", "--data", server.data)
    found = lines(result)
    assert found[-1]["problems"] == found[-1]["repaired"] == 101, found[-1]
    assert {f["problem"] for f in found[:-1]} == {"damaged"}
    server.start()  # what was lost is wanted again
    assert Attempt(Api(server), *alone[0]).go_on()[0] == 200
    assert server.stop() == 0
    print(dict(reported))
