# SPDX-License-Identifier: Apache-2.0
"""unhex store: the folder of a server looked after by hand, also after kill -9"""
import contextlib
import hashlib
import os
import random
import signal
import sqlite3
import subprocess

from http_api import Api, with_uuid
from tool import UNHEX, build_id, fails, lines, symbol, unhex
from waiting import pause_for, wait_for

DAY = 24 * 60 * 60


def uuid_of(n):
    return hashlib.sha1(str(n).encode()).digest()


def put(server, gsym, numbers):
    """Modules with one GSYM each; their IDs."""
    api, ids = Api(server), []
    for n in numbers:
        ids.append(f"gnu:{uuid_of(n).hex()}")
        assert api.upload([ids[-1]], with_uuid(gsym, uuid_of(n)))[0] == 200
    return ids


def blob_of(data, gsym, n):
    name = hashlib.sha256(with_uuid(gsym, uuid_of(n))).hexdigest()
    return data / "blobs" / name[:2] / name[2:4] / name


def store(server, *words):
    return unhex("store", *words, "--data", server.data)


def check(server, *words):
    """Findings and the sum."""
    result = unhex("store", "check", "--json", *words, "--data", server.data)
    *found, total = lines(result)
    assert result.returncode == (1 if total["problems"] > total["repaired"] else 0)
    return found, total


def test_damage_is_found_reported_and_repaired(server, gsym):
    ids = put(server, gsym, range(4))
    found, total = check(server)  # while the server runs
    assert found == [] and total["blobs"] == 4 and total["bytes"] == 4 * len(gsym)
    blob_of(server.data, gsym, 0).unlink()
    blob_of(server.data, gsym, 1).chmod(0o600)  # only root may write without it
    os.truncate(blob_of(server.data, gsym, 1), 100)
    flipped = blob_of(server.data, gsym, 2)
    flipped.chmod(0o600)
    bytes_ = bytearray(flipped.read_bytes())
    bytes_[-3] ^= 4
    flipped.write_bytes(bytes_)
    found, total = check(server)
    assert {(f["problem"], f["id"]) for f in found} == \
        {("missing", ids[0]), ("size", ids[1]), ("damaged", ids[2])}
    assert total["problems"] == 3 and total["repaired"] == 0
    text = store(server, "check")
    assert text.returncode == 1 and "damaged" in text.stdout and ids[2] in text.stdout
    fails(store(server, "check", "--repair"), 1, "another server")
    server.stop()
    found, total = check(server, "--repair")
    assert total["problems"] == total["repaired"] == 3 and all(f["repaired"] for f in found)
    found, total = check(server)
    assert found == [] and total["blobs"] == 1
    server.start()
    api = Api(server)
    status, doc, _ = api("POST", "/v1/query", {"ids": ids})
    assert [a["status"] for a in doc["answers"]] == ["wanted"] * 3 + ["already-there"]
    put(server, gsym, range(3))
    assert check(server)[1]["blobs"] == 4


def set_back(data, seconds):
    """As if nothing had been used for so long: the store's clock only ever goes forward slowly."""
    db = sqlite3.connect(data / "index.sqlite")
    db.execute("UPDATE modules SET last_used = last_used - ?, marked = max(0, marked - ?)",
               (seconds, seconds))
    db.commit()
    db.close()


def last_uses(data):
    """What the index knows, by ID."""
    db = sqlite3.connect(data / "index.sqlite")
    uses = dict(db.execute("SELECT id, last_used FROM ids JOIN modules ON module = number"))
    db.close()
    return uses


