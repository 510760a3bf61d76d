# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL server of a test's own, on a socket in a temporary folder."""
import glob
import os
import pathlib
import shutil
import subprocess
import tempfile

NOBODY = 65534


class Postgres:
    """Runs as another user where this one is root, as PostgreSQL demands."""

    def __init__(self):
        binaries = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
        if not binaries:
            raise RuntimeError("no initdb in /usr/lib/postgresql (Debian: apt install postgresql)")
        self.folder = pathlib.Path(binaries[-1]).parent
        root = os.geteuid() == 0
        self.user = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--") if root else ()
        self.data = tempfile.mkdtemp(prefix="unhex-postgres-", dir="/var/tmp")
        if root:
            os.chown(self.data, NOBODY, NOBODY)

    def __enter__(self):
        subprocess.run([*self.user, self.folder / "initdb", "-D", self.data, "-A", "trust", "-U", "unhex", "-E", "UTF8",
                        "--no-sync"], check=True, stdout=subprocess.DEVNULL, cwd="/")
        self.start()
        return self

    def __exit__(self, *_):
        subprocess.run([*self.pg_ctl, "-m", "immediate", "stop"], check=False, cwd="/", stderr=subprocess.DEVNULL)
        shutil.rmtree(self.data, ignore_errors=True)

    @property
    def pg_ctl(self):
        return [*self.user, self.folder / "pg_ctl", "-D", self.data, "-s", "-w", "-l", os.path.join(self.data, "log")]

    def start(self):
        options = f"-c listen_addresses= -c unix_socket_directories={self.data} -c max_connections=100 -c fsync=off"
        subprocess.run([*self.pg_ctl, "-o", options, "start"], check=True, cwd="/")

    def stop(self):
        """As when its machine loses power."""
        subprocess.run([*self.pg_ctl, "-m", "immediate", "stop"], check=True, cwd="/")

    def restart(self):
        self.stop()
        self.start()

    @property
    def restart_command(self):
        return " ".join(map(str, [*self.pg_ctl, "-m", "immediate", "restart"]))

    def url(self, name="postgres"):
        return f"postgresql:///{name}?host={self.data}&user=unhex"

    def query(self, sql, name="postgres"):
        """The rows, with a bar between columns."""
        return subprocess.run(["psql", "-h", self.data, "-U", "unhex", "-qAt", name, "-c", sql], check=True, cwd="/",
                              capture_output=True, text=True).stdout.splitlines()

    def create(self, name):
        """The URL of a new database."""
        self.query(f"CREATE DATABASE {name}")
        return self.url(name)
