# SPDX-License-Identifier: Apache-2.0
"""`unhex serve` as a process of a test."""
import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import urllib.error
import urllib.request

import contract
import surroundings  # noqa: F401
from tool import UNHEX, unhex


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
    def probes(self):
        """HOST:PORT of its listener for probes."""
        return re.findall(r" event=probes address=(\S+)", self.data.with_suffix(".log").read_text())[-1]

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
