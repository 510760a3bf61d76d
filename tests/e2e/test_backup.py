# SPDX-License-Identifier: Apache-2.0
"""unhex store backup and restore: while a server works, killed at any time, and of a damaged store."""
import hashlib
import os
import random
import shutil
import signal
import subprocess
import threading

from unhex_server import Server
from http_api import Api, listed, with_uuid
from tool import UNHEX, fails, lines, symbol, unhex
from waiting import pause_for, wait_for


def uuid_of(n):
    return hashlib.sha1(str(n).encode()).digest()


def name_of(n):
    return f"gnu:{uuid_of(n).hex()}"


def put(api, gsym, n):
    assert api.upload([name_of(n)], with_uuid(gsym, uuid_of(n)))[0] == 200
    return name_of(n)


def backup(server, folder, *options):
    """The line that it prints at the end."""
    result = unhex("store", "backup", folder, "--json", *options, "--data", server.data)
    assert result.returncode == 0, (result.stdout, result.stderr)
    return lines(result)[-1]


def check(folder):
    result = unhex("store", "check", "--json", "--data", folder)
    assert result.returncode == 0 and len(lines(result)) == 1, (result.stdout, result.stderr)
    return lines(result)[-1]


class Load:
    """Threads that upload modules, and delete some of them, until the end of the block."""

    def __init__(self, server, gsym, threads=3):
        self.server, self.gsym, self.end = server, gsym, threading.Event()
        self.done, self.deleted, self.lock, self.failed = set(), set(), threading.Lock(), []
        self.threads = [threading.Thread(target=self._run, args=(1000 * (i + 1),)) for i in range(threads)]

    def _run(self, n):
        try:
            api = Api(self.server)
            while not self.end.is_set():
                name = put(api, self.gsym, n)
                with self.lock:
                    self.done.add(name)
                if n % 3 == 0:
                    with self.lock:
                        self.deleted.add(name)
                    assert api("DELETE", f"/v1/modules/{name}")[0] == 204
                n += 1
        except Exception as e:  # seen by __exit__
            self.failed.append(e)

    def kept(self):
        """What is acknowledged now, and was never about to be deleted."""
        with self.lock:
            return self.done - self.deleted

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.end.set()
        for thread in self.threads:
            thread.join()
        assert not self.failed, self.failed


def test_a_backup_under_load_has_all_that_was_acknowledged_before(server, tmp_path, prog, gsym):
    start, folder = symbol(prog, "outer")[0], tmp_path / "backup"
    with Load(server, gsym) as load:
        wait_for(lambda: len(load.kept()) >= 20)
        for n in range(4):  # the first one is whole, the others add to it
            before = load.kept()
            reported = backup(server, folder)
            with load.lock:
                deleted = set(load.deleted)
            # Blobs are linked: both folders are on one file system.
            assert reported["blobs"] >= len(before) and reported["linked"] > 0 and reported["copied"] == 0, reported
            assert n == 0 or reported["linked"] < reported["blobs"], reported
            assert check(folder)["garbage"] == 0
            restored = Server(tmp_path / f"restored{n}")
            result = unhex("store", "restore", folder, "--data", restored.data)
            assert result.returncode == 0, result.stderr
            restored.start()
            try:
                restored.token = server.token  # keys are part of it
                api = Api(restored)
                there = listed(api)
                assert before - deleted <= there, before - deleted - there
                for name in sorted(there)[:10]:
                    status, doc, _ = api("GET", f"/v1/symbolize/{name}?addr={start}")
                    assert status == 200 and doc["frames"][0][-1]["function"] == "outer"
                put(api, gsym, n)  # and it goes on
            finally:
                assert restored.stop() == 0
            check(restored.data)
            print(f"backup {n}: {reported}")


