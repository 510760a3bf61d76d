# SPDX-License-Identifier: Apache-2.0
"""Two versions of unhex with one index (docs/operation.md): what a step of the schema may do, who goes on, and who waits."""
import concurrent.futures
import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import threading
import urllib.parse

import pytest

from fleet import Fleet, haproxy, seconds_until
from http_api import with_uuid
from test_fleet import gsym_of, name_of
from test_fleet_packaging import status
from test_elf_uploads import names
from test_access import log_of
from tool import ROOT, UNHEX, build_id, fails, symbol, unhex

STEPS = sorted((ROOT / "store/schema/postgres").glob("*.sql"))
BASE, LAST = int(STEPS[0].name[:4]), int(STEPS[-1].name[:4])
SQLITE_BASE = int(min((ROOT / "store/schema").glob("*.sql")).name[:4])
# What earlier versions cannot live with: what they read or write is gone, has another name or type, or they lack a value.
BREAKING = re.compile(r"\bDROP\s+(TABLE|COLUMN|CONSTRAINT|FUNCTION|VIEW)\b|\bRENAME\b|\bALTER\s+COLUMN\b|"
                      r"\bADD\s+COLUMN\b(?![^;]*\bDEFAULT\b)[^;]*\bNOT\s+NULL\b", re.I)
# A key takes the place of one of its name, with another order or further columns. Earlier versions name the set of its columns
# in ON CONFLICT: that it stays the same is for who writes the step.
REPLACED_KEY = re.compile(r"ALTER TABLE (\w+) DROP CONSTRAINT (\w+);\s*"
                          r"(?=ALTER TABLE \1 ADD CONSTRAINT \2 PRIMARY KEY)", re.I)


@pytest.fixture
def index(postgres, request):
    return postgres.create("u" + str(abs(hash(request.node.name))))


def breaks(sql):
    """Does a step break earlier versions without saying so in unhex_schema.oldest?"""
    sql = re.sub(r"--[^\n]*", "", sql)
    sql = REPLACED_KEY.sub("", sql)
    return bool(BREAKING.search(sql)) and "SET oldest =" not in sql


@pytest.mark.parametrize("sql, expected", [
    ("ALTER TABLE a ADD COLUMN b BIGINT;", False),
    ("ALTER TABLE a ADD COLUMN b BIGINT NOT NULL DEFAULT 0;", False),
    ("ALTER TABLE a ADD COLUMN b BIGINT NOT NULL;", True),
    ("-- DROP TABLE a", False),
    ("DROP TABLE a;", True),
    ("DROP TABLE a; UPDATE unhex_schema SET oldest = 12;", False),
    ("ALTER TABLE a DROP CONSTRAINT k;", True),
    ("ALTER TABLE a DROP CONSTRAINT k; ALTER TABLE a ADD CONSTRAINT other PRIMARY KEY (b);", True),
    ("ALTER TABLE a DROP CONSTRAINT k; ALTER TABLE a ADD CONSTRAINT k PRIMARY KEY (b);", False),
    ("ALTER TABLE a ALTER COLUMN b TYPE TEXT;", True),
    ("ALTER TABLE a RENAME b TO c;", True),
])
def test_a_step_that_breaks_earlier_versions_is_known(sql, expected):
    assert breaks(sql) == expected


def test_steps_only_add_or_say_whom_they_exclude():
    for step in STEPS:
        assert not breaks(step.read_text()), step.name
    assert [int(s.name[:4]) for s in STEPS] == list(range(BASE, LAST + 1))


@pytest.mark.parametrize("base", ["store/schema/0021-base.sql", "store/schema/postgres/0013-base.sql"])
def test_the_base_makes_all_tables_and_changes_none(base):
    sql = re.sub(r"--[^\n]*", "", (ROOT / base).read_text())
    outside = re.sub(r"\$\$.*?\$\$|^CREATE TRIGGER .*?^END;", "", sql, flags=re.M | re.S)
    verbs = {line.split()[0] for line in re.split(r";\s*", outside) if line.strip()}
    assert verbs == {"CREATE", "INSERT"}
    assert len(re.findall(r"^CREATE TABLE", outside, re.M)) == 27


