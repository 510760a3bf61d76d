# SPDX-License-Identifier: Apache-2.0
"""Servers to time, ours and the peers', and the load on them."""
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.parse
from dataclasses import dataclass

START_S = 120
LOAD_S = 900


class Failed(Exception):
    """A server or its load did not do the work that is timed."""


@dataclass
class Server:
    """One that runs."""
    name: str
    process: subprocess.Popen
    url: str  # the part before every path
    token: str = ""

    def cpu(self):
        """Returns seconds of processor time so far of all threads, including ended ones.

        The clock is the one that clock_getcpuclockid(3) gives for a process."""
        return time.clock_gettime(~self.process.pid << 3 | 2)

    def anonymous(self):
        """Returns bytes of anonymous memory."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith("RssAnon:"))

    def ask(self, method, path, body=None):
        """Status and body of one request."""
        url = urllib.parse.urlsplit(self.url)
        with contextlib.closing(http.client.HTTPConnection(url.hostname, url.port,
                                                           timeout=LOAD_S)) as connection:
            headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
            connection.request(method, url.path + path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()

    def stop(self):
        """Ends it, even if it does not react."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def pinned(core, *args):
    """The command on one processor; None: on any."""
    return [str(a) for a in (["taskset", "-c", core, *args] if core is not None else args)]


def clean_environment(home):
    """The environment without the user's settings that a server would read."""
    keep = {k: v for k, v in os.environ.items()
            if not re.match(r"UNHEX_|DEBUGINFOD_|SAMPLY_|XDG_|_NT_", k)}
    return {**keep, "HOME": str(home)}


def wait_until(what, ready, process, most=START_S):
    """Returns the value of ready() as soon as it is true; raises Failed if the process ends before, or after
    `most` seconds."""
    end = time.monotonic() + most
    while time.monotonic() < end:
        if process.poll() is not None:
            raise Failed(f"{what} ended with status {process.returncode}")
        if reported := ready():
            return reported
        time.sleep(0.01)
    raise Failed(f"{what} was not ready within {most} s")


def free_port():
    """A port on which no program listens now."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def running(server):
    """Stopped in the end."""
    try:
        yield server
    finally:
        server.stop()


def text_of(path):
    """Returns the text of a log so far."""
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def serve_unhex(command, data, work, core=None, *options):
    """Ours, on a folder; the key of its first start is a file in it."""
    out = work / f"{data.name}.out"
    with open(out, "wb") as stdout, open(work / f"{data.name}.log", "wb") as log:
        process = subprocess.Popen(
            pinned(core, command, "serve", "--listen", "127.0.0.1:0", "--data", data, *options),
            stdin=subprocess.DEVNULL, stdout=stdout, stderr=log, env=clean_environment(work))
    found = wait_until("unhex serve", lambda: re.search(r"serving on (\S+)", text_of(out)), process)
    return Server("unhex", process, found[1], text_of(data / "admin-key").strip())


def scanned(url):
    """Returns whether elfutils' server has looked through its files."""
    parts = urllib.parse.urlsplit(url)
    with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(
            http.client.HTTPConnection(parts.hostname, parts.port, timeout=5)) as connection:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        return "scanned_bytes_total" in text and 'thread_busy{role="scan"} 0' in text
    return False


def serve_debuginfod(folder, work, core=None):
    """elfutils' own over the files of a folder."""
    url = f"http://127.0.0.1:{free_port()}"
    with open(work / "debuginfod.log", "wb") as log:
        process = subprocess.Popen(
            pinned(core, "debuginfod", "-p", url.rpartition(":")[2], "-d", ":memory:", "-F",
                   folder),
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=clean_environment(work))
    wait_until("debuginfod", lambda: scanned(url), process)
    return Server("debuginfod", process, url)


def debug_id(build_id):
    """Breakpad's name of a GNU build ID: a GUID of a little-endian machine, and age 0."""
    b = bytes.fromhex(build_id)[:16].ljust(16, b"\0")
    return (b[3::-1] + b[5:3:-1] + b[7:5:-1] + b[8:]).hex().upper() + "0"


def serve_samply(program, libraries, work, core=None):
    """Starts samply's, for a profile that names these: objects in the form of its "libs"."""
    profile, out = work / "profile.json", work / "samply.out"
    profile.write_text(json.dumps({"meta": {"version": 24}, "libs": libraries, "threads": []}),
                       encoding="ascii")
    with open(out, "wb") as stdout, open(work / "samply.log", "wb") as log:
        process = subprocess.Popen(
            pinned(core, program, "load", "--no-open", "--port", f"{free_port()}+", profile),
            stdin=subprocess.DEVNULL, stdout=stdout, stderr=log, env=clean_environment(work))
    found = wait_until("samply", lambda: re.search(r"symbolServer=(\S+)", text_of(out)), process)
    return Server("samply", process, urllib.parse.unquote(found[1]))


@dataclass
class Figures:
    """The results of one load."""
    requests: int
    rate: float   # requests a second
    cpu: float    # seconds of the server's processor time a request
    p50_us: int
    p99_us: int
    bytes: int    # of all bodies


def load(program, server, path, core=None, expect=200, bodies=(), **options):
    """Runs bench/load.c; every answer has to have that status."""
    url = urllib.parse.urlsplit(server.url)
    args = [f"--{name}={value}" for name, value in {"expect": expect, **options}.items()]
    if server.token:
        args.append(f"--header=Authorization: Bearer {server.token}")
    args += [f"--body={body}" for body in bodies]
    before = server.cpu()
    run = subprocess.run(pinned(core, program, *args, url.hostname, url.port, url.path + path),
                         capture_output=True, text=True, timeout=LOAD_S, check=False)
    used = server.cpu() - before
    if run.returncode != 0:
        raise Failed(f"{server.name}: {run.stderr.strip()}")
    reported = {k: float(v) for k, v in (word.split("=") for word in run.stdout.split())}
    if reported["wrong"]:
        raise Failed(f"{server.name}: {reported['wrong']:.0f} of {reported['requests']:.0f} answers to "
                     f"{path} had another status than {expect}")
    return Figures(int(reported["requests"]), reported["rate"], used / reported["requests"],
                   int(reported["p50_us"]), int(reported["p99_us"]), int(reported["bytes"]))
