# SPDX-License-Identifier: Apache-2.0
"""unhex key"""
import datetime
import re

from conftest import Server
from tool import fails, lines, unhex


def test_keys_are_made_listed_and_revoked(tmp_path):
    data = tmp_path / "data"
    made = unhex("key", "create", "--data", data, "--description", "the build farm")
    assert made.returncode == 0
    token = made.stdout.strip()
    assert re.fullmatch(r"ux_[a-z2-7]{52}", token)
    (key,) = lines(unhex("key", "list", "--json", "--data", data))
    assert key["scopes"] == ["read", "symbolize", "upload"]
    assert key["description"] == "the build farm"
    assert "token" not in key and "revoked" not in key
    assert token not in unhex("key", "list", "--data", data).stdout
    assert unhex("key", "revoke", key["id"], "--data", data).returncode == 0
    (key,) = lines(unhex("key", "list", "--json", "--data", data))
    assert key["revoked"]
    assert not any(token.encode() in p.read_bytes() for p in data.rglob("*") if p.is_file())


def test_scopes_and_days(tmp_path):
    (made,) = lines(unhex("key", "create", "--json", "--data", tmp_path / "d", "--scopes",
                          "admin", "--days", 2))
    assert made["scopes"] == ["admin"]
    assert made["token"].startswith("ux_")
    assert made["expires"] > made["created"]


def test_scopes_that_are_none(tmp_path):
    for scopes in ("read,fly", ""):
        fails(unhex("key", "create", "--data", tmp_path / "d", "--scopes", scopes), 2, "--scopes",
              "upload")


def test_a_key_that_is_not_there(tmp_path):
    fails(unhex("key", "revoke", "nope", "--data", tmp_path / "d"), 1, "nope")


def test_a_mistyped_folder_is_told_and_not_made(tmp_path):
    for words in (["list"], ["revoke", "0123456789ab"]):
        fails(unhex("key", *words, "--data", tmp_path / "typo"), 1, tmp_path / "typo",
              "index.sqlite")
    assert not (tmp_path / "typo").exists()


def test_a_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").touch()
    fails(unhex("key", "list", "--data", tmp_path / "file"), 1, "file")


def test_a_key_is_of_a_namespace_and_has_its_own_limits(tmp_path):
    data = tmp_path / "d"
    (made,) = lines(unhex("key", "create", "--json", "--data", data, "--namespace", "team",
                          "--rate", 7, "--uploads", 3, "--expires", "12h"))
    assert (made["namespace"], made["rate"], made["uploads"]) == ("team", 7, 3)
    start, end = (datetime.datetime.fromisoformat(made[k][:-1]) for k in ("created", "expires"))
    assert end - start == datetime.timedelta(hours=12)
    assert unhex("key", "create", "--data", data).returncode == 0
    assert len(lines(unhex("key", "list", "--json", "--data", data))) == 2
    (listed,) = lines(unhex("key", "list", "--json", "--data", data, "--namespace", "team"))
    assert listed["id"] == made["id"] and "token" not in listed
    assert "team" in unhex("key", "list", "--data", data).stdout
    fails(unhex("key", "create", "--data", data, "--namespace", "Not a name"), 2, "Not a name")


def test_expiry_is_a_time_or_a_day_to_come(tmp_path):
    data = tmp_path / "d"
    (made,) = lines(unhex("key", "create", "--json", "--data", data, "--expires", "2999-02-28"))
    assert made["expires"] == "2999-02-28T00:00:00Z"
    for bad in ("tomorrow", "0", "0d", "-1d", "2999-02-30", "2999-13-01", "2999-02-28x", "9d9",
                "99999999999999999999d", "400000d", "d", ""):
        fails(unhex("key", "create", "--data", data, "--expires", bad), 2, "--expires")
    fails(unhex("key", "create", "--data", data, "--expires", "2001-01-01"), 2, "over")
    fails(unhex("key", "create", "--data", data, "--expires", "1d", "--days", 1), 2, "--days")


def test_a_key_is_rotated_with_time_to_change(tmp_path):
    server = Server(tmp_path / "data").start()
    try:
        (key,) = lines(unhex("key", "list", "--json", "--data", server.data))
        def rotate(*more):
            return unhex("key", "rotate", key["id"], "--data", server.data, *more)
        second = rotate().stdout.strip()
        assert re.fullmatch(r"ux_[a-z2-7]{52}", second) and second != server.token
        for token in (server.token, second):
            status, doc = server.get("/v1/whoami", token)
            assert status == 200 and doc["key"] == key["id"]
        (third,) = lines(rotate("--overlap", "0", "--json"))
        assert third["id"] == key["id"] and third["tokens"] >= 2
        assert server.get("/v1/whoami", third["token"])[0] == 200
        for token in (server.token, second):
            status, doc = server.get("/v1/whoami", token)
            assert status == 401 and "replaced" in doc["error"]["message"]
            assert token not in doc["error"]["message"]
        assert unhex("key", "revoke", key["id"], "--data", server.data).returncode == 0
        assert "revoked" in server.get("/v1/whoami", third["token"])[1]["error"]["message"]
        fails(rotate(), 1, key["id"], "revoked")
    finally:
        server.stop()
    fails(unhex("key", "rotate", "nope", "--data", server.data), 1, "nope")
    fails(unhex("key", "rotate", "nope", "--data", server.data, "--overlap", "x"), 2, "--overlap")
    fails(unhex("key", "rotate", "--data", server.data), 2, "ID")
