# SPDX-License-Identifier: Apache-2.0
"""A server whose index is in PostgreSQL: all of what the one in a file does, and what happens while the
database is away."""
import hashlib
import os
import pathlib
import signal
import sqlite3
import subprocess
import time

import pytest

from unhex_server import Server
from http_api import Api
from postgres_server import Postgres
from tool import UNHEX, unhex
from waiting import pause_for, wait_for

SUITE = pathlib.Path(UNHEX).resolve().parents[1] / "tests/unit/test_store_postgres"

PROGRAM = "int named(int x) { return x * 3; }\nint main(int argc, char **argv) { (void)argv; return named(argc); }\n"


@pytest.fixture
def place(postgres, request):
    return postgres.create("t" + str(abs(hash(request.node.name))))


@pytest.fixture
def server(place, tmp_path):
    s = Server(tmp_path / "server", options=("--index", place)).start()
    yield s
    assert s.stop() in (0, None)


def test_the_suite_of_every_index_passes():
    """Rows, transactions and lost connections, without a server of ours."""
    with Postgres() as own:
        env = {**os.environ, "UNHEX_TEST_POSTGRES": own.url(), "UNHEX_TEST_POSTGRES_RESTART": own.restart_command}
        r = subprocess.run([SUITE], env=env, capture_output=True, text=True, timeout=300)
    assert r.returncode == 0, r.stdout + r.stderr
    assert "20 test(s)" in r.stdout + r.stderr


def build(tmp_path, name):
    source = tmp_path / f"{name}.c"
    source.write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-O0", "-Wl,--build-id=sha1", "-o", tmp_path / name, source], check=True)
    return tmp_path / name


def key_id(token):
    """The beginning of the hash of a token."""
    return hashlib.sha256(token.encode()).hexdigest()[:12]


def address(program):
    nm = subprocess.run(["nm", program], capture_output=True, text=True).stdout
    return next("0x" + line.split()[0] for line in nm.splitlines() if line.endswith(" named"))


def identity(program):
    return unhex("id", "-q", program).stdout.split()[1]


def is_named(server, program):
    status, document = server.get(f"/v1/symbolize/{identity(program)}?addr={address(program)}")
    return status == 200 and document["frames"][0][-1]["function"] == "named"


def push(server, program, *options):
    return server.unhex("push", *options, program)


def test_what_is_pushed_is_found_searched_and_deleted(server, place, tmp_path):
    program = build(tmp_path, "program")
    assert push(server, program).returncode == 0
    assert is_named(server, program)
    assert not (server.data / "index.sqlite").exists()
    status, found = server.get("/v1/modules?name=*rogra*")
    assert status == 200 and [m["id"] for m in found["modules"]] == [identity(program)]
    again = push(server, program)
    assert again.returncode == 0 and "1 already there" in again.stdout + again.stderr
    where = ("--data", server.data, "--index", place)
    key = unhex("key", "create", *where, "--scopes", "read").stdout.strip()
    assert server.get(f"/v1/modules/{identity(program)}", key)[0] == 200
    assert len(unhex("key", "list", *where).stdout.splitlines()) >= 2
    assert "1 module" in unhex("store", "usage", *where).stdout
    assert unhex("store", "check", *where).returncode == 0


def test_an_acknowledged_upload_survives_kill_and_power_cut(server, postgres, tmp_path):
    programs = [build(tmp_path, f"program{i}") for i in range(4)]
    for program in programs:
        assert push(server, program, "--with-debuginfo").returncode == 0
        server.stop(signal.SIGKILL)
        postgres.restart()
        server.start()
    assert all(is_named(server, program) for program in programs)