def embed(tmp_path, *names):
    """Schema files of these names as C text: status, what was said, the text."""
    paths = [tmp_path / name for name in names]
    for path in paths:
        path.write_text(f"-- {path.name}\nCREATE TABLE t{path.name[:4]} (\n\t-- a column\n\tx\n);\n")
    out = tmp_path / "schema.c"
    done = subprocess.run([sys.executable, ROOT / "tools/embed_sql.py", out, "ux_schema", *paths], stderr=subprocess.PIPE, text=True,
                          check=False)
    return done.returncode, done.stderr, out.read_text() if out.exists() else ""


def test_schema_files_begin_with_a_base_of_any_number_and_leave_none_out(tmp_path):
    status, said, text = embed(tmp_path, "0021-base.sql", "0022-more.sql", "0023-last.sql")
    assert status == 0, said
    assert "const struct ux_schema ux_schema = {steps, 21, 23};" in text
    assert re.findall(r'\{"(.*?)", step(\d+)\}', text) == [
        ("0021-base.sql", "21"), ("0022-more.sql", "22"), ("0023-last.sql", "23")]
    bytes_ = re.search(r"step22\[\] = \{(.*?)\}", text, re.S)[1]
    assert bytes(int(n) for n in re.findall(r"\d+", bytes_)) == b"CREATE TABLE t0022 (\n\tx\n);\n\0"


@pytest.mark.parametrize("names, expected", [
    (("0021-base.sql", "0023-more.sql"), "0023-more.sql: expected a name that begins with 0022-"),
    (("0021-base.sql", "0021-more.sql"), "0021-more.sql: expected a name that begins with 0022-"),
    (("base.sql",), "base.sql: expected a name that begins with four digits"),
    (("0000-base.sql",), "0000-base.sql: expected a name that begins with four digits"),
])
def test_schema_files_with_another_number_are_refused(tmp_path, names, expected):
    status, said, text = embed(tmp_path, *names)
    assert status != 0 and expected in said and text == ""


def refused(version, base):
    return (f"the index was written by an older unhex (schema {version}, this one reads {base} and later); "
            f"open it once with an unhex that upgrades it to schema {base}")


def test_an_index_of_before_the_base_is_refused(postgres, index, tmp_path):
    with Fleet(tmp_path, index, 1) as fleet:
        fleet.kill(fleet.nodes[0])
        set_schema(postgres, index, f"version = {BASE - 1}")
        assert refused(BASE - 1, BASE) in started(fleet, fleet.nodes[0])
        set_schema(postgres, index, f"version = {LAST}")
        seconds_until(lambda: started(fleet, fleet.nodes[0]) is None)


def test_a_file_of_before_the_base_is_refused(server):
    path = server.data / "index.sqlite"
    assert server.stop() == 0
    with contextlib.closing(sqlite3.connect(path)) as db:
        last = db.execute("PRAGMA user_version").fetchone()[0]
        assert last >= SQLITE_BASE
        db.execute(f"PRAGMA user_version = {SQLITE_BASE - 1}")
    fails(unhex("store", "check", "--data", server.data), 1, refused(SQLITE_BASE - 1, SQLITE_BASE))
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone()[0] == SQLITE_BASE - 1
        db.execute(f"PRAGMA user_version = {last}")
    assert unhex("store", "check", "--data", server.data).returncode == 0


def set_schema(postgres, index, what):
    postgres.query(f"UPDATE unhex_schema SET {what}", name_of(postgres, index))


def started(fleet, node):
    """What a server prints that does not start; None where it does."""
    before = len(log_of(node))
    try:
        fleet.start(node)
        return None
    except RuntimeError:
        assert node.process.wait(60) != 0
        node.process.stdout.close()
        node.log.close()
        node.process = None
        return log_of(node)[before:]