def test_unused_modules_are_removed_as_the_dry_run_announced(server, gsym):
    ids = put(server, gsym, range(3))
    assert store(server, "pin", ids[1], "release 1").returncode == 0
    server.stop()
    set_back(server.data, 40 * DAY)
    server.start()
    assert server.get(f"/v1/symbolize/{ids[2]}?addr=1")[0] == 200  # a use, not written yet
    # Written at once, since the index believed it to be long ago.
    wait_for(lambda: last_uses(server.data)[ids[2]] > max(last_uses(server.data)[i] + DAY
                                                          for i in ids[:2]))
    dry = lines(unhex("store", "sweep", "--dry-run", "--json", "--keep-days", 30, "--data",
                      server.data))
    assert [(d["what"], d["id"]) for d in dry[:-1]] == [("marked", ids[0])]
    assert dry[-1]["dry_run"]
    fails(store(server, "sweep", "--keep-days", "30"), 1, "another server")
    server.stop()
    assert "marked" in store(server, "sweep", "--keep-days", "30").stdout
    set_back(server.data, 6 * DAY)
    assert lines(store(server, "sweep", "--keep-days", "30", "--json"))[-1]["swept"] == 0
    set_back(server.data, 2 * DAY)
    assert lines(store(server, "sweep", "--keep-days", "30", "--json"))[-1]["swept"] == 1
    server.start()
    _, doc = server.get("/v1/modules")
    assert [m["id"] for m in doc["modules"]] == ids[1:]
    assert [m["pinned"] for m in doc["modules"]] == [True, False]
    assert store(server, "unpin", ids[1], "release 1").returncode == 0
    fails(store(server, "unpin", ids[1], "release 1"), 1, "release 1")
    fails(store(server, "pin", "gnu:0123", "x"), 1, "gnu:0123")
    fails(store(server, "pin", "nonsense", "x"), 2, "nonsense")


def test_a_marked_module_that_is_used_stays_even_when_the_server_is_killed(server, gsym):
    (name,) = put(server, gsym, [1])
    server.stop()
    set_back(server.data, 40 * DAY)
    assert lines(store(server, "sweep", "--keep-days", "30", "--json"))[-1]["marked"] == 1
    server.start()
    assert server.get(f"/v1/symbolize/{name}?addr=1")[0] == 200
    server.stop(signal.SIGKILL)
    set_back(server.data, 20 * DAY)
    done = lines(store(server, "sweep", "--keep-days", "30", "--json"))[-1]
    assert done["swept"] == done["marked"] == done["idle"] == 0
    assert check(server)[1]["blobs"] == 1


def test_usage_is_reported_for_each_namespace(server, gsym):
    put(server, gsym, range(2))
    (default,) = lines(unhex("store", "usage", "--json", "--data", server.data))
    assert default["namespace"] == "default" and default["modules"] == 2
    assert default["bytes"] == 2 * len(gsym) and default["cache_bytes"] == 0
    assert "2 modules" in store(server, "usage").stdout


def test_counts_that_are_wrong_are_found_and_put_right(server, gsym):
    put(server, gsym, range(2))
    server.stop()
    with contextlib.closing(sqlite3.connect(server.data / "index.sqlite")) as db, db:
        db.execute("UPDATE usage SET modules = modules + 3, bytes = bytes - 1")
        db.execute("INSERT INTO usage VALUES ('gone', 0, 5, 0)")
    found, _ = check(server)
    assert [f["problem"] for f in found] == ["usage", "usage"]
    assert "off by 3 modules, -1 bytes" in found[0]["reason"] and "gone" in found[1]["reason"]
    assert unhex("store", "check", "--repair", "--data", server.data).returncode == 0
    assert check(server)[0] == []
    (default,) = lines(unhex("store", "usage", "--json", "--data", server.data))
    assert default["modules"] == 2 and default["bytes"] == 2 * len(gsym)


def test_a_namespace_is_opened_and_closed_to_those_without_a_key(server, gsym):
    put(server, gsym, [1])
    def reading(word):
        assert store(server, "limit", "default", "--reading", word).returncode == 0
    def status():
        return server.get("/v1/modules")[0]
    assert status() == 200
    reading("keyed")
    wait_for(lambda: status() == 401)
    (default,) = lines(unhex("store", "usage", "--json", "--data", server.data))
    assert default["reading"] == "keyed"
    assert store(server, "limit", "default", "--quota", "1G").returncode == 0  # that stays
    (default,) = lines(unhex("store", "usage", "--json", "--data", server.data))
    assert default["reading"] == "keyed" and default["quota_bytes"] == 1 << 30
    assert "keyed" in store(server, "usage").stdout
    reading("open")
    wait_for(lambda: status() == 200)
    fails(store(server, "limit", "default", "--reading", "ajar"), 2, "ajar")


