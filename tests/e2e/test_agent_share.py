# SPDX-License-Identifier: Apache-2.0
"""What the agent sees of programs that live for a second, and what it costs where nothing happens."""
import os
import pathlib
import subprocess
import time

import pytest

from running_agent import Agent, build_id, running_agent
from test_agent import LIBRARY, build, known
from waiting import pause_for, wait_for

EACH = 20      # programs of each kind
APART_S = 0.1  # between two of them
REST_S = 30
SLEEPERS = 300
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may read the kernel's records and make namespaces")


def on_the_host(program, library):
    return [program, "1000", library]


def deleted_at_once(program, library):
    return ["sh", "-c", f"{program} 1000 {library} & sleep 0.5; rm {program} {library}; wait"]


def in_a_container(program, library):
    """The only copy that runs is in a file system that ends with the process, which has the ID 1."""
    root = program.with_suffix(".root")
    root.mkdir()
    return ["unshare", "-m", "-p", "-f", "sh", "-c",
            f"mount -t tmpfs none {root} && cp {program} {library} {root}/ && exec {root}/{program.name} 1000 {root}/{library.name}"]


KINDS = (on_the_host, deleted_at_once, in_a_container)


def seen(server, folder, agent):
    """For each kind, of how many programs and libraries the server has symbols."""
    files, processes = {}, []
    for kind in KINDS:
        for i in range(EACH):
            name = f"{kind.__name__}{i}"
            files[name] = (build(folder, name), build(folder, f"{name}.so", LIBRARY, "-shared", "-fPIC"))
    identities = {name: [build_id(f) for f in pair] for name, pair in files.items()}
    for i in range(EACH):
        for kind in KINDS:
            processes.append(subprocess.Popen([str(c) for c in kind(*files[f"{kind.__name__}{i}"])], stdout=subprocess.DEVNULL,
                                              stderr=subprocess.DEVNULL))
            pause_for(APART_S, "the programs start evenly")
    for process in processes:
        assert process.wait(120) == 0
    wait_for(lambda: agent.running() and time.time() - agent.out.stat().st_mtime > 5, 300, 0.5)
    return {kind.__name__: [sum(known(server, identities[f"{kind.__name__}{i}"][which]) for i in range(EACH)) for which in (0, 1)]
            for kind in KINDS}


def test_programs_that_live_a_second_are_seen_in_containers_too(server, tmp_path):
    with running_agent(server, tmp_path) as agent:
        wait_for(lambda: agent.running() and agent.results())
        share = seen(server, tmp_path, agent)
    total = sum(map(sum, share.values()))
    print(f"of {EACH} programs that live a second, and as many libraries: {share}: {100 * total / (2 * EACH * len(KINDS)):.1f} %")
    assert total >= 0.99 * 2 * EACH * len(KINDS), share


def threads_ns(pid):
    """Time that the threads have run, by the scheduler's count."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in pathlib.Path(f"/proc/{pid}/task").iterdir())


def test_a_host_at_rest_costs_less_than_a_thousandth_of_a_core(server, tmp_path):
    """A process namespace in which nothing happens, and no records of the kernel: the agent scans."""
    script = f"for i in $(seq {SLEEPERS}); do sleep 1000 & done; exec setpriv --bounding-set -sys_admin,-perfmon --inh-caps -all -- \"$@\""
    agent = Agent(server, tmp_path, around=("unshare", "-m", "-p", "-f", "--kill-child", "--mount-proc", "sh", "-c", script, "sh"))
    try:
        wait_for(lambda: agent.running() and agent.results(), 120)
        wait_for(lambda: agent.running() and time.time() - agent.out.stat().st_mtime > 5, 300, 0.5)
        pid = int(pathlib.Path(f"/proc/{agent.process.pid}/task/{agent.process.pid}/children").read_text().split()[0])
        assert "unhex" in os.readlink(f"/proc/{pid}/exe")
        began, before = time.monotonic(), threads_ns(pid)
        pause_for(REST_S, "the time that is measured")
        used, passed = (threads_ns(pid) - before) / 1e9, time.monotonic() - began
        print(f"beside {SLEEPERS} processes at rest: {1000 * used:.2f} ms in {passed:.1f} s, {100 * used / passed:.4f} % of a core")
        assert used < 0.001 * passed
    finally:
        agent.process.kill()
        agent.process.wait()
