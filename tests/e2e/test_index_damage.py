# SPDX-License-Identifier: Apache-2.0
"""Flipped cells of the index, and flipped bits of kept profiles: no answer hides them, and `unhex store check` finds them."""
import re
import sqlite3
import subprocess
import time

import pytest

from http_api import Api, with_uuid
from index_rows import damage, flip_text, row_sum
from test_cli_store import check, put, store, uuid_of
from test_kept_profiles import fetch, keep
from tool import ROOT, build_id, fails, symbol, unhex
from waiting import wait_for

DAMAGED = "the index is damaged: row "


def index_of(server):
    return server.data / "index.sqlite"


def row_damages(server):
    """The metric."""
    status, _, text = fetch(server, "/metrics")
    assert status == 200
    return int(re.search(rb"^unhex_index_damaged_rows_total (\d+)$", text, re.M)[1])


def log_of(server):
    """The lines so far."""
    return server.data.with_suffix(".log").read_text()


def says_damage(server, path, words, token=None):
    """The answer is 500, and its line in the log has the reason; clients do not see the inside of the server."""
    lines_before = log_of(server).count("\n")
    status, _, text = fetch(server, path, token=token)
    assert status == 500, (path, status, text)
    def logged():
        return [line for line in log_of(server).splitlines()[lines_before:] if words in line and "status=500" in line]
    wait_for(logged, seconds=5)


def found_rows(server):
    """What the check says, by table."""
    found, total = check(server)
    assert {f["problem"] for f in found} <= {"index"} and total["repaired"] == 0
    return {re.fullmatch(r"row (.*) of table (\w+) does not fit its checksum", f["reason"]).group(2, 1) for f in found}


def damaged(server, statement, *values):
    """Stops the server, changes cells, and starts it again."""
    assert server.stop() == 0
    damage(index_of(server), statement, *values)
    server.start()
    return Api(server)


def flat(text):
    """Each run of spaces and ends of lines as one space."""
    return re.sub(r"\s+", " ", text)


def columns(text, function):
    """The arguments of each call of row_sum(), by table."""
    return {m[1]: flat(m[2]) for m in re.finditer(function, text)}


def test_the_statements_and_the_triggers_of_both_databases_have_the_same_columns():
    sqlite, postgres = ((ROOT / "store/schema" / name).read_text()
                        for name in ("0024-row-sums.sql", "postgres/0016-row-sums.sql"))
    pattern = r"UPDATE (\w+) SET sum = row_sum\(([a-z_,\s]+)\);"
    tables = columns(sqlite, pattern)
    assert len(tables) == 7 and columns(postgres, pattern) == tables
    for name, arguments in tables.items():
        assert f"AFTER INSERT ON {name} " in flat(sqlite) and f"AFTER UPDATE OF {arguments} ON {name} " in flat(sqlite)
        assert f"BEFORE INSERT OR UPDATE OF {arguments} ON {name} " in flat(postgres)
        new = f"row_sum({', '.join('NEW.' + c for c in arguments.split(', '))})"
        assert flat(sqlite).count(f"UPDATE {name} SET sum = {new} WHERE") == 2 and f"NEW.sum := {new};" in flat(postgres)
    header = (ROOT / "store/index/index_sql.h").read_text()
    macros = re.findall(r"#define UX_SQL_\w+_FITS\(p\)((?:.*\\\n)*.*)", header)
    of_header = {", ".join(re.findall(r'"(?:sum = row_sum\(" p ")?(\w+)[,)]', re.sub(r'"\s*\\?\n\s*"', "", m))) for m in macros}
    assert of_header == set(tables.values())


def test_a_row_keeps_the_sum_that_python_computes(server, gsym):
    """So the helper damages rows and does not make them wrong in another way."""
    (name,) = put(server, gsym, [1])
    assert server.stop() == 0
    with sqlite3.connect(index_of(server)) as db:
        ((module, total),) = db.execute("SELECT module, sum FROM ids WHERE id = ?", (name,))
        assert total == row_sum("default", name, module)
        ((*values, total),) = db.execute("SELECT number, module, blob, kind, state, quality, trust, holds, parent, file_id, sum "
                                         "FROM candidates")
        assert total == row_sum(*values)


@pytest.mark.parametrize("change", ["module = module + 1", "module = 4000", "module = -1"])
def test_an_id_that_leads_to_another_module_is_damaged_and_not_missing(server, gsym, change):
    name, other = put(server, gsym, [1, 2])
    api = damaged(server, f"UPDATE ids SET {change} WHERE id = ?", name)
    before = row_damages(server)
    for path in (f"/v1/modules/{name}", f"/v1/gsym/{name}", f"/buildid/{name.removeprefix('gnu:')}/debuginfo",
                 f"/buildid/{name.removeprefix('gnu:')}/source/a.c", f"/v1/explain/{name}", f"/modules/{name}"):
        says_damage(server, path, f"{DAMAGED}{name} of table ids")
    status, doc, _ = api("GET", f"/v1/symbolize/{name}?addr=1")
    assert doc["status"] == "failed" and f"{DAMAGED}{name} of table ids" in doc["reason"], (status, doc)
    assert row_damages(server) > before
    assert api("GET", f"/v1/symbolize/{other}?addr=1")[0] == 200
    assert found_rows(server) == {("ids", f"default/{name}")}
    text = store(server, "check")
    assert text.returncode == 1 and f"row default/{name} of table ids" in text.stdout


