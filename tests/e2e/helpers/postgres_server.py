# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL server of a test's own, on a socket in a temporary folder."""
import glob
import os
import pathlib
import shutil
import subprocess
import tempfile

from waiting import wait_for

NOBODY = 65534


class Postgres:
    """Runs as another user where this one is root, as PostgreSQL demands. More options are those of postgres(1).
    With `primary` it is a replica of that one. `around` is a command that becomes another one, on a machine from whose
    network it takes connections as a line of pg_hba.conf says, such as `198.18.0.0/15 trust`. `keep` is a folder for the
    data, which stays and is used again."""

    def __init__(self, *options, primary=None, around=(), access=None, keep=None):
        self.options = options
        self.access = access
        self.primary = primary
        binaries = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
        if not binaries:
            raise RuntimeError("no initdb in /usr/lib/postgresql (Debian: apt install postgresql)")
        self.folder = pathlib.Path(binaries[-1]).parent
        root = os.geteuid() == 0
        self.user = (*around, *(("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--") if root else ()))
        self.keep = keep
        self.data = str(keep) if keep else tempfile.mkdtemp(prefix="unhex-postgres-", dir="/var/tmp")
        if keep:
            os.makedirs(keep, mode=0o700, exist_ok=True)
        if root:
            os.chown(self.data, NOBODY, NOBODY)

    def __enter__(self):
        if self.primary:
            self._copy(self.primary)
            self.start()
            return self
        if os.path.exists(os.path.join(self.data, "PG_VERSION")):
            self.start()
            return self
        subprocess.run([*self.user, self.folder / "initdb", "-D", self.data, "-A", "trust", "-U", "unhex", "-E", "UTF8",
                        "--no-sync"], check=True, stdout=subprocess.DEVNULL, cwd="/")
        if self.access:
            with open(os.path.join(self.data, "pg_hba.conf"), "a", encoding="ascii") as rules:
                rules.write(f"host all all {self.access}\n")
        self.start()
        return self

    def __exit__(self, *_):
        mode = "fast" if self.keep else "immediate"
        subprocess.run([*self.pg_ctl, "-t", "300", "-m", mode, "stop"], check=False, cwd="/", stderr=subprocess.DEVNULL)
        if not self.keep:
            shutil.rmtree(self.data, ignore_errors=True)

    @property
    def pg_ctl(self):
        return [*self.user, self.folder / "pg_ctl", "-D", self.data, "-s", "-w", "-l", os.path.join(self.data, "log")]

    def start(self):
        options = f"-c listen_addresses= -c unix_socket_directories={self.data} -c max_connections=100 -c fsync=off"
        options = " ".join([options, *self.options])
        subprocess.run([*self.pg_ctl, "-o", options, "start"], check=True, cwd="/")

    def _copy(self, primary):
        subprocess.run([*self.user, self.folder / "pg_basebackup", "-h", primary.data, "-U", "unhex", "-D", self.data,
                        "-R", "-X", "stream", "-c", "fast", "--no-sync"], check=True, cwd="/", stderr=subprocess.DEVNULL)
        os.unlink(os.path.join(self.data, ".s.PGSQL.5432.lock"))  # the primary's socket is in its folder, too

    def follow(self, primary):
        """Becomes a replica of another one, in the place that it had. It was stopped."""
        for name in os.listdir(self.data):
            path = os.path.join(self.data, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        self._copy(primary)
        self.start()

    def wait_for_replica(self):
        """From now on a commit is one when a replica has it, too."""
        self.query("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.query("SELECT pg_reload_conf()")
        wait_for(lambda: self.query("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"))

    def promote(self):
        subprocess.run([*self.pg_ctl, "promote"], check=True, cwd="/")

    def stop(self):
        """As when its machine loses power."""
        subprocess.run([*self.pg_ctl, "-m", "immediate", "stop"], check=True, cwd="/")

    def restart(self):
        self.stop()
        self.start()

    @property
    def restart_command(self):
        return " ".join(map(str, [*self.pg_ctl, "-m", "immediate", "restart"]))

    @property
    def session(self):
        """The ID of the session that all of its processes are in."""
        with open(os.path.join(self.data, "postmaster.pid"), encoding="ascii") as file:
            return os.getsid(int(file.readline()))

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