def test_a_node_goes_on_and_starts_again_after_a_later_version_has_added_to_the_index(postgres, index, prog, tmp_path):
    with Fleet(tmp_path, index, 2) as fleet:
        postgres.query("ALTER TABLE modules ADD COLUMN later BIGINT NOT NULL DEFAULT 7; "
                       "CREATE TABLE later (x BIGINT); UPDATE unhex_schema SET version = 9000", name_of(postgres, index))
        apis = [fleet.api(i) for i in range(2)]
        assert apis[0].upload([build_id(prog)], gsym_of(prog, tmp_path))[0] == 200
        start, _ = symbol(prog, "outer")
        seconds_until(lambda: names(apis[1], build_id(prog), start))
        fleet.kill(fleet.nodes[1])
        assert started(fleet, fleet.nodes[1]) is None
        assert names(fleet.api(1), build_id(prog), start)
        assert postgres.query("SELECT version FROM unhex_schema", name_of(postgres, index)) == ["9000"]


def test_a_node_whose_version_is_excluded_is_not_ready_and_does_not_start(postgres, index, tmp_path):
    with Fleet(tmp_path, index, 2) as fleet:
        assert fleet.nodes[0].get("/readyz")[0] == 200
        set_schema(postgres, index, "version = 9000, oldest = 9000")
        seconds_until(lambda: fleet.nodes[0].get("/readyz")[0] == 503)
        _, doc = fleet.nodes[0].get("/readyz")
        assert doc["error"]["code"] == "not_ready" and "a newer unhex" in doc["error"]["message"]
        seconds_until(lambda: "event=node outdated=yes" in log_of(fleet.nodes[0]))
        fleet.kill(fleet.nodes[1])
        assert "written by a newer unhex (schema 9000, this one reads up to" in started(fleet, fleet.nodes[1])
        set_schema(postgres, index, f"version = {LAST}, oldest = 0")
        seconds_until(lambda: fleet.nodes[0].get("/readyz")[0] == 200)
        assert started(fleet, fleet.nodes[1]) is None


@pytest.mark.parametrize("steps, oldest", [
    (None, 0),  # a node of before nodes said what they know: the base excludes it
    (BASE - 1, 0),
    (BASE - 1, BASE),
])
def test_a_version_that_excludes_a_running_node_waits_until_it_has_ended(postgres, index, tmp_path, steps, oldest):
    """The node of before the step is a row in the index; it ends when it has not renewed that for a while."""
    with Fleet(tmp_path, index, 2) as fleet:
        name = name_of(postgres, index)
        fleet.kill(fleet.nodes[1])
        postgres.query("INSERT INTO nodes (name, instance, version, started, seen) VALUES ('before', 'x', '0.0.1', 0, "
                       "floor(extract(epoch FROM clock_timestamp())) + 5)", name)
        if steps:
            postgres.query(f"UPDATE nodes SET steps = {steps} WHERE name = 'before'", name)
        assert int(postgres.query("SELECT steps FROM nodes WHERE name = 'before'", name)[0]) < BASE
        set_schema(postgres, index, f"oldest = {oldest}")
        text = started(fleet, fleet.nodes[1])
        assert "stop node before (unhex 0.0.1) first: it cannot read the upgraded index" in text
        seconds_until(lambda: started(fleet, fleet.nodes[1]) is None, 60)


def old_unhex():
    """UNHEX_OLD: the command of an earlier version, of this machine's own build. Without it both are this one."""
    return pathlib.Path(os.environ.get("UNHEX_OLD") or UNHEX)


def replace(fleet, node, command):
    """Ends a node in order, and starts another version in its place; True: it took over at once."""
    assert node.stop() == 0
    node.command = command
    return started(fleet, node) is None


def balances(tmp_path, i):
    """Does the balancer send requests to this node? It does at its next check, after it has met one that refuses."""
    said = [line for line in (tmp_path / "haproxy.log").read_text().splitlines()
            if f"Server nodes/{('one', 'two', 'three')[i]} is " in line]
    return not said or " is UP" in said[-1]


