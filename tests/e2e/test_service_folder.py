# SPDX-License-Identifier: Apache-2.0
"""Root beside a server that runs as a service: it finds the service's folder, and leaves nothing that the server cannot open"""
import os
import pathlib
import shutil
import tempfile

import pytest

from unhex_server import Server
from http_api import Api
from test_backup import name_of, put
from tool import UNHEX, fails, lines
from tool import unhex as command

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")

USER, GROUP = 41234, 41235  # of no name


@pytest.fixture(name="root")
def folder_of_a_system(monkeypatch):
    """What stands for / of the service: other users may pass through it, as they may not through pytest's folders."""
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    with tempfile.TemporaryDirectory(prefix="unhex-root.") as name:
        root = pathlib.Path(name)
        root.chmod(0o755)
        (root / "var/lib/unhex").mkdir(parents=True)
        os.chown(root / "var/lib/unhex", USER, GROUP)
        (root / "var/lib/unhex").chmod(0o700)
        shutil.copy(UNHEX, root / "unhex")
        monkeypatch.setenv("HOME", f"{name}/root")
        yield root


def unhex(root, *args, env=None):
    """The command, by root."""
    return command(*args, env={"UNHEX_SERVICE_ROOT": str(root), **(env or {})})


def service(root, data=None):
    """The server, as its user."""
    return Server(data or root / "var/lib/unhex", command=root / "unhex",
                  around=("setpriv", "--reuid", str(USER), "--regid", str(GROUP), "--clear-groups")).start()


def owners(folder):
    return {(p.lstat().st_uid, p.lstat().st_gid) for p in [folder, *folder.rglob("*")]}


def found(result, folder):
    assert result.returncode == 0, result.stderr
    assert f"using the service's folder {folder}; choose another with --data" in result.stderr
    return result.stdout


def works(server, gsym, n):
    """A module is uploaded and read again."""
    assert Api(server)("GET", f"/v1/modules/{put(Api(server), gsym, n)}")[0] == 200


def test_keys_of_a_server_that_runs_and_of_one_that_does_not(root, gsym):
    data = root / "var/lib/unhex"
    server = service(root)
    server.token = found(unhex(root, "key", "create"), data).strip()
    works(server, gsym, 1)
    assert owners(data) == {(USER, GROUP)}
    assert server.stop() == 0
    token = found(unhex(root, "key", "create", "--description", "while it is down"), data).strip()
    for leftover in ("reserve", "lock"):
        (data / leftover).unlink(missing_ok=True)
    assert "while it is down" in found(unhex(root, "key", "list"), data)
    assert owners(data) == {(USER, GROUP)}
    server = service(root)
    server.token = token
    works(server, gsym, 2)
    assert server.stop() == 0


@pytest.mark.parametrize("verb", [("check",), ("check", "--repair"), ("sweep",), ("usage",), ("limit", "team", "--create")],
                         ids=" ".join)
def test_verbs_of_store_leave_no_files_of_root(root, gsym, verb):
    data = root / "var/lib/unhex"
    server = service(root)
    works(server, gsym, 1)
    assert server.stop() == 0
    for leftover in ("reserve", "lock"):
        (data / leftover).unlink()
    found(unhex(root, "store", *verb), data)
    assert owners(data) == {(USER, GROUP)}
    server.start()
    works(server, gsym, 2)
    assert server.stop() == 0


@pytest.mark.parametrize("owner", [(0, 0), (USER, GROUP)], ids=["backup of root", "backup of the service"])
def test_a_restore_can_be_served(root, gsym, owner):
    data, backup = root / "var/lib/unhex", root / "root/backup"
    server = service(root)
    works(server, gsym, 1)
    token = server.token
    found(unhex(root, "store", "backup", backup, "--copy"), data)
    assert server.stop() == 0
    for path in [backup, *backup.rglob("*")]:
        os.chown(path, *owner)
    (root / "root").chmod(0o700)
    shutil.rmtree(data)
    data.mkdir()
    os.chown(data, USER, GROUP)
    found(unhex(root, "store", "restore", backup), data)
    assert owners(data) == {(USER, GROUP)}
    server = service(root)
    server.token = token
    assert Api(server)("GET", f"/v1/modules/{name_of(1)}")[0] == 200
    works(server, gsym, 2)
    assert server.stop() == 0


@pytest.mark.parametrize("verb", ["restore", "migrate"])
def test_a_new_folder_is_the_services(root, gsym, verb):
    data, backup, other = root / "var/lib/unhex", root / "backup", root / "srv/other"
    server = service(root)
    works(server, gsym, 1)
    token = server.token
    assert server.stop() == 0
    if verb == "restore":
        found(unhex(root, "store", "backup", backup), data)
        result = unhex(root, "store", "restore", backup, "--data", other)
        assert (result.returncode, result.stderr) == (0, "")
    else:
        found(unhex(root, "store", "migrate", other), data)
    assert owners(other) == {(USER, GROUP)}
    os.chmod(root / "srv", 0o755)
    server = service(root, other)
    server.token = token
    works(server, gsym, 2)
    assert server.stop() == 0


@pytest.mark.parametrize("line", ["UNHEX_CONFIG={}", " UNHEX_CONFIG = no\nUNHEX_CONFIG=/nowhere\nUNHEX_CONFIG=\"{}\" "])
def test_the_configuration_of_the_service_names_its_folder(root, line):
    data = root / "srv/data"
    data.mkdir(parents=True)
    os.chown(data, USER, GROUP)
    (root / "etc/default").mkdir(parents=True)
    (root / "etc/serve.conf").write_text(f"data = {data}\n")
    (root / "etc/default/unhex").write_text(f"# UNHEX_CONFIG=/no\n{line.format(root / 'etc/serve.conf')}\n")
    assert service(root, data).stop() == 0
    (key,) = lines(unhex(root, "key", "list", "--json"))
    assert key["scopes"]
    assert owners(data) == {(USER, GROUP)}
    (root / "etc/serve.conf").unlink()
    fails(unhex(root, "key", "list"), 2, root / "etc/serve.conf", "No such file")


def test_what_is_named_comes_first(root):
    assert service(root).stop() == 0
    for options, env in ((("--data", root / "none"), {}), ((), {"XDG_DATA_HOME": str(root / "none")})):
        result = unhex(root, "key", "list", *options, env=env)
        fails(result, 1, "no index.sqlite", root / "none")
        assert "using the folder" not in result.stderr


def test_without_a_service_the_folder_is_roots(root):
    shutil.rmtree(root / "var")
    fails(unhex(root, "key", "list"), 1, root / "root/.local/share/unhex")
