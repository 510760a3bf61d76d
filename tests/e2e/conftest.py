# SPDX-License-Identifier: Apache-2.0
"""What tests share: a server of their own."""
import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import urllib.error
import urllib.request

import pytest

import beyond
import permissions
import contract
from browser import Browser
from postgres_server import Postgres
from tool import ROOT, UNHEX, compile_c, cuda_toolkit, unhex

# A shell has what it starts in the background ignore it, and so would the programs that are tested.
signal.signal(signal.SIGINT, signal.default_int_handler)

# perf copies each program that it records into a cache, which would grow in the user's home by gigabytes.
PERF_FOLDER = tempfile.TemporaryDirectory(prefix="unhex-perf.")
os.environ["PERF_CONFIG"] = f"{PERF_FOLDER.name}/config"
pathlib.Path(os.environ["PERF_CONFIG"]).write_text(f"[buildid]\n\tdir = {PERF_FOLDER.name}/cache\n", encoding="ascii")

# Nothing that a test extracts stays in the user's cache, and no test sees what an earlier run left there.
os.environ["UNHEX_CACHE"] = "off"

# Tests that ask an LLVM newer than the system's are there where that is (tools/peers.sh).
collect_ignore = [] if (ROOT / ".peers/llvm/bin").exists() else ["test_gsym_llvm.py"]
if not (ROOT / ".peers/samply/bin/samply").exists():  # tools/samply.sh
    collect_ignore += ["test_samply.py"]
# Proprietary, and in no distribution that we test on.
if cuda_toolkit() is None:
    collect_ignore += ["test_cuda_toolkit.py", "test_cuda_jit.py"]


def pytest_ignore_collect(collection_path):
    """A file that is left out is not even imported: it may need modules that are not here."""
    return beyond.left_out(collection_path.name, None) or None


def pytest_collection_modifyitems(config, items):
    """Tests that are left out are not there."""
    out = [i for i in items if beyond.left_out(i.path.name, i.function.__name__)]
    if out:
        config.hook.pytest_deselected(items=out)
        items[:] = [i for i in items if i not in out]
    for item in items:
        if reason := permissions.forbidden(item.path.name, item.function.__name__):
            item.add_marker(pytest.mark.skip(reason=reason))


@dataclasses.dataclass
class Server:
    """`unhex serve` on a free port of 127.0.0.1 with a folder of its own."""
    data: pathlib.Path
    token: str = ""
    url: str = ""
    process: subprocess.Popen = None
    options: tuple = ()
    before: object = None  # called in the child before it becomes the server
    around: tuple = ()  # a command that becomes the server
    environment: dict = dataclasses.field(default_factory=dict)  # besides ours
    command: pathlib.Path = UNHEX

    def start(self, listen="127.0.0.1:0"):
        env = {k: v for k, v in os.environ.items() if not k.startswith("UNHEX_")}
        env.setdefault("DEBUGINFOD_URLS", "")  # a server under test has the upstreams of its test alone
        env.update(self.environment)
        self.log = open(self.data.with_suffix(".log"), "ab")
        self.process = subprocess.Popen(
            [*self.around, self.command, "serve", "--listen", listen, "--data", self.data, *self.options], env=env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log, text=True,
            preexec_fn=self.before)
        for line in self.process.stdout:
            if found := re.match(r"unhex: the admin key is in (.+)", line):
                # As the server sees it, which may have file systems of its own.
                key = pathlib.Path(f"/proc/{self.process.pid}/root{found[1]}")
                self.token = key.read_text(encoding="ascii").strip()
            if found := re.search(r"serving on (\S+)", line):
                self.url = found[1]
                return self
        raise RuntimeError(f"the server did not start: see {self.log.name}")

    def stop(self, how=signal.SIGTERM):
        if self.process:
            self.process.send_signal(how)
            status = self.process.wait(60)
            self.process.stdout.close()
            self.log.close()
            self.process = None
            contract.check_log(self.data.with_suffix(".log").read_text(errors="replace"))
            return status
        return None

    @property
    def env(self):
        return {"UNHEX_URL": self.url, "UNHEX_TOKEN": self.token}

    def unhex(self, *args, **more):
        """The command, with this server in its environment."""
        return unhex(*args, env={**self.env, **more.pop("env", {})}, **more)

    def get(self, path, token=None):
        """Status and document of a GET."""
        request = urllib.request.Request(self.url + path)
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as answer:
            return answer.code, json.load(answer)


@pytest.fixture(scope="module")
def prog(tmp_path_factory):
    """A program with debug information and inlined calls, and nothing beside it in its folder."""
    return compile_c(tmp_path_factory.mktemp("prog"))


@pytest.fixture(scope="module")
def gsym(prog):
    """The bytes of its GSYM, which is also in a file beside it."""
    out = prog.with_suffix(".gsym")
    assert unhex("extract", prog, "-o", out).returncode == 0
    return out.read_bytes()


@pytest.fixture(scope="module")
def postgres():
    """One PostgreSQL server for all tests of a file."""
    with Postgres() as p:
        yield p


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """One Chromium for all tests of a file."""
    b = Browser(tmp_path_factory.mktemp("chromium"))
    yield b
    b.close()


@pytest.fixture
def server(tmp_path):
    """A fresh server, stopped afterwards; stopping it must succeed."""
    s = Server(tmp_path / "server").start()
    yield s
    assert s.stop() in (0, None)


@pytest.fixture(scope="module")
def server_of_module(tmp_path_factory):
    """The same for all tests of a file that only read."""
    s = Server(tmp_path_factory.mktemp("module") / "server").start()
    yield s
    assert s.stop() in (0, None)
