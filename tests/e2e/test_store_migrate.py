# SPDX-License-Identifier: Apache-2.0
"""A store is moved to other engines and back: SQLite and PostgreSQL, while it is read, written and killed."""
import contextlib
import hashlib
import json
import os
import re
import signal
import sqlite3
import subprocess

from unhex_server import Server
from http_api import Api, with_uuid
from radosgw_server import Radosgw
from tool import UNHEX, unhex
from waiting import pause_for

LEFT_OUT = {"nodes", "changes"}  # what only a server that runs needs


def upload(server, gsym, numbers, **more):
    api = Api(server)
    ids = []
    for i in numbers:
        uuid = hashlib.sha1(str(i).encode()).digest()
        status, doc, _ = api.upload([f"gnu:{uuid.hex()}", f"file:{uuid.hex()[:32]}"], with_uuid(gsym, uuid),
                                    file=f"/usr/lib/lib{i}.so", **more)
        assert status == 200, doc
        ids.append(f"gnu:{uuid.hex()}")
    return ids


def migrate(*args):
    r = unhex("store", "migrate", "--json", *args)
    return r.returncode, json.loads(r.stdout) if r.stdout else None, r.stderr


def columns_of(db):
    """Of each table the columns that are not computed, sorted."""
    tables = [n for (n,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
    return {t: sorted(row[1] for row in db.execute(f"PRAGMA table_xinfo({t})") if row[6] == 0)
            for t in tables if t not in LEFT_OUT}


def rows_of_sqlite(path):
    """Each table's rows as text, sorted; numbers that were given out."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        rows = {}
        for table, columns in columns_of(db).items():
            quoted = ", ".join(f"CASE typeof({c}) WHEN 'blob' THEN '\\x' || lower(hex({c})) WHEN 'null' THEN '<null>' "
                               f"ELSE CAST({c} AS TEXT) END" for c in columns)
            rows[table] = sorted(tuple(r) for r in db.execute(f"SELECT {quoted} FROM {table}"))
        given = dict(db.execute("SELECT name, seq FROM sqlite_sequence"))
        return rows, {k: v for k, v in given.items() if k not in LEFT_OUT and v > 0}, columns_of(db)


def rows_of_postgres(postgres, name, columns):
    """The same of a database, by psql."""
    rows = {}
    for table, names in columns.items():
        quoted = ", ".join(f"coalesce({c}::text, '<null>')" for c in names)
        text = postgres.query(f"SELECT json_build_array({quoted}) FROM {table}", name)
        rows[table] = sorted(tuple(json.loads(line)) for line in text)
    given = postgres.query("SELECT table_name, coalesce(pg_sequence_last_value(pg_get_serial_sequence(table_name, 'number')"
                           "::regclass), 0) FROM information_schema.columns WHERE is_identity = 'YES' AND table_schema = 'public'",
                           name)
    given = {k: int(v) for k, v in (line.split("|") for line in given)}
    return rows, {k: v for k, v in given.items() if v > 0}


def without_mark(rows):
    """Whether a migration is going on, and where the blobs are, is the new store's own."""
    return {**rows, "numbers": [r for r in rows["numbers"] if not {"migration", "blobs-place"} & set(r)]}


def is_named(server, ids):
    """Every module answers as ready."""
    for module in ids:
        status, doc = server.get(f"/v1/modules/{module}")
        assert status == 200 and doc["candidates"][0]["state"] == "ready", doc
    return True


def test_a_store_goes_to_postgresql_and_back_with_every_row(postgres, gsym, tmp_path):
    server = Server(tmp_path / "old").start()
    ids = upload(server, gsym, range(40))
    upload(server, gsym, range(100, 103), description="ü\\\t\"x'")
    assert server.unhex("key", "create", "--data", server.data, "--scopes", "read").returncode == 0
    assert server.get("/v1/modules/" + ids[0])[0] == 200
    assert Api(server)("DELETE", "/v1/modules/" + ids[7])[0] in (200, 204)
    gone, ids = ids[7], ids[:7] + ids[8:]
    # While the old server runs.
    place = postgres.create("there")
    code, doc, err = migrate(tmp_path / "new", "--data", server.data, "--to-index", place)
    assert code == 0, err
    assert doc["blobs"] == doc["copied"] == 42 and doc["problems"] == doc["deleted"] == 0
    assert is_named(server, ids)
    assert server.stop() == 0
    old, given, columns = rows_of_sqlite(server.data / "index.sqlite")
    new, given_there = rows_of_postgres(postgres, "there", columns)
    assert doc["tables"] == len(columns)
    # A server writes some numbers and uses of modules by itself until it ends.
    own = {"numbers", "modules", "keys", "uploads", "jobs"}
    assert {t: r for t, r in without_mark(new).items() if t not in own} == {t: r for t, r in old.items() if t not in own}
    assert len(new["modules"]) == len(old["modules"]) == 42 and new["keys"] and given_there == given
    # The other server has all of it, and goes on with numbers of its own.
    other = Server(tmp_path / "new", options=("--index", place)).start()
    other.token = server.token
    assert is_named(other, ids) and other.get("/v1/modules/" + gone)[0] == 404
    more = upload(other, gsym, range(200, 203))
    assert is_named(other, more)
    assert other.stop() == 0
    assert unhex("store", "check", "--data", tmp_path / "new", "--index", place).returncode == 0
    # And back, from the server that is stopped: now every row is the same.
    code, doc, err = migrate(tmp_path / "again", "--data", tmp_path / "new", "--index", place)
    assert code == 0 and doc["blobs"] == 45, err
    new, given = rows_of_postgres(postgres, "there", columns)
    back, given_back, _ = rows_of_sqlite(tmp_path / "again" / "index.sqlite")
    assert without_mark(back) == without_mark(new)
    assert given_back == given
    assert unhex("store", "check", "--data", tmp_path / "again").returncode == 0
    third = Server(tmp_path / "again").start()
    third.token = server.token
    assert is_named(third, ids + more)
    assert is_named(third, upload(third, gsym, range(300, 302)))
    assert third.stop() == 0


def test_a_migration_that_is_killed_again_and_again_goes_on(postgres, gsym, tmp_path):
    server = Server(tmp_path / "old").start()
    ids = upload(server, gsym, range(250))
    place = postgres.create("killed")
    command = [UNHEX, "store", "migrate", tmp_path / "new", "--data", server.data, "--to-index", place]
    kills = finished = 0
    states = set()
    for i in range(40):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        pause_for(0.02 + 0.05 * i, "a kill at any moment")
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        out, err = process.communicate(timeout=60)
        exists = postgres.query("SELECT count(*) FROM information_schema.tables WHERE table_name = 'modules'", "killed")
        rows = postgres.query("SELECT count(*) FROM modules", "killed") if exists == ["1"] else ["0"]
        states.add(rows[0])
        if process.returncode == 0:
            finished = 1
            break
        # Until it is done, no server opens an index that has rows already.
        if rows != ["0"]:
            r = subprocess.run([UNHEX, "serve", "--data", tmp_path / "new", "--index", place, "--listen", "127.0.0.1:0"],
                               capture_output=True, text=True, timeout=30)
            assert r.returncode != 0 and "was not finished" in r.stderr
        upload(server, gsym, [1000 + i])  # the old server goes on
    assert finished and kills >= 2, (kills, out, err)
    assert states <= {"0", rows[0]}, states  # all rows, or none
    print(f"{kills} kills, rows seen {sorted(states)}")
    assert server.stop() == 0
    assert unhex("store", "check", "--data", tmp_path / "new", "--index", place).returncode == 0
    other = Server(tmp_path / "new", options=("--index", place)).start()
    other.token = server.token
    assert is_named(other, ids)
    assert other.stop() == 0
    # A second migration to the same place is refused, and changes nothing.
    code, _, err = migrate(tmp_path / "new", "--data", server.data, "--to-index", place)
    assert code != 0 and "the new place already has a store" in err


def test_what_the_old_store_has_lost_is_reported_and_not_named_by_the_new_one(postgres, gsym, tmp_path):
    server = Server(tmp_path / "old").start()
    ids = upload(server, gsym, range(5))
    assert server.stop() == 0
    files = sorted(p for p in (server.data / "blobs").rglob("*") if p.is_file())
    os.chmod(files[0], 0o640)
    files[0].write_bytes(files[0].read_bytes()[:-1] + b"\x7f")
    files[1].unlink()
    place = postgres.create("lost")
    r = unhex("store", "migrate", tmp_path / "new", "--data", server.data, "--to-index", place)
    assert r.returncode == 1
    assert all(f.name in r.stdout for f in files[:2]) and re.search(r"3 blobs of .*; 2 problems", r.stdout), r.stdout
    assert unhex("store", "check", "--data", tmp_path / "new", "--index", place).returncode == 0
    other = Server(tmp_path / "new", options=("--index", place)).start()
    other.token = server.token
    answered = [i for i in ids if other.get("/v1/modules/" + i)[0] == 200
                and other.get("/v1/modules/" + i)[1]["candidates"]]
    assert len(answered) == 3
    assert other.stop() == 0


def test_files_that_the_new_place_does_not_take_are_no_lost_ones(gsym, tmp_path):
    """A local error once counted as a blob that the old store had lost: a migration "finished" with 444 of 7,129 objects."""
    server, new = Server(tmp_path / "old").start(), tmp_path / "new"
    ids = upload(server, gsym, range(12))
    assert server.stop() == 0
    hashes = sorted(p.name for p in (server.data / "blobs").rglob("*") if p.is_file())
    hindered = hashes[3]
    bad = [h for h in hashes if h[:2] == hindered[:2]]
    (new / "blobs").mkdir(parents=True)
    (new / "blobs" / hindered[:2]).symlink_to("nowhere")  # its files get "No such file or directory"
    for copied in (12 - len(bad), 0):  # also when it runs again
        r = unhex("store", "migrate", new, "--data", server.data)
        assert r.returncode == 1 and "the migration is not finished" in r.stderr, (r.stdout, r.stderr)
        assert all(h in r.stdout for h in bad) and f"{copied} copied now" in r.stdout, r.stdout
    r = unhex("store", "migrate", "--json", new, "--data", server.data, "--jobs", "1")
    doc = json.loads(r.stdout.splitlines()[-1])
    assert (r.returncode, doc["failed"], doc["finished"], doc["problems"]) == (1, len(bad), False, 0)
    (new / "blobs" / hindered[:2]).unlink()
    code, doc, err = migrate(new, "--data", server.data)
    assert (code, doc["copied"], doc["blobs"], doc["finished"]) == (0, len(bad), 12, True), (doc, err)
    assert unhex("store", "check", "--data", new, "--jobs", "3").returncode == 0
    other = Server(new).start()
    other.token = server.token
    assert is_named(other, ids)
    assert other.stop() == 0


def test_a_place_with_a_store_and_one_that_cannot_be_reached_are_refused(gsym, tmp_path):
    server = Server(tmp_path / "old").start()
    upload(server, gsym, range(2))
    assert server.stop() == 0
    code, _, err = migrate(server.data, "--data", server.data)
    assert code != 0 and err
    code, _, err = migrate(tmp_path / "new", "--data", server.data, "--to-index", "postgres:///x?host=/nonexistent")
    assert code != 0 and "/nonexistent" in err
    code, doc, err = migrate(tmp_path / "copy", "--data", server.data)
    assert code == 0 and doc["blobs"] == 2, err
    assert without_mark(rows_of_sqlite(tmp_path / "copy" / "index.sqlite")[0]) == \
        without_mark(rows_of_sqlite(server.data / "index.sqlite")[0])


def test_the_files_go_to_a_bucket_and_back(postgres, gsym, tmp_path, monkeypatch):
    with Radosgw() as objects:
        bucket = objects.bucket("moved")
        for name, value in objects.environment.items():
            monkeypatch.setenv(name, value)
        server = Server(tmp_path / "old").start()
        ids = upload(server, gsym, range(12))
        assert server.stop() == 0
        place = postgres.create("bucket")
        there = ("--blobs", f"{bucket}/x", "--s3-endpoint", objects.url)
        command = ("--data", server.data, "--to-index", place, "--to-blobs", f"{bucket}/x", "--s3-endpoint", objects.url)
        code, doc, err = migrate(tmp_path / "new", *command)
        assert code == 0 and doc["copied"] == 12, err
        other = Server(tmp_path / "new", options=("--index", place, *there)).start()
        other.token = server.token
        assert is_named(other, ids)
        ids += upload(other, gsym, range(50, 53))
        assert other.stop() == 0
        assert unhex("store", "check", "--data", tmp_path / "new", "--index", place, *there).returncode == 0
        code, doc, err = migrate(tmp_path / "back", "--data", tmp_path / "new", "--index", place, *there)
        assert code == 0 and doc["blobs"] == doc["copied"] == 15, err
        assert unhex("store", "check", "--data", tmp_path / "back").returncode == 0
        last = Server(tmp_path / "back").start()
        last.token = server.token
        assert is_named(last, ids)
        assert last.stop() == 0
