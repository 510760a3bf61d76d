# SPDX-License-Identifier: Apache-2.0
"""PgBouncer between servers and their database: session pooling works, transaction pooling is refused in words."""
import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from postgres_server import NOBODY, Postgres
from tool import build_id, symbol, unhex
from unhex_server import Server
from waiting import wait_for

PGBOUNCER = shutil.which("pgbouncer", path=os.environ["PATH"] + ":/usr/sbin") or "pgbouncer"
ROOT_ONLY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--") if os.geteuid() == 0 else ()


@contextlib.contextmanager
def pooler(database, mode):
    """The URL of a pooler of a database, on a socket in a folder that its user can enter."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="unhex-pooler-", dir="/var/tmp"))
    users = folder / "users"
    users.write_text('"unhex" ""\n')
    configuration = folder / "pgbouncer.ini"
    configuration.write_text(f"""[databases]
* = host={database.data}
[pgbouncer]
pool_mode = {mode}
auth_type = trust
auth_file = {users}
listen_addr =
listen_port = 6432
unix_socket_dir = {folder}
default_pool_size = 20
ignore_startup_parameters = extra_float_digits
""")
    if os.geteuid() == 0:
        for path in (folder, users, configuration):
            os.chown(path, NOBODY, NOBODY)
    with open(folder / "log", "wb") as log, \
            subprocess.Popen([*ROOT_ONLY, PGBOUNCER, configuration], stdout=log, stderr=log, cwd="/") as process:
        try:
            wait_for(lambda: (folder / ".s.PGSQL.6432").exists() or process.poll() is not None, 20)
            assert process.poll() is None, (folder / "log").read_text()
            yield f"postgres://unhex@/unhex?host={folder}&port=6432"
        finally:
            process.terminate()
            process.wait(20)
            shutil.rmtree(folder)


@pytest.mark.parametrize("mode", ["transaction", "statement"])
def test_shared_sessions_are_refused_in_words(tmp_path, mode):
    with Postgres() as database:
        database.create("unhex")
        with pooler(database, mode) as url:
            r = unhex("store", "check", "--data", tmp_path, "--index", url)
    assert r.returncode == 1 and "use pool_mode = session, or PostgreSQL itself" in r.stderr, r


def test_sessions_of_a_pooler_are_used_as_the_databases_own(tmp_path, prog):
    with Postgres() as database:
        database.create("unhex")
        with pooler(database, "session") as url:
            server = Server(tmp_path / "server", options=("--index", url, "--node", "one")).start()
            assert server.unhex("push", prog).returncode == 0
            address, _ = symbol(prog, "main")
            assert server.get(f"/v1/symbolize/{build_id(prog)}?addr={address}")[1]["frames"][0][-1]["function"] == "main"
            assert server.stop() == 0