def test_a_backup_that_is_killed_leaves_the_one_before(server, tmp_path, gsym):
    api, folder, random_ = Api(server), tmp_path / "backup", random.Random(3)
    for n in range(30):
        put(api, gsym, n)
    killed = 0
    command = [UNHEX, "store", "backup", folder, "--copy", "--data", server.data]
    # The first one: killed, there is no index, and nothing takes the folder for a store.
    for at in range(40):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        pause_for(random_.random() * 0.15, "a kill at any moment")
        process.kill()
        if process.wait() == -signal.SIGKILL:
            killed += 1
            if not (folder / "index.sqlite").exists() and (folder / "index.sqlite.new").exists():
                fails(unhex("serve", "--listen", "127.0.0.1:0", "--data", folder), 1, "not finished")
                fails(unhex("store", "restore", folder, "--data", tmp_path / "none"), 1, "no index.sqlite")
        if (folder / "index.sqlite").exists():
            assert check(folder)["blobs"] >= 30
    assert killed > 5
    backup(server, folder)
    have = {name_of(n) for n in range(30)}
    for n in range(30, 60):
        put(api, gsym, n)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        pause_for(random_.random() * 0.15, "a kill at any moment")
        process.kill()
        process.wait()
        assert check(folder)["blobs"] >= len(have)
    backup(server, folder)
    # A restore that is killed can be run again.
    for _ in range(10):
        process = subprocess.Popen([UNHEX, "store", "restore", folder, "--copy", "--data", tmp_path / "r" / "data"],
                                   stdout=subprocess.DEVNULL)
        pause_for(random_.random() * 0.15, "a kill at any moment")
        process.kill()
        process.wait()
    if not (tmp_path / "r" / "data" / "index.sqlite").exists():
        assert unhex("store", "restore", folder, "--data", tmp_path / "r" / "data").returncode == 0
    assert check(tmp_path / "r" / "data")["blobs"] == 60
    fails(unhex("store", "restore", folder, "--data", tmp_path / "r" / "data"), 1, "already")
    print(f"killed {killed} of 40 first backups")


def test_what_is_damaged_in_the_store_is_reported_and_not_backed_up(server, tmp_path, gsym):
    api, folder = Api(server), tmp_path / "backup"
    for n in range(5):
        put(api, gsym, n)
    blobs = sorted(p for p in (server.data / "blobs").rglob("*") if p.is_file())
    blobs[0].chmod(0o600)
    with open(blobs[0], "r+b") as f:
        f.seek(100)
        f.write(bytes([blobs[0].read_bytes()[100] ^ 1]))
    blobs[1].unlink()
    result = unhex("store", "backup", folder, "--json", "--data", server.data)
    reported = lines(result)
    assert result.returncode == 1 and reported[-1]["problems"] == 2 and reported[-1]["blobs"] == 3, reported
    assert {t["sha256"] for t in reported[:-1]} == {b.name for b in blobs[:2]}
    assert check(folder)["blobs"] == 3
    # What is mended, or uploaded again, is in the next one; what was deleted leaves it.
    assert api("DELETE", f"/v1/modules/{name_of(4)}")[0] == 204
    unhex("store", "check", "--data", server.data)


def test_folders_that_are_no_place_for_a_backup_are_refused(server, tmp_path, gsym):
    put(Api(server), gsym, 1)
    fails(unhex("store", "backup", server.data, "--data", server.data), 2, "store's own folder")
    other = Server(tmp_path / "other").start()
    try:
        fails(unhex("store", "backup", other.data, "--data", server.data), 1, "another server")
    finally:
        other.stop()
    fails(unhex("store", "restore", tmp_path / "nothing", "--data", tmp_path / "new"), 1, "no index.sqlite")
    assert not (tmp_path / "new").exists()


def test_a_backup_on_another_file_system_copies(server, tmp_path, gsym):
    api = Api(server)
    for n in range(3):
        put(api, gsym, n)
    folder = f"/dev/shm/unhex-backup-{os.getpid()}"
    try:
        reported = backup(server, folder)
        assert reported["copied"] == 3 and reported["linked"] == 0
        assert backup(server, folder)["copied"] == 0  # they are there
        check(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
