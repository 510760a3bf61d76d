# SPDX-License-Identifier: Apache-2.0
"""unhex key"""
import datetime
import re

import sqlite3

import pytest

from unhex_server import Server
from tool import fails, lines, unhex


@pytest.fixture(name="data")
def folder_without_keys(tmp_path):
    """The folder of a server that has been started once; its first key is taken out again."""
    server = Server(tmp_path / "data").start()
    assert server.stop() == 0
    (server.data / "admin-key").unlink()
    with sqlite3.connect(server.data / "index.sqlite") as db:
        db.execute("DELETE FROM tokens")
        db.execute("DELETE FROM keys")
    return server.data


def test_keys_are_made_listed_and_revoked(data):
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


def test_scopes_and_days(data):
    (made,) = lines(unhex("key", "create", "--json", "--data", data, "--scopes",
                          "admin", "--days", 2))
    assert made["scopes"] == ["admin"]
    assert made["token"].startswith("ux_")
    assert made["expires"] > made["created"]


def test_scopes_that_do_not_exist(data):
    for scopes in ("read,fly", ""):
        fails(unhex("key", "create", "--data", data, "--scopes", scopes), 2, "--scopes",
              "upload")


def test_a_key_that_is_not_there(data):
    fails(unhex("key", "revoke", "nope", "--data", data), 1, "nope")


def test_a_mistyped_folder_is_refused_and_not_created(tmp_path):
    for words in (["create"], ["list"], ["revoke", "0123456789ab"], ["rotate", "0123456789ab"]):
        fails(unhex("key", *words, "--data", tmp_path / "typo"), 1, tmp_path / "typo",
              "index.sqlite")
    assert not (tmp_path / "typo").exists()
    (tmp_path / "empty").mkdir()
    fails(unhex("key", "create", "--data", tmp_path / "empty"), 1, "index.sqlite")
    assert not list((tmp_path / "empty").iterdir())


def test_the_folder_may_come_from_the_configuration(data, tmp_path):
    config = tmp_path / "serve.conf"
    config.write_text(f"data = {data}\n")
    named = {"UNHEX_CONFIG": str(config), "XDG_DATA_HOME": str(tmp_path / "nothing")}
    assert unhex("key", "create", env=named).returncode == 0
    assert len(lines(unhex("key", "list", "--json", env=named))) == 1
    assert len(lines(unhex("key", "list", "--json", "--config", config))) == 1
    assert lines(unhex("store", "usage", "--json", env=named))[0]["namespace"] == "default"
    # An option is stronger than the file, and a mistake in the file is reported.
    fails(unhex("key", "list", "--data", tmp_path / "typo", env=named), 1, "typo")
    config.write_text("dada = x\n")
    for verb in (("key", "list"), ("store", "usage")):
        fails(unhex(*verb, env=named), 2, "serve.conf:1", "dada")


def test_a_new_namespace_is_reported(data):
    first = unhex("key", "create", "--data", data, "--namespace", "team")
    assert first.returncode == 0 and first.stderr == "unhex: created namespace team\n"
    for more in (["--namespace", "team"], []):
        assert unhex("key", "create", "--data", data, *more).stderr == ""


def test_a_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").touch()
    fails(unhex("key", "list", "--data", tmp_path / "file"), 1, "file")


def test_a_key_is_of_a_namespace_and_has_its_own_limits(data):
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


def test_expiry_is_a_time_or_a_day_to_come(data):
    (made,) = lines(unhex("key", "create", "--json", "--data", data, "--expires", "2999-02-28"))
    assert made["expires"] == "2999-02-28T00:00:00Z"
    for bad in ("tomorrow", "0", "0d", "-1d", "2999-02-30", "2999-13-01", "2999-02-28x", "9d9",
                "99999999999999999999d", "400000d", "d", ""):
        fails(unhex("key", "create", "--data", data, "--expires", bad), 2, "--expires")
    fails(unhex("key", "create", "--data", data, "--expires", "2001-01-01"), 2, "in the past")
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
