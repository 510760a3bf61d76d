# SPDX-License-Identifier: Apache-2.0
"""The admin key of the first start: a terminal gets the key itself, a log gets the path of a file."""
import os
import pty
import re
import signal
import sqlite3
import stat
import subprocess

import pytest

from unhex_server import Server
from tool import UNHEX, fails, unhex

TOKEN = r"ux_[a-z2-7]{52}"


def output_until_served(read):
    """What the server printed until it says that it serves."""
    text = ""
    while "serving on" not in text:
        piece = read()
        assert piece, text
        text += piece
    return text


def served_to_a_pipe(data, umask=0o022):
    """Output of a server that is then stopped, as under systemd, Docker or a script."""
    with subprocess.Popen([UNHEX, "serve", "--listen", "127.0.0.1:0", "--data", data],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, umask=umask) as process:
        try:
            text = output_until_served(process.stdout.readline)
        finally:
            process.terminate()
        return text + process.stdout.read()


def test_a_log_never_has_the_key(tmp_path):
    data = tmp_path / "data"
    text = served_to_a_pipe(data, umask=0)
    assert not re.search(TOKEN, text)
    assert f"unhex: the admin key is in {data}/admin-key\n" in text
    assert stat.S_IMODE((data / "admin-key").stat().st_mode) == 0o600
    assert re.fullmatch(TOKEN + "\n", (data / "admin-key").read_text())
    assert "admin" not in served_to_a_pipe(data)  # only the first start makes one


def test_the_file_is_one_for_token_file(tmp_path):
    server = Server(tmp_path / "data").start()
    try:
        status, doc = server.get("/v1/whoami", (server.data / "admin-key").read_text().strip())
        assert status == 200 and "server" in doc["scopes"]
    finally:
        server.stop()


def test_a_terminal_gets_the_key_and_no_file_is_left(tmp_path):
    main, other = pty.openpty()
    with subprocess.Popen([UNHEX, "serve", "--listen", "127.0.0.1:0", "--data", tmp_path / "data"],
                          stdin=other, stdout=other, stderr=subprocess.DEVNULL) as process:
        os.close(other)
        try:
            text = output_until_served(lambda: os.read(main, 4096).decode())
        finally:
            process.terminate()
    os.close(main)
    assert re.search(f"admin key {TOKEN} \\(keep it: it is not shown again\\)", text)
    assert not (tmp_path / "data/admin-key").exists()


def test_a_kill_between_the_file_and_the_index_leaves_a_key_that_works(tmp_path):
    server = Server(tmp_path / "data").start()
    old = server.token
    server.stop(signal.SIGKILL)
    with sqlite3.connect(server.data / "index.sqlite") as db:  # as if the row had not been written
        db.execute("DELETE FROM tokens")
        db.execute("DELETE FROM keys")
    server.start()
    try:
        assert server.token != old
        assert server.get("/v1/whoami", server.token)[0] == 200
        assert server.get("/v1/whoami", old)[0] == 401
    finally:
        server.stop()


def test_a_link_in_place_of_the_file_is_not_followed(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (tmp_path / "victim").write_text("as it was")
    (data / "admin-key").symlink_to(tmp_path / "victim")
    served_to_a_pipe(data)
    assert (tmp_path / "victim").read_text() == "as it was"
    assert not (data / "admin-key").is_symlink()


# the key of a system that makes secrets itself

GIVEN = "ux_" + "abcdefgh234567" * 3 + "klmnopqrst"


def given(tmp_path, text, mode=0o640):
    path = tmp_path / "given"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_the_first_start_takes_the_key_that_is_given(tmp_path):
    path = given(tmp_path, f"{GIVEN}\n")
    server = Server(tmp_path / "data", options=("--set", f"admin-key={path}")).start()
    assert not (server.data / "admin-key").exists()
    assert server.get("/v1/whoami", GIVEN)[1]["scopes"][-3:] == ["server", "crawl", "agent"]
    assert server.stop() == 0
    path.unlink()  # not read again
    server.start()
    assert server.get("/v1/whoami", GIVEN)[0] == 200
    assert server.stop() == 0
    assert not any(GIVEN.encode() in p.read_bytes() for p in server.data.rglob("*") if p.is_file())


@pytest.mark.parametrize("text,mode,words", [
    ("", 0o600, "not a token"), ("secret\n", 0o600, "not a token"), (GIVEN[:-1], 0o600, "not a token"),
    (GIVEN + "a", 0o600, "not a token"), (GIVEN[:-1] + "1", 0o600, "52 characters of a-z and 2-7"),
    (GIVEN, 0o644, "others may read it")])
def test_what_is_not_a_token_ends_the_start(tmp_path, text, mode, words):
    path = given(tmp_path, text, mode)
    command = ("serve", "--listen", "127.0.0.1:0", "--data", tmp_path / "data", "--set", f"admin-key={path}")
    fails(unhex(*command), 2, "admin-key", path, words)
    path.unlink()
    fails(unhex(*command), 1, "admin-key", path, "No such file")
