# SPDX-License-Identifier: Apache-2.0
"""unhex agent beside a server, for tests."""
import contextlib
import json
import os
import pathlib
import subprocess
import time

from tool import UNHEX, unhex
from waiting import pause_for, wait_for


class Agent:
    """A running agent; .results() are the objects it has printed, .text() what it said besides."""

    def __init__(self, server, folder, *options, around=(), cpu="none"):
        self.out, self.err = pathlib.Path(folder) / "agent.out", pathlib.Path(folder) / "agent.err"
        env = {k: v for k, v in os.environ.items() if not k.startswith("UNHEX_")}
        env.update(server.env)
        with open(self.out, "ab") as out, open(self.err, "ab") as err:
            self.process = subprocess.Popen([*around, UNHEX, "agent", "--json", "--state", pathlib.Path(folder) / "agent-state", "--cpu", cpu,
                                             *map(str, options)], env=env,
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def results(self):
        return [json.loads(line) for line in self.out.read_text().splitlines()]

    def uploaded(self, file):
        """The results about files of that path, or of that name if it has no slash, that were uploaded. The agent sees
        the programs of all tests that run beside this one: a name alone has to be one that no other test uses."""
        return [r for r in self.results() if r["status"] == "uploaded" and
                (r["file"] if "/" in str(file) else os.path.basename(r["file"])) == str(file)]

    def wait_uploaded(self, file, seconds=30):
        return wait_for(lambda: self.running() and self.uploaded(file), seconds)[0]

    def running(self):
        assert self.process.poll() is None, self.text()
        return True

    def text(self):
        return self.err.read_text()

    def processor_time(self):
        """Seconds that it and its children have used."""
        stat = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, stat[11:15])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.process.terminate()
        self.process.wait(60)


@contextlib.contextmanager
def running_agent(server, folder, *options, around=(), cpu="none"):
    """An agent that has pushed what ran when it was started."""
    agent = Agent(server, folder, *options, around=around, cpu=cpu)
    try:
        yield agent
    finally:
        agent.stop()


THROW_AWAY = """
.globl _start
_start: mov $35, %eax
lea time(%rip), %rdi
xor %esi, %esi
syscall
mov $60, %eax
xor %edi, %edi
syscall
.type _start, @function
.size _start, . - _start
.data
time: .quad 0, 300000000
"""


def throw_away(folder, n):
    """n different programs that end after 0.3 s."""
    mark = b"\xab" * 20
    folder.mkdir()
    (folder / "one.s").write_text(THROW_AWAY)
    subprocess.run(["gcc", "-nostdlib", "-static", f"-Wl,--build-id=0x{mark.hex()}", "-o", folder / "one",
                    folder / "one.s"], check=True)
    before, after = (folder / "one").read_bytes().split(mark)
    run, paths = os.urandom(8), [folder / f"program{i}" for i in range(n)]
    for i, path in enumerate(paths):
        path.write_bytes(before + run + i.to_bytes(12, "big") + after)
        path.chmod(0o755)
    return paths


def run_all(paths, seconds, **how):
    """Starts the programs evenly within that time, as Popen() is told."""
    begin, running = time.monotonic(), []
    for i, path in enumerate(paths):
        running = [p for p in running if p.poll() is None] + [subprocess.Popen([path], stdin=subprocess.DEVNULL, **how)]
        pause_for(begin + i * seconds / len(paths) - time.monotonic(), "the programs start evenly")
    for process in running:
        process.wait()


def build_id(path):
    """The first ID of a file, as the server lists it."""
    return json.loads(unhex("id", "--json", path).stdout)["ids"][0]