def test_a_namespace_over_its_limits_takes_no_more(server, gsym):
    assert store(server, "limit", "default", "--modules", "2", "--quota", "1M").returncode == 0
    put(server, gsym, range(2))
    api = Api(server)
    name = f"gnu:{uuid_of(9).hex()}"
    status, doc, _ = api.upload([name], with_uuid(gsym, uuid_of(9)))
    assert status == 413 and "2 of 2 modules" in doc["error"]["message"]
    assert store(server, "limit", "default", "--modules", "any", "--quota",
                 str(2 * len(gsym))).returncode == 0
    message = api.refused(413, "over_quota", "POST", "/v1/uploads",
                          {"ids": [name], "size": len(gsym), "sha256": "00" * 32})
    assert "bytes" in message
    assert store(server, "limit", "default", "--quota", "any", "--modules", "any").returncode == 0
    put(server, gsym, [9])
    found, total = check(server)
    assert found == [] and total["blobs"] == 3 and total["garbage"] == 0
    fails(store(server, "limit", "Not A Name", "--create"), 2, "Not A Name")


def limits(server, name="default"):
    (row,) = (u for u in lines(store(server, "usage", "--json")) if u["namespace"] == name)
    return {k: row.get(k) for k in ("reading", "quota_bytes", "quota_modules", "keep_days")}


def test_limits_that_are_not_named_stay(server):
    assert limits(server) == {"reading": "served", "quota_bytes": 0, "quota_modules": 0,
                              "keep_days": None}
    assert "kept" not in store(server, "usage").stdout
    want = {"reading": "served", "quota_bytes": 1 << 30, "quota_modules": 7, "keep_days": 90}
    assert store(server, "limit", "default", "--quota", "1G", "--modules", "7", "--keep-days",
                 "90").returncode == 0
    assert limits(server) == want
    assert "kept 90 days after the last use" in store(server, "usage").stdout
    for option, value, key, then in (("--reading", "keyed", "reading", "keyed"),
                                     ("--upstreams", "none", "reading", "keyed"),
                                     ("--quota", "any", "quota_bytes", 0),
                                     ("--keep-days", "never", "keep_days", 0),
                                     ("--modules", "any", "quota_modules", 0),
                                     ("--keep-days", "served", "keep_days", None)):
        assert store(server, "limit", "default", option, value).returncode == 0
        want[key] = then
        assert limits(server) == want, option
    for option, bad in (("--quota", "much"), ("--quota", "0"), ("--modules", "0"),
                        ("--modules", "x"), ("--keep-days", "0"), ("--keep-days", "36501"),
                        ("--keep-days", "soon")):
        fails(store(server, "limit", "default", option, bad), 2, option, bad)
    fails(store(server, "limit", "default"), 2, "limit needs")
    assert limits(server) == want


def test_a_misspelt_namespace_is_refused(server):
    fails(store(server, "limit", "defualt", "--quota", "1G"), 1, "defualt", "--create")
    assert [u["namespace"] for u in lines(store(server, "usage", "--json"))] == ["default"]
    assert store(server, "limit", "team", "--quota", "1G", "--create").returncode == 0
    assert limits(server, "team") == {"reading": "served", "quota_bytes": 1 << 30,
                                      "quota_modules": 0, "keep_days": None}


def test_a_sweep_by_hand_keeps_what_the_configuration_says(server, gsym, tmp_path):
    put(server, gsym, [1])
    server.stop()
    set_back(server.data, 40 * DAY)
    config = tmp_path / "serve.conf"
    config.write_text("keep-days = 30\n")
    assert lines(store(server, "sweep", "--dry-run", "--json"))[-1]["marked"] == 0
    assert lines(store(server, "sweep", "--dry-run", "--json", "--config", config))[-1]["marked"] == 1
    assert lines(store(server, "sweep", "--dry-run", "--json", "--config", config, "--keep-days",
                       "never"))[-1]["marked"] == 0