@pytest.mark.parametrize("change", ["kind = 'sources'", "kind = 'gsyn'", "state = 1", "state = 2", "trust = 1", "quality = 0",
                                    "blob = zeroblob(32)", "parent = number"])
def test_a_damaged_candidate_is_no_module_without_symbols(server, gsym, change):
    (name,) = put(server, gsym, [1])
    api = damaged(server, f"UPDATE candidates SET {change}")
    for path in (f"/v1/gsym/{name}", f"/buildid/{name.removeprefix('gnu:')}/debuginfo",
                 f"/buildid/{name.removeprefix('gnu:')}/section/.text"):
        says_damage(server, path, f"{DAMAGED}1 of table candidates")
    status, answer, _ = api("GET", f"/v1/symbolize/{name}?addr=1")
    assert status == 200 and answer["status"] == "failed" and f"{DAMAGED}1 of table candidates" in answer["reason"]
    assert found_rows(server) == {("candidates", "1")}
    # A write to the row does not hide the damage, and the same bytes replace the row, unless its hash is the damaged cell.
    if "blob" not in change:
        assert api.upload([name], with_uuid(gsym, uuid_of(1)))[0] == 200
        assert api("GET", f"/v1/symbolize/{name}?addr=1")[0] == 200
        assert found_rows(server) == set()


def test_the_next_candidate_answers_for_a_damaged_one(server, gsym, prog):
    """The log says why the answer is poorer, and the counter counts."""
    poor = prog.with_suffix(".poor.gsym")
    assert unhex("extract", prog, "-o", poor, "--no-dwarf").returncode == 0
    (name,), start = put(server, gsym, [1]), symbol(prog, "outer")[0]
    assert Api(server).upload([name], with_uuid(poor.read_bytes(), uuid_of(1)), force=True)[0] == 200
    api = damaged(server, "UPDATE candidates SET holds = 7 WHERE number = 1")
    status, doc, _ = api("GET", f"/v1/symbolize/{name}?addr={start}")
    assert status == 200 and doc["quality"] == "symtab" and doc["frames"] == [[{"function": "outer"}]]
    assert row_damages(server) > 0
    assert any(name in line and f"{DAMAGED}1 of table candidates" in line for line in log_of(server).splitlines()
               if line.split()[2:3] != ["request"])
    assert found_rows(server) == {("candidates", "1")}


@pytest.mark.parametrize("statement", ["UPDATE tokens SET hash = zeroblob(32) WHERE id = ?",
                                       "UPDATE tokens SET key = 'gone' WHERE id = ?",
                                       "UPDATE tokens SET expires = 1 WHERE id = ?",
                                       "UPDATE keys SET scopes = scopes | 1024 WHERE id = ?",
                                       "UPDATE keys SET ns = 'other' WHERE id = ?",
                                       "UPDATE keys SET revoked = 1 WHERE id = ?"])
def test_a_damaged_key_is_neither_unknown_nor_believed(server, gsym, statement):
    put(server, gsym, [1])
    token = unhex("key", "create", "--data", server.data, "--scopes", "read,symbolize").stdout.strip()
    with sqlite3.connect(index_of(server)) as db:
        ((key,),) = db.execute("SELECT id FROM keys WHERE scopes <> (SELECT max(scopes) FROM keys)")
    damaged(server, statement, key)
    table = statement.split()[1]
    says_damage(server, "/v1/modules", f"{DAMAGED}{key} of table {table}", token)
    assert fetch(server, "/v1/modules")[0] == 200  # another key
    assert found_rows(server) == {(table, key)}


def test_a_damaged_namespace_is_closed_until_someone_says_who_may_read_it(server, gsym):
    put(server, gsym, [1])
    assert store(server, "limit", "default", "--reading", "keyed").returncode == 0
    api = damaged(server, "UPDATE namespaces SET reading = 1 WHERE name = 'default'")
    assert server.get("/v1/modules")[0] == 500
    wait_for(lambda: f"{DAMAGED}default of table namespaces" in log_of(server))
    assert found_rows(server) == {("namespaces", "default")}
    fails(store(server, "limit", "default", "--modules", "7"), 1, "--reading")
    assert store(server, "limit", "default", "--reading", "keyed").returncode == 0
    assert found_rows(server) == set()
    wait_for(lambda: server.get("/v1/modules")[0] == 401)
    assert api("GET", "/v1/modules")[0] == 200


