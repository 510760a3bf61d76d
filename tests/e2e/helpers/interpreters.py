# SPDX-License-Identifier: Apache-2.0
"""Interpreters to test with, and asking the library about their processes."""
import contextlib
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import time

from tool import ROOT, UNHEX
from waiting import wait_for

ASK = pathlib.Path(UNHEX).resolve().parents[1] / "tests/make/ask_interp"
PEERS = ROOT / ".peers/interpreters"  # tools/interpreters.sh
PYENV = pathlib.Path(os.environ.get("PYENV_ROOT") or pathlib.Path.home() / ".pyenv") / "versions"


def found(pattern, *folders):
    """Programs whose names match, by version (major, minor), the first of each."""
    by_version = {}
    for folder in folders:
        for path in sorted(folder.glob("*")):
            if match := re.fullmatch(pattern, path.name):
                by_version.setdefault(tuple(map(int, match.groups())), path)
    return dict(sorted(by_version.items()))


def pythons():
    """The system's first, so that it is what its version is tested with."""
    folders = [pathlib.Path("/usr/bin"), *sorted(PEERS.glob("*/bin")), *sorted(PYENV.glob("*/bin"))]
    return {v: p for v, p in found(r"python(3)\.(\d+)", *folders).items() if v >= (3, 7)}


@contextlib.contextmanager
def running(*command, env=None):
    """A process that tells about itself on its first line, and ends when its input does."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env={**clean, **(env or {})})
    try:
        line = process.stdout.readline()
        assert line, f"{command} said nothing"
        yield process, json.loads(line)
    finally:
        process.stdin.close()
        process.kill()
        process.stdout.close()
        process.wait(60)


def ask(pid, kind, what, *args, stdin=None):
    """What the library says: the lines. Names may have bytes that are no UTF-8."""
    done = subprocess.run([ASK, str(pid), kind, what, *map(str, args)], input=stdin,
                          capture_output=True, timeout=600,
                          **({} if stdin is not None else {"stdin": subprocess.DEVNULL}))
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8", "surrogateescape").splitlines()


def walk(pid, kind, times=1):
    return [json.loads(line) for line in ask(pid, kind, "walk", times)]


def is_stopped(pid):
    """Whether none of its threads runs or is about to."""
    stats = [task.joinpath("stat").read_text() for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]
    return all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)


def cpu_time(pid):
    """Seconds that its threads ran: clock_getcpuclockid(), which Python has not."""
    return time.clock_gettime(~pid << 3 | 2)


def instants(pid, kind, times):
    """Stacks of a program that is stopped anywhere, again and again: it cannot change while it is read,
    however fast it runs and on however many processors. In between it runs a little."""
    rng = random.Random(times)
    for _ in range(times):
        until = cpu_time(pid) + rng.uniform(0, 0.001)
        wait_for(lambda: cpu_time(pid) >= until, step=0)
        os.kill(pid, signal.SIGSTOP)
        try:
            wait_for(lambda: is_stopped(pid), step=0)
            yield walk(pid, kind)[0]
        finally:
            os.kill(pid, signal.SIGCONT)
