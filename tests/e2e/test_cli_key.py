# SPDX-License-Identifier: Apache-2.0
"""unhex key"""
import re

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
