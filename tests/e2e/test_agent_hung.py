# SPDX-License-Identifier: Apache-2.0
"""unhex agent beside file systems that do not answer, and readers that do not read."""
import contextlib
import fcntl
import json
import os
import pathlib
import subprocess

import pytest

from hung_mount import hung_mount
from running_agent import Agent, build_id, running_agent
from test_agent import PROGRAM, build, end, known, once, start
from test_agent_operation import UnixConnection, read_metrics, values
from tool import UNHEX
from waiting import wait_for

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
ALL = ("LOOKUP", "GETATTR", "OPEN", "READ", "STATFS", "FLUSH", "RELEASE")


def health(path):
    connection = UnixConnection(path)
    with contextlib.closing(connection):
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


@pytest.mark.parametrize("held", (ALL, ("READ",)), ids=("open", "read"))
def test_a_mount_that_hangs_costs_its_own_files_alone(server, tmp_path, held):
    """And only until it answers again."""
    hanging, other, path = build(tmp_path, "hanging"), build(tmp_path, "other"), tmp_path / "metrics"
    with hung_mount(tmp_path / "mount", hanging) as mount:
        mount.hang(*held)
        with running_agent(server, tmp_path, "--metrics", f"unix:{path}") as agent:
            mount.wait_held()
            process = start(other, "60000")
            try:
                wait_for(lambda: agent.running() and known(server, build_id(other)))
            finally:
                end(process)
            wait_for(lambda: values(read_metrics(UnixConnection(path)))["unhex_agent_hung_total"] > 0)
            assert health(path) == (200, {"status": "ok"})
            assert not known(server, build_id(hanging))
            mount.answer()
            wait_for(lambda: agent.running() and known(server, build_id(hanging)), 120)


RUN_TIME_CODE = PROGRAM.replace("int main(", "#include <sys/mman.h>\nint main(").replace(
    "\tif (write(", "\tif (mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)\n\t\treturn 1;\n\tif (write(")


def test_folders_of_debug_files_and_run_time_code_may_hang(server, tmp_path):
    """The agent is in the namespace of the mount: also its own paths hang."""
    other, path = build(tmp_path, "other"), tmp_path / "metrics"
    with hung_mount(tmp_path / "mount", build(tmp_path, "hanging", RUN_TIME_CODE)) as mount:
        mount.hang("LOOKUP", "OPEN")  # the command itself looks whether the folder of its option is there
        agent = Agent(server, tmp_path, "--jit", "--debug-dir", mount.folder, "--metrics", f"unix:{path}",
                      around=("nsenter", "-m", "-t", str(mount.process.pid)))
        try:
            mount.wait_held()
            process = start(other, "600000")
            try:
                wait_for(lambda: agent.running() and known(server, build_id(other)), 120)
            finally:
                end(process)
            # The watching thread searches the kernel's files; the loop searches debug files, and lists of run-time code.
            wait_for(lambda: values(read_metrics(UnixConnection(path)))["unhex_agent_hung_total"] >= 4, 120)
            assert health(path) == (200, {"status": "ok"})
            agent.process.terminate()
            assert agent.process.wait(10) == -15
        finally:
            agent.process.kill()


@pytest.mark.parametrize("held", (ALL, ("READ",)), ids=("open", "read"))
def test_a_signal_ends_the_agent_while_a_file_system_hangs(server, tmp_path, held):
    with hung_mount(tmp_path / "mount", build(tmp_path, "hanging")) as mount:
        mount.hang(*held)
        agent = Agent(server, tmp_path)
        try:
            mount.wait_held()
            agent.process.terminate()
            assert agent.process.wait(10) == -15
            # Another agent can have its folder: what hangs keeps no lock.
            assert once(server, tmp_path, "--exclude", "*", state="agent-state").returncode == 0
        finally:
            agent.process.kill()


def test_a_signal_ends_the_agent_although_nobody_reads_its_output(server, tmp_path):
    """Its lines fill the pipe, and the summary at its end has to wait."""
    command = [UNHEX, "agent", "--once", "--dry-run", "-v", "--state", tmp_path / "state"]
    agent = subprocess.Popen(command, env={**os.environ, **server.env}, stdout=subprocess.PIPE)
    try:
        size = fcntl.fcntl(agent.stdout, fcntl.F_SETPIPE_SZ, 4096)
        blocked = pathlib.Path(f"/proc/{agent.pid}/wchan")
        wait_for(lambda: agent.poll() is not None or "pipe_write" in blocked.read_text())
        assert size == 4096 and agent.poll() is None
        agent.terminate()
        assert agent.wait(15) == -15
    finally:
        agent.kill()
        agent.stdout.close()
