# SPDX-License-Identifier: Apache-2.0
"""unhex agent --jit: run-time code of a host, kept by the server, names a recording of that host when the processes and
their files are gone. The judges are the files themselves, read on the host."""
import collections
import json
import os
import pathlib
import re
import subprocess

import pytest

from running_agent import running_agent
from tool import UNHEX, unhex
from waiting import pause_for, wait_for

HERE = pathlib.Path(__file__).parent
ROUNDS = "700000000"
NODE = """
function agentJitHot(n) { let x = 0; for (let i = 0; i < n; i++) x = (x * 31 + i) % 65521; return x; }
console.log('ready');
setInterval(() => agentJitHot(3e6), 5);
"""
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may record all processes")


def leaves(recording, output, *options, **more):
    """How many samples each innermost function has, and what is said."""
    result = unhex("symbolize", "-v", recording, *options, "--to", "folded", "--value", "samples", "-o", output, **more)
    assert result.returncode in (0, 1), result.stderr
    counts = collections.Counter()
    for line in output.read_text().splitlines():
        stack, _, n = line.rpartition(" ")
        counts[stack.rpartition(";")[2]] += int(n)
    return counts, result.stderr


def by_server(server, recording, folder):
    """Without any file of this machine."""
    return leaves(recording, folder / "there", "--no-local", "--debug-dir", "", "--url", server.url)


def snapshots(agent, pid):
    return [r for r in agent.results() if r["status"] == "uploaded" and r["file"].startswith("/run-time/") and
            r["file"].endswith(f"/{pid}@{os.uname().nodename}")]


def start_node(folder, *options):
    (folder / "hot.js").write_text(NODE)
    node = subprocess.Popen(["node", *options, folder / "hot.js"], cwd=folder, stdout=subprocess.PIPE, text=True)
    assert node.stdout.readline() == "ready\n"
    return node


def stop(process):
    process.kill()
    process.wait()
    process.stdout.close()


def record(folder, *options):
    path = folder / "host.data"
    assert unhex("record", "--all", "--call-graph", "none", "-o", path, *options).returncode == 0
    return path


@pytest.fixture(scope="module")
def moves(tmp_path_factory):
    """A program that puts code where other code was, and moves code."""
    program = tmp_path_factory.mktemp("moves") / "moves"
    subprocess.run(["gcc", "-O1", "-fno-omit-frame-pointer", "-o", program, HERE / "jit_moves.c"], check=True)
    return program


def test_a_perf_map_names_a_recording_when_the_process_is_gone(server, tmp_path):
    with running_agent(server, tmp_path, "--jit") as agent:
        node = start_node(tmp_path, "--perf-basic-prof")
        try:
            recording = record(tmp_path, "-F", "997", "--duration", "3")
            wait_for(lambda: agent.running() and snapshots(agent, node.pid), 60)
        finally:
            stop(node)
        here, _ = leaves(recording, tmp_path / "here")
        # What was compiled since the first snapshot is sent once the process has ended.
        names = [n for n in here if "agentJitHot" in n]
        pathlib.Path(f"/tmp/perf-{node.pid}.map").unlink()
        assert names and sum(here[n] for n in names) > 50, here
        wait_for(lambda: agent.running() and "agentJitHot" in str(by_server(server, recording, tmp_path)[0]), 60, 1)
    there, said = by_server(server, recording, tmp_path)
    assert sum(there[n] for n in names) >= 0.98 * sum(here[n] for n in names), (here, there)
    assert "symbols from server" in said


def test_a_jitdump_names_each_sample_by_its_time(server, tmp_path, moves):
    """Three functions are at one address, one after the other."""
    with running_agent(server, tmp_path, "--jit") as agent:
        wait_for(lambda: agent.running() and agent.results())
        recorder = subprocess.Popen([UNHEX, "record", "--all", "--call-graph", "none", "-F", "997", "--duration", "6", "-o",
                                     tmp_path / "host.data"], stderr=subprocess.DEVNULL)
        pause_for(1, "a part of the recording is from before the program")
        program = subprocess.Popen([moves, ROUNDS], cwd=tmp_path)
        assert program.wait(60) == 0
        assert recorder.wait(60) == 0
        wait_for(lambda: agent.running() and snapshots(agent, program.pid), 60)
        dump = tmp_path / f"jit-{program.pid}.dump"
        # First what there was after a second, then the rest.
        wait_for(lambda: agent.running() and "third" in str(by_server(server, tmp_path / "host.data", tmp_path)[0]), 60, 1)
        here, _ = leaves(tmp_path / "host.data", tmp_path / "here")
        dump.unlink()
    there, _ = by_server(server, tmp_path / "host.data", tmp_path)
    functions = ("first", "second", "third")
    assert all(here[f] > 20 for f in functions), here
    # A sample is a millisecond; a part of a snapshot begins where code was replaced.
    assert all(abs(there[f] - here[f]) <= 2 for f in functions), ([here[f] for f in functions], [there[f] for f in functions])


def test_a_process_that_ends_before_its_files_were_read_is_sent(server, tmp_path, moves):
    with running_agent(server, tmp_path, "--jit") as agent:
        wait_for(lambda: agent.running() and agent.results())
        program = subprocess.Popen(["sh", "-c", f"{moves} 1000000000; rm -f jit-*.dump"], cwd=tmp_path, stdout=subprocess.PIPE)
        assert program.wait(60) == 0
        program.stdout.close()
        wait_for(lambda: agent.running() and [r for r in agent.results() if r["file"].startswith("/run-time/")], 60)