def test_the_last_use_of_a_key_is_stored(server, gsym):
    put(server, gsym, [1])
    server.stop()
    db = sqlite3.connect(server.data / "index.sqlite")
    ((used, created),) = db.execute("SELECT last_used, created FROM keys")
    db.close()
    # The clocks that both are read from differ by a tick, which may be the end of a second.
    assert created - 1 <= used <= created + 600


def test_a_server_keeps_modules_as_long_as_configured(server, gsym):
    ids = put(server, gsym, range(2))
    server.stop()
    set_back(server.data, 40 * DAY)
    server.options = ("--keep-days", "30")
    server.start()
    log = server.data.with_suffix(".log")
    wait_for(lambda: log.read_bytes().count(b"what=marked") == 2)
    assert server.get(f"/v1/symbolize/{ids[0]}?addr=1")[0] == 200
    server.stop()
    set_back(server.data, 8 * DAY)
    server.start()
    wait_for(lambda: b"what=swept" in log.read_bytes())
    assert server.get(f"/v1/symbolize/{ids[0]}?addr=1")[0] == 200
    assert server.get(f"/v1/symbolize/{ids[1]}?addr=1")[0] == 404


def test_a_folder_without_a_store_is_refused_and_not_created(tmp_path):
    for verb in ("check", "sweep", "usage"):
        fails(unhex("store", verb, "--data", tmp_path / "typo"), 1, "index.sqlite")
    assert not (tmp_path / "typo").exists()


def test_extraction_goes_on_after_a_kill(server, prog):
    rng = random.Random(11)
    name, start = build_id(prog), symbol(prog, "outer")[0]
    target = f"/v1/symbolize/{name}?addr={start}"
    address = server.url.removeprefix("http://")
    for _ in range(8):
        api = Api(server)
        status, doc, _ = api.upload([name], prog.read_bytes(), kind="executable")
        assert status in (200, 202) and doc["status"] in ("pending", "uploaded"), doc
        pause_for(rng.uniform(0, 0.05), "a kill at any moment")
        server.stop(signal.SIGKILL)
        server.start(address)
        doc = wait_for(lambda: (d := server.get(target)[1])["status"] != "pending" and d, 120)
        assert doc["status"] == "found" and doc["frames"][0][-1]["function"] == "outer"
        found, total = check(server)
        assert found == [] and total["blobs"] == 2
        assert Api(server)("DELETE", f"/v1/modules/{name}")[0] == 204


def killed_at_some_point(rng, *words):
    process = subprocess.Popen([UNHEX, "store", *map(str, words)], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    pause_for(rng.uniform(0.002, 0.04), "a kill at any moment")
    process.kill()
    process.wait()


def test_repair_and_sweep_that_are_killed_leave_a_store_that_is_right(server, gsym):
    rng = random.Random(7)
    total = 120
    put(server, gsym, range(total))
    server.stop()
    damaged = rng.sample(range(total), 40)
    for n in damaged:
        blob_of(server.data, gsym, n).unlink()
    for _ in range(15):
        killed_at_some_point(rng, "check", "--repair", "--data", server.data)
        found, _ = check(server)
        assert {f["problem"] for f in found} <= {"missing"} and len(found) <= len(damaged)
    found, sums = check(server, "--repair")
    assert sums["problems"] == sums["repaired"]
    assert check(server)[1]["blobs"] == total - len(damaged)
    assert check(server)[0] == []
    set_back(server.data, 40 * DAY)
    for n in range(15):
        killed_at_some_point(rng, "sweep", "--keep-days", 30, "--data", server.data)
        found, _ = check(server)
        assert found == []
        set_back(server.data, 3 * DAY)
    store(server, "sweep", "--keep-days", "30")
    set_back(server.data, 8 * DAY)
    store(server, "sweep", "--keep-days", "30")
    found, sums = check(server)
    assert found == [] and sums["blobs"] == 0
    server.start()
    assert server.get("/v1/modules")[1]["modules"] == []