class Load:
    """Uploads and lookups through the balancer until it is ended: what was confirmed, and statuses other than 200."""

    def __init__(self, token, url, gsym, pc):
        self.token, self.url, self.gsym, self.pc = token, url, gsym, pc
        self.over, self.confirmed, self.statuses, self.repeated = threading.Event(), [], [], 0

    def upload(self):
        """A client repeats what had 503 or no answer, as `unhex push` does: a connection that was kept ends with its node."""
        while not self.over.is_set():
            name = os.urandom(20)
            while not self.upload_once("gnu:" + name.hex(), with_uuid(self.gsym, name)):
                if self.over.wait(0.1):
                    return
            self.confirmed.append("gnu:" + name.hex())

    def upload_once(self, one, data):
        """Is it confirmed? No contract is checked, since the balancer has answers of its own, for a node that ended."""
        url = urllib.parse.urlsplit(self.url)
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)

        def request(method, path, body=None):
            connection.request(method, path, body, {"Authorization": f"Bearer {self.token}"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        try:
            status, text = request("POST", "/v1/uploads", json.dumps(
                {"ids": [one], "size": len(data), "kind": "gsym", "sha256": hashlib.sha256(data).hexdigest()}))
            if status == 201:
                doc = json.loads(text)
                status, text = request("PUT", f"/v1/uploads/{doc['uid']}?offset={doc.get('offset', 0)}", data[doc.get("offset", 0):])
                if status == 200:
                    status, text = request("POST", f"/v1/uploads/{doc['uid']}/finish")
        except (OSError, http.client.HTTPException) as error:
            status, text = 502, error
        assert status in (200, 502, 503), (status, text)
        self.repeated += status != 200
        return status == 200

    def read(self):
        while not self.over.is_set():
            for one in self.confirmed[-20:-3]:
                self.statuses.append(status(f"{self.url}/v1/symbolize/{one}?addr={self.pc:#x}", self.token))
            self.over.wait(0.05)


def test_versions_are_exchanged_node_by_node_under_load(postgres, index, prog, tmp_path):
    """Nodes of the old version are replaced one by one, the first of the new ones migrates, and one is taken back."""
    start, _ = symbol(prog, "outer")
    gsym = gsym_of(prog, tmp_path)
    fleet = Fleet(tmp_path, index)
    for node in fleet.nodes:
        node.command = old_unhex()
    with fleet:
        with haproxy(tmp_path, [n.url.split("//")[1] for n in fleet.nodes]) as url, concurrent.futures.ThreadPoolExecutor(4) as clients:
            seconds_until(lambda: status(url + "/readyz") == 200)
            load = Load(fleet.nodes[0].token, url, gsym, start)
            running = [clients.submit(load.upload) for _ in range(2)] + [clients.submit(load.read) for _ in range(2)]
            try:
                for i, node in enumerate(fleet.nodes):
                    n = len(load.confirmed)
                    seconds_until(lambda: len(load.confirmed) > n + 5, 60)
                    assert replace(fleet, node, UNHEX)
                    seconds_until(lambda: balances(tmp_path, i))
                n = len(load.confirmed)
                seconds_until(lambda: len(load.confirmed) > n + 5, 60)
                if old_unhex() == pathlib.Path(UNHEX):
                    assert replace(fleet, fleet.nodes[2], old_unhex())
            finally:
                load.over.set()
            for one in running:
                one.result()
        found = {s: load.statuses.count(s) for s in set(load.statuses)}
        print(f"{len(load.confirmed)} uploads confirmed, {load.repeated} of them repeated, lookups {found}")
        assert set(found) == {200}, found
        for i in range(3):
            assert all(names(fleet.api(i), one, start) for one in load.confirmed)


def test_a_second_process_with_the_name_of_a_node_is_noticed(postgres, index, tmp_path):
    with Fleet(tmp_path, index, 2) as fleet:
        assert fleet.nodes[0].get("/readyz")[1] == {"status": "ready", "uploads": "accepted"}
        fleet.kill(fleet.nodes[1])
        fleet.nodes[1].options = tuple("node0" if o == "node1" else o for o in fleet.nodes[1].options)
        assert started(fleet, fleet.nodes[1]) is None
        seconds_until(lambda: "faults" in fleet.nodes[0].get("/readyz")[1])
        status, doc = fleet.nodes[0].get("/readyz")
        assert (status, doc["status"]) == (200, "ready") and [f["cause"] for f in doc["faults"]] == ["duplicate"]
        seconds_until(lambda: "event=node duplicate=yes" in log_of(fleet.nodes[0]))
        assert fleet.nodes[1].stop() == 0
        seconds_until(lambda: "faults" not in fleet.nodes[0].get("/readyz")[1], 60)
        seconds_until(lambda: "event=node duplicate=no" in log_of(fleet.nodes[0]))