def test_a_restart_sends_only_code_that_is_new(server, tmp_path):
    """What was sent is known by how far the file was read, of a process that has one start for both runs."""
    node = start_node(tmp_path)
    path = pathlib.Path(f"/tmp/perf-{node.pid}.map")
    command = ("agent", "--once", "--json", "--jit", "-v", "--state", tmp_path / "state")

    def sent():
        result = server.unhex(*command)
        assert result.returncode == 0, result.stderr
        return [json.loads(line)["file"] for line in result.stdout.splitlines() if f"/{node.pid}@" in line]
    try:
        path.write_text("7f0000000000 10 first_name\n")
        first = sent()
        assert len(first) == 1
        assert sent() == []
        with open(path, "a", encoding="ascii") as f:
            f.write("7f0000001000 10 second_name\n")
        second = sent()
        assert len(second) == 1 and sent() == []
        path.write_text("7f0000000000 10 third\n")  # begun anew
        assert len(sent()) == 1
    finally:
        stop(node)
        path.unlink(missing_ok=True)
    (_, _, started, span, _), (_, _, started_then, span_then, _) = first[0].split("/"), second[0].split("/")
    assert started == started_then
    # The second snapshot begins where the first one ended: its time is kept in seconds.
    assert 0 <= int(span.split("-")[1]) - int(span_then.split("-")[0]) < 1e9
    names = {}
    for m in server.get(f"/v1/modules?file={node.pid}@{os.uname().nodename}")[1]["modules"]:
        for pc in ("0x7f0000000004", "0x7f0000001004"):
            frames = server.get(f"/v1/symbolize/{m['ids'][0]}?addr={pc}")[1]["frames"][0]
            names.setdefault(pc, set()).update(f["function"] for f in frames)
    assert names == {"0x7f0000000004": {"first_name", "third"}, "0x7f0000001004": {"second_name"}}


def test_without_the_option_nothing_of_run_time_code_is_sent(server, tmp_path):
    node = start_node(tmp_path, "--perf-basic-prof")
    try:
        result = server.unhex("agent", "--once", "--json", "--state", tmp_path / "state")
        listed = server.unhex("agent", "--once", "--json", "--jit", "--dry-run", "--state", tmp_path / "state")
    finally:
        stop(node)
        pathlib.Path(f"/tmp/perf-{node.pid}.map").unlink()
    assert "/run-time/" not in result.stdout
    assert f"/{node.pid}@" in listed.stdout and "would be uploaded" in listed.stdout
    assert server.get(f"/v1/modules?file={node.pid}@{os.uname().nodename}")[1] == {"modules": []}


def test_a_process_in_another_mount_and_process_namespace_is_sent(server, tmp_path):
    """Its perf map has the ID that it has inside, and is in its own /tmp."""
    (tmp_path / "hot.js").write_text(NODE)
    with running_agent(server, tmp_path, "--jit", "--host", "node-7") as agent:
        process = subprocess.Popen(["unshare", "-m", "-p", "-f", "--mount-proc", "sh", "-c",
                                    f"cp {tmp_path}/hot.js /var/tmp/hot-$$.js; mount -t tmpfs none /tmp; "
                                    "exec node --perf-basic-prof /var/tmp/hot-$$.js"], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
        try:
            assert process.stdout.readline() == "ready\n"
            child = int(pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text())
            found = wait_for(lambda: agent.running() and [r for r in agent.results() if
                                                          r["file"].endswith(f"/{child}@node-7")], 60)
        finally:
            os.kill(child, 9)
            stop(process)
            for path in pathlib.Path("/var/tmp").glob("hot-*.js"):
                path.unlink()
    assert found[0]["status"] == "uploaded"
    text = server.get(f"/v1/modules/{found[0]['id']}")[1]
    assert text["candidates"][0]["counts"]["functions"] > 100


def test_a_file_of_another_user_is_not_believed(server, tmp_path):
    """Any user can make /tmp/perf-PID.map."""
    (tmp_path / "hot.js").write_text(NODE)
    node = subprocess.Popen(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "node", "-e", NODE],
                            stdout=subprocess.PIPE, text=True, cwd="/")
    path = pathlib.Path(f"/tmp/perf-{node.pid}.map")
    try:
        assert node.stdout.readline() == "ready\n"
        path.write_text("7f0000000000 1000 planted_name\n")
        os.chown(path, 12345, 12345)
        result = server.unhex("agent", "--once", "--json", "--jit", "--state", tmp_path / "state")
        assert "/run-time/" not in result.stdout
        os.chown(path, 65534, 65534)
        result = server.unhex("agent", "--once", "--json", "--jit", "--state", tmp_path / "state")
        assert f"/{node.pid}@" in result.stdout
    finally:
        stop(node)
        path.unlink(missing_ok=True)


def test_damaged_files_cost_only_themselves(server, tmp_path):
    node = start_node(tmp_path)
    path = pathlib.Path(f"/tmp/perf-{node.pid}.map")
    path.write_bytes(b"\x00\xff" * 5000 + b"\n7f0000000000 10 good_name\n7f0000000000 zz bad\n" + os.urandom(20000))
    try:
        result = server.unhex("agent", "--once", "--json", "--jit", "--state", tmp_path / "state")
    finally:
        stop(node)
        path.unlink()
    assert result.returncode == 0, result.stderr
    line = next(x for x in result.stdout.splitlines() if f"/{node.pid}@" in x)
    identity = re.search(r"uuid:[0-9a-f]{32}", line)[0]
    frames = server.get(f"/v1/symbolize/{identity}?addr=0x7f0000000004")[1]["frames"]
    assert frames[0][0]["function"] == "good_name"