def test_a_damaged_source_row_gives_no_other_bytes(server, tmp_path):
    code = tmp_path / "code.c"
    code.write_text("int main(void) { return 3; }\n")
    program = tmp_path / "prog"
    subprocess.run(["gcc", "-g", "-Wl,--build-id", "-o", program, code], check=True)
    assert server.unhex("push", "--sources", "--with-debuginfo", program).returncode == 0
    path = f"/buildid/{build_id(program).removeprefix('gnu:')}/source{code}"
    wait_for(lambda: fetch(server, path)[0] == 200)
    damaged(server, "UPDATE sources SET off = off + 1, size = size - 1 WHERE path = ?", str(code))
    says_damage(server, path, f"{DAMAGED}{str(code)[:70]} of table sources")
    ((table, key),) = found_rows(server)
    assert table == "sources" and key.endswith(str(code))


@pytest.mark.parametrize("what", ["id", "token"])
def test_a_flipped_bit_in_the_key_of_a_row_is_found_by_the_check(server, gsym, what):
    """No request can find such a row, so the answer is 404 or 401: docs/store.md says so."""
    (name,) = put(server, gsym, [1])
    token = unhex("key", "create", "--data", server.data, "--scopes", "read").stdout.strip()
    assert server.stop() == 0
    with sqlite3.connect(index_of(server)) as db:
        ((key,),) = db.execute("SELECT id FROM keys WHERE scopes <> (SELECT max(scopes) FROM keys)")
    assert flip_text(index_of(server), name if what == "id" else key) > 0
    server.start()
    if what == "id":
        assert Api(server)("GET", f"/v1/symbolize/{name}?addr=1")[0] == 404
    else:
        assert fetch(server, "/v1/modules", token=token)[0] in (401, 500)
    result = store(server, "check")
    assert result.returncode == 1 and "index" in result.stdout


def flip_blob(server, size):
    """Flips a bit of the only blob of that size, as a disk does."""
    (path,) = (p for p in (server.data / "blobs").rglob("*") if p.is_file() and p.stat().st_size == size)
    path.chmod(0o600)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 16
    path.write_bytes(data)


def test_a_flipped_bit_of_a_kept_profile_is_said_and_left_out_of_sums(server):
    assert server.stop() == 0
    server.options = (*server.options, "--keep-profiles", "7d")
    server.start()
    now = int(time.time())
    one = keep(server, b"main;work 5\nmain;longer;idle 3\n", service="flip", time=now - 120)
    two = keep(server, b"main;work 7\n", service="flip", time=now - 60)
    alone = keep(server, b"main;other_work;in_one_service 7\n", service="alone", time=now - 60)
    assert server.stop() == 0  # no process has compared the bytes yet
    flip_blob(server, one["bytes"])
    flip_blob(server, alone["bytes"])
    server.start()
    for number in (one["id"], alone["id"]):
        for path in (f"/v1/profiles/merged?id={number}", f"/v1/profiles/merged?id={number}&format=folded",
                     f"/p/{number}/pprof/profile"):
            says_damage(server, path, f"profile {number}: the blob is damaged")
    status, headers, text = fetch(server, "/v1/profiles/merged?service=flip&format=folded")
    assert (status, text, headers["X-Unhex-Unreadable-Profiles"]) == (200, b"main;work 7\n", "1")
    status, headers, text = fetch(server, f"/v1/profiles/merged?id={two['id']}&format=folded")
    assert (status, text, headers["X-Unhex-Unreadable-Profiles"]) == (200, b"main;work 7\n", None)
    for path in ("/v1/profiles/merged?service=alone&format=folded", "/profiles/alone"):
        says_damage(server, path, f"profile {alone['id']}: the blob is damaged")
    status, _, text = fetch(server, "/profiles/flip", accept="text/html")
    assert status == 200 and b"1 cannot be read" in text
    found, _ = check(server)
    assert [f["problem"] for f in found] == ["damaged", "damaged"]


@pytest.mark.parametrize("change", ["started = started - 100", "size = size + 1", "service = 'flap'"])
def test_a_damaged_row_of_a_kept_profile_is_said_and_left_out_of_sums(server, change):
    assert server.stop() == 0
    server.options = (*server.options, "--keep-profiles", "7d")
    server.start()
    now = int(time.time())
    one = keep(server, b"main;work 5\n", service="row", time=now - 120)
    keep(server, b"main;work 7\n", service="row", time=now - 60)
    damaged(server, f"UPDATE profiles SET {change} WHERE number = ?", int(one["id"]))
    for path in (f"/v1/profiles/{one['id']}", f"/v1/profiles/merged?id={one['id']}", f"/p/{one['id']}/pprof/profile"):
        says_damage(server, path, f"{DAMAGED}{one['id']} of table profiles")
    status, headers, text = fetch(server, "/v1/profiles/merged?service=row&format=folded")
    assert (status, text) == (200, b"main;work 7\n")
    assert headers["X-Unhex-Unreadable-Profiles"] == (None if "service" in change else "1")
    assert found_rows(server) == {("profiles", str(one["id"]))}