def test_modules_that_are_open_answer_while_the_database_is_away(server, postgres, tmp_path):
    program, other = build(tmp_path, "program"), build(tmp_path, "other")
    assert push(server, program).returncode == 0 and is_named(server, program)
    assert server.get(f"/v1/symbolize/{identity(program)}?addr=1", server.token)[0] == 200
    postgres.stop()
    try:
        refused = push(server, other, "--retries", "1")
        assert refused.returncode != 0 and "cannot reach" in refused.stdout + refused.stderr
        status, _ = server.get(f"/v1/modules/{identity(other)}")
        assert status == 503
        assert server.get("/healthz")[0] == 200
        # Also when what is known of keys and namespaces is older than the second that it is used for otherwise.
        end = time.monotonic() + 4
        while time.monotonic() < end:
            assert [server.get(f"/v1/symbolize/{identity(program)}?addr={address(program)}", token)[0]
                    for token in (None, server.token)] == [200, 200]
            assert server.get(f"/v1/symbolize/{identity(program)}?addr=1", "ux_" + "a" * 52)[0] == 503  # an unknown one
    finally:
        postgres.start()
    assert push(server, other).returncode == 0
    assert is_named(server, other) and is_named(server, program)


def test_a_database_that_cannot_be_reached_is_said_at_the_start(tmp_path):
    for place, words in (("postgres:///x?host=/nonexistent", "/nonexistent"), ("/some/file", "expected postgres://HOST/NAME")):
        r = unhex("serve", "--listen", "127.0.0.1:0", "--data", tmp_path / "d", "--index", place)
        assert r.returncode != 0 and words in r.stderr


def test_a_backup_of_the_index_is_the_databases(server, place, tmp_path):
    r = unhex("store", "backup", tmp_path / "copy", "--data", server.data, "--index", place)
    assert r.returncode != 0 and "pg_dump" in r.stderr


def test_both_databases_have_the_same_tables_columns_and_indexes(postgres, place, server, tmp_path):
    other = Server(tmp_path / "other").start()
    other.stop()
    index = sqlite3.connect(other.data / "index.sqlite")
    tables = {name for (name,) in index.execute("SELECT name FROM sqlite_master WHERE type = 'table' "
                                                "AND name NOT LIKE 'sqlite_%'")}
    columns = {f"{t}|{row[1]}" for t in tables for row in index.execute(f"PRAGMA table_xinfo({t})")}
    indexes = {name for (name,) in index.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")}
    name = place.split("///")[1].split("?")[0]
    theirs = postgres.query("SELECT table_name, column_name FROM information_schema.columns JOIN information_schema.tables "
                            "USING (table_schema, table_name) WHERE table_schema = 'public' AND table_type = 'BASE TABLE' "
                            "AND table_name <> 'unhex_schema'", name)
    assert set(theirs) == columns
    found = postgres.query("SELECT indexname FROM pg_indexes WHERE schemaname = 'public'", name)
    assert indexes <= set(found), indexes - set(found)


def test_a_key_is_read_once_a_second_and_is_refused_soon_after_it_was_revoked(server, place, postgres, tmp_path):
    program = build(tmp_path, "program")
    assert push(server, program).returncode == 0
    where = ("--data", server.data, "--index", place)
    first, second = (unhex("key", "create", *where, "--scopes", "read").stdout.strip() for _ in range(2))
    path = f"/v1/symbolize/{identity(program)}?addr={address(program)}"
    name = place.split("///")[1].split("?")[0]

    def transactions():
        pause_for(1.5, "an idle connection writes its statistics once a second")
        return int(postgres.query(f"SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = '{name}'")[0])

    before = transactions()
    for _ in range(600):
        assert server.get(path, first)[0] == 200
    assert transactions() - before < 300
    assert server.get(path, second)[0] == 200
    # By another process, which this server does not hear of.
    assert unhex("key", "revoke", key_id(second), *where).returncode == 0
    wait_for(lambda: server.get(path, second)[0] != 200, 10)
    assert server.get(path, second)[0] == 401
    # By this server: at once.
    assert server.get(path, first)[0] == 200
    assert Api(server)("DELETE", f"/v1/keys/{key_id(first)}")[0] in (200, 204)
    assert server.get(path, first)[0] == 401
