# SPDX-License-Identifier: Apache-2.0
"""unhex agent: everything that a host executes reaches the server. The oracle is the list of what was started."""
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

from running_agent import build_id, running_agent
from tool import ROOT, UNHEX, fails, lines
from waiting import pause_for, wait_for

# Its functions have names that no other program here has, and each copy has a build ID of its own.
PROGRAM = r"""
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) int agent_test_function(int x) { return x * 3; }
int main(int argc, char **argv)
{
	if (argc > 2 && !dlopen(argv[2], RTLD_NOW))
		return 1;
	if (write(1, "ready\n", 6) != 6)
		return 1;
	usleep(atoi(argv[1]) * 1000);
	return agent_test_function(0);
}
"""
LIBRARY = "int agent_test_library(int x) { return x + 1; }\n"


def build(folder, name, source=PROGRAM, *flags):
    """A program or library with a build ID that nothing else has."""
    path = pathlib.Path(folder) / name
    path.with_suffix(".c").write_text(source)
    subprocess.run(["gcc", "-O1", "-g", f"-Wl,--build-id=0x{os.urandom(16).hex()}", *flags, "-o", path,
                    path.with_suffix(".c"), "-ldl"], check=True)
    return path


def start(*command, **how):
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, text=True, **how)
    assert process.stdout.readline() == "ready\n"
    return process


def end(process):
    process.kill()
    process.wait()
    process.stdout.close()


def once(server, folder, *options, state="state", **more):
    """The agent, run once with a state of its own."""
    return server.unhex("agent", "--once", "--state", folder / state, *options, **more)


def known(server, identity):
    status, _ = server.get(f"/v1/modules/{identity}")
    return status == 200


def function_at_server(server, path, name):
    """Does the server name the address of a function of the file?"""
    nm = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    address = next(line.split()[0] for line in nm.splitlines() if line.endswith(f" {name}"))
    status, document = server.get(f"/v1/symbolize/{build_id(path)}?addr=0x{address}")
    return status == 200 and document["frames"][0][-1]["function"] == name


def test_once_pushes_what_runs_and_a_second_time_nothing(server, tmp_path):
    program = build(tmp_path, "program")
    library = build(tmp_path, "library.so", LIBRARY, "-shared", "-fPIC")
    process = start(program, 60000, library)
    try:
        first = once(server, tmp_path, "--json")
        second = once(server, tmp_path, "--json", "-v", state="other")
    finally:
        end(process)
    uploaded = {r["file"] for r in lines(first) if r["status"] == "uploaded"}
    assert {str(program), str(library)} <= uploaded, first.stderr
    assert {r["status"] for r in lines(second) if r["file"] in (str(program), str(library))} == {"already-there"}
    assert function_at_server(server, program, "agent_test_function")
    assert function_at_server(server, library, "agent_test_library")


def test_without_dwarf_there_are_names_and_with_dwarf_lines(server, tmp_path):
    program = build(tmp_path, "program")
    process = start(program, 60000)
    try:
        plain = {r["file"]: r for r in lines(once(server, tmp_path, "--json"))}
        better = {r["file"]: r for r in lines(once(server, tmp_path, "--json", "--dwarf", timeout=600))}
    finally:
        end(process)
    assert plain[str(program)]["quality"] == "symtab"
    assert better[str(program)]["quality"] in ("lines", "inlines")


def test_a_dry_run_lists_and_uploads_nothing(server, tmp_path):
    program = build(tmp_path, "program")
    process = start(program, 60000)
    try:
        listed = once(server, tmp_path, "--dry-run")
    finally:
        end(process)
    assert str(program) in listed.stdout and "would be uploaded" in listed.stdout
    assert not known(server, build_id(program))


def test_the_kernel_and_its_vdso_are_sent(server, tmp_path):
    if not pathlib.Path("/sys/kernel/notes").exists() or os.geteuid() != 0:
        pytest.skip("the kernel shows its addresses to root alone")
    files = {r["file"]: r for r in lines(once(server, tmp_path, "--json"))}
    assert files["[vdso]"]["status"] == "uploaded"
    kernel = next(r for name, r in files.items() if name == "[kernel]" or "vmlinux" in name)
    assert kernel["status"] == "uploaded" and kernel["functions"] > 10000
    # The kernel's own list is the oracle: a function at its distance from _text.
    symbols = [line.split() for line in open("/proc/kallsyms", encoding="ascii") if "[" not in line]
    text = next(int(s[0], 16) for s in symbols if s[2] == "_text")
    schedule = next(int(s[0], 16) for s in symbols if s[2] == "schedule")
    if os.uname().machine == "x86_64":
        status, document = server.get(
            f"/v1/symbolize/{kernel['id']}?addr={0xffffffff81000000 + schedule - text:#x}")
        assert status == 200 and document["frames"][0][-1]["function"] == "schedule"


def test_new_programs_and_libraries_are_known_within_ten_seconds(server, tmp_path):
    program = build(tmp_path, "program")
    library = build(tmp_path, "library.so", LIBRARY, "-shared", "-fPIC")
    with running_agent(server, tmp_path) as agent:
        wait_for(lambda: agent.running() and agent.results())
        pause_for(1, "the agent is sending what ran before")
        process = start(program, 60000, library)
        began = time.monotonic()
        try:
            wait_for(lambda: known(server, build_id(program)) and known(server, build_id(library)), 60)
        finally:
            end(process)
        took = time.monotonic() - began
    # Ten seconds are the promise. The machine of a test run is busy, and the agent takes what is left.
    assert took < 30, took


@pytest.mark.skipif(os.geteuid() != 0, reason="only root hears of each process as it begins")
def test_a_deleted_program_of_a_process_that_lived_a_second_is_sent(server, tmp_path):
    with running_agent(server, tmp_path) as agent:
        wait_for(lambda: agent.running() and agent.results())
        names = [f"short{i}" for i in range(5)]
        for name in names:
            program = build(tmp_path, name)
            process = start(program, 1000)
            pause_for(0.5, "half of the life of the process")
            program.unlink()
            process.wait()
            process.stdout.close()
        for name in names:
            assert agent.wait_uploaded(tmp_path / name, 60)["quality"] == "symtab"


def test_a_program_that_is_only_in_memory_is_sent(server, tmp_path):
    program = build(tmp_path, "program")
    script = ("import os, sys\nfd = os.memfd_create('agent_memfd')\n"
              "os.write(fd, open(sys.argv[1], 'rb').read())\nos.execv(f'/proc/self/fd/{fd}', ['x', '60000'])\n")
    with running_agent(server, tmp_path) as agent:
        wait_for(lambda: agent.running() and agent.results())
        process = start("/usr/bin/python3", "-c", script, program)
        try:
            agent.wait_uploaded("memfd:agent_memfd", 60)
        finally:
            end(process)
        assert known(server, build_id(program))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can look into the namespaces of others")
def test_a_program_in_another_mount_and_process_namespace_is_sent(server, tmp_path):
    program = build(tmp_path, "program")
    inside = tmp_path / "inside"
    inside.mkdir()
    script = f"mount -t tmpfs none {inside} && cp {program} {inside}/contained && exec {inside}/contained 60000"
    with running_agent(server, tmp_path) as agent:
        wait_for(lambda: agent.running() and agent.results())
        process = start("unshare", "-m", "-p", "-f", "--mount-proc", "sh", "-c", script)
        try:
            assert not (inside / "contained").exists()
            assert agent.wait_uploaded("contained", 60)["id"] == build_id(program)
        finally:
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            for child in children:
                os.kill(int(child), 9)
            end(process)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can look into the namespaces of others")
def test_a_debug_file_that_only_a_container_has_gives_the_names(server, tmp_path):
    """The program is stripped; its debug file is in the folder of debug files of its own root alone."""
    program = build(tmp_path, "stripped")
    identity = build_id(program)
    debug = tmp_path / "debug"
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    full = tmp_path / "full"
    shutil.copy(program, full)
    subprocess.run(["strip", program], check=True)
    value = identity.split(":")[1]
    script = (f"mount -t tmpfs none /usr/lib/debug && mkdir -p /usr/lib/debug/.build-id/{value[:2]} && "
              f"cp {debug} /usr/lib/debug/.build-id/{value[:2]}/{value[2:]}.debug && exec {program} 60000")
    os.makedirs("/usr/lib/debug", exist_ok=True)
    process = start("unshare", "-m", "sh", "-c", script)
    try:
        result = once(server, tmp_path, "--json")
    finally:
        end(process)
    found = next(r for r in lines(result) if r["file"] == str(program))
    assert (found["status"], found["quality"]) == ("uploaded", "symtab"), result.stderr
    assert function_at_server(server, full, "agent_test_function")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root hears of each process as it begins")
def test_a_program_that_was_replaced_is_another_one(server, tmp_path):
    program = build(tmp_path, "program")
    first = build_id(program)
    with running_agent(server, tmp_path) as agent:
        wait_for(lambda: agent.running() and agent.results())
        end(start(program, 1000))
        agent.wait_uploaded(program, 60)
        program.unlink()
        program = build(tmp_path, "program")
        process = start(program, 60000)
        try:
            wait_for(lambda: len(agent.uploaded(program)) == 2, 60)
        finally:
            end(process)
        assert known(server, first) and known(server, build_id(program)) and first != build_id(program)


def test_a_program_that_is_written_over_at_once_is_another_one(server, tmp_path):
    """The inode stays, and less than a second is between the two: the agent has just looked at it."""
    program, second = build(tmp_path, "written"), build(tmp_path, "over")
    identities = [build_id(program), build_id(second)]
    content = second.read_bytes()
    with running_agent(server, tmp_path) as agent:
        wait_for(lambda: agent.running() and agent.results())
        process = start(program, 60000)
        wait_for(lambda: agent.running() and known(server, identities[0]), 60, 0.05)
        end(process)
        program.write_bytes(content)
        process = start(program, 60000)
        try:
            # Not by the next scan, which comes after a minute.
            wait_for(lambda: agent.running() and known(server, identities[1]), 40)
        finally:
            end(process)


def test_programs_of_the_same_name_are_distinct_by_their_paths(server, tmp_path):
    """What the agent prints about one test's program must not pass for that of another test beside it."""
    folders = [tmp_path / "here", tmp_path / "there"]
    for folder in folders:
        folder.mkdir()
    programs = [build(folder, "program") for folder in folders]
    with running_agent(server, tmp_path) as agent:
        processes = [start(program, 60000) for program in programs]
        try:
            wait_for(lambda: all(agent.uploaded(program) for program in programs), 60)
        finally:
            for process in processes:
                end(process)
        assert [agent.uploaded(p)[0]["id"] for p in programs] == [build_id(p) for p in programs]


def test_damaged_programs_cost_only_themselves(server, tmp_path):
    """Files that are mapped as code but are no proper ELF files: read in a child, reported at most."""
    good = build(tmp_path, "good").read_bytes()
    damaged = []
    for i, at in enumerate((16, 40, 52, 58, 64, 100, 200)):
        path = tmp_path / f"damaged{i}"
        path.write_bytes(good[:at] + b"\xff" * 8 + good[at + 8:])
        damaged.append(path)
    (tmp_path / "short").write_bytes(good[:70])
    (tmp_path / "text").write_bytes(b"no program at all\n" * 300)
    script = ("import mmap, sys, time\nkeep = []\nfor path in sys.argv[1:]:\n    f = open(path, 'rb')\n"
              "    keep.append(mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ | mmap.PROT_EXEC, flags=mmap.MAP_PRIVATE))\n"
              "print('ready', flush=True)\ntime.sleep(60)\n")
    process = start("/usr/bin/python3", "-c", script, *damaged, tmp_path / "short", tmp_path / "text",
                    tmp_path / "good")
    try:
        result = once(server, tmp_path, "--json", "-v")
    finally:
        end(process)
    assert result.returncode in (0, 1), result.stderr
    files = {pathlib.Path(r["file"]).name: r for r in lines(result)}
    assert files["good"]["status"] == "uploaded"
    assert "text" not in files


def test_a_file_that_is_cut_short_while_it_is_read_does_no_harm(server, tmp_path):
    """The mapping of a file that shrinks has pages that cannot be read."""
    program = tmp_path / "cut"
    shutil.copy(UNHEX, program)
    script = ("import mmap, sys, time\nf = open(sys.argv[1], 'rb')\n"
              "m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ | mmap.PROT_EXEC, flags=mmap.MAP_PRIVATE)\n"
              "print('ready', flush=True)\ntime.sleep(60)\n")
    with running_agent(server, tmp_path) as agent:
        process = start("/usr/bin/python3", "-c", script, program)
        try:
            for size in (1 << 20, 1 << 16, 4096, 100):
                os.truncate(program, size)
                pause_for(0.3, "the agent may be reading the file")
            other = build(tmp_path, "other")
            running = start(other, 60000)
            wait_for(lambda: agent.running() and known(server, build_id(other)), 60)
            end(running)
        finally:
            end(process)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_an_ordinary_user_sees_its_own_and_learns_what_would_help(server, tmp_path):
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_mode & 0o5 != 0o5 and folder != pathlib.Path("/"):
            folder.chmod(folder.stat().st_mode | 0o55)
    copy, program = tmp_path / "unhex", build(tmp_path, "program")
    shutil.copy(UNHEX, copy)
    copy.chmod(0o755)
    user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--")
    state = tmp_path / "state"
    state.mkdir()
    os.chown(state, 65534, 65534)
    process = start(*user, program, 60000)
    try:
        env = {**server.env, "PATH": os.environ["PATH"]}
        result = subprocess.run([*user, copy, "agent", "--once", "--state", state], env=env, capture_output=True,
                                text=True, timeout=120)
    finally:
        end(process)
    assert result.returncode in (0, 1), result.stderr
    assert f"uploaded       {program} " in result.stdout
    assert "CAP_SYS_PTRACE" in result.stderr
    assert known(server, build_id(program))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_without_the_right_to_the_kernels_addresses_it_says_what_would_help(server, tmp_path):
    symbols = pathlib.Path("/proc/kallsyms").read_text()
    if re.search(r"^0+ \S _text$", symbols, re.M) or not pathlib.Path("/sys/kernel/notes").exists():
        pytest.skip("the kernel shows its addresses to nobody")
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_mode & 0o5 != 0o5 and folder != pathlib.Path("/"):
            folder.chmod(folder.stat().st_mode | 0o55)
    copy = tmp_path / "unhex"
    shutil.copy(UNHEX, copy)
    copy.chmod(0o755)
    listed = {}
    for more in ("", ",+syslog"):
        caps = "-all,+sys_ptrace,+dac_read_search,+checkpoint_restore,+perfmon" + more
        result = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps", caps, "--ambient-caps", caps,
                                 "--bounding-set", caps, "--", copy, "agent", "--once", "--dry-run"],
                                env={**server.env, "PATH": os.environ["PATH"]}, capture_output=True, text=True, timeout=300, cwd=tmp_path)
        assert result.returncode in (0, 1), result.stderr
        listed[more] = ("[kernel]" in result.stdout or "vmlinux" in result.stdout, "CAP_SYSLOG" in result.stderr)
    # Where a vmlinux is on the host, nothing is lacking.
    assert listed[",+syslog"] == (True, False)
    assert listed[""] in ((False, True), (True, False))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_without_the_records_of_the_kernel_processes_are_scanned(server, tmp_path):
    """An agent that may not read the kernel's records says so, and still finds new programs."""
    program = build(tmp_path, "program")
    around = ("setpriv", "--bounding-set", "-sys_admin,-perfmon", "--inh-caps", "-all", "--")
    with running_agent(server, tmp_path, around=around) as agent:
        paranoid = int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text())
        wait_for(lambda: agent.running() and agent.results())
        if paranoid > 0:
            assert "scanning" in agent.text() and "CAP_PERFMON" in agent.text()
        process = start(program, 60000)
        try:
            wait_for(lambda: known(server, build_id(program)), 60)
        finally:
            end(process)


def test_a_server_that_is_not_there_is_an_error_of_once(tmp_path, server):
    result = once(server, tmp_path, env={"UNHEX_URL": "http://127.0.0.1:1"})
    assert result.returncode == 3, result.stderr


def test_an_error_names_what_it_is_about(server, tmp_path):
    """Not the server, which has nothing to do with these."""
    (tmp_path / "file").write_text("")
    for options, subject in ((["--state", tmp_path / "file/state"], tmp_path / "file/state"),
                             (["--state", tmp_path / "s", "--metrics", f"unix:{tmp_path}/file/m"], f"unix:{tmp_path}/file/m")):
        result = server.unhex("agent", "--once", *options)
        assert result.returncode > 0 and result.stderr.startswith(f"unhex: {subject}: cannot "), result.stderr
        assert server.url not in result.stderr


def test_operands_are_refused(server):
    fails(server.unhex("agent", "file"), 2, "unexpected operand")


def test_the_agent_is_documented():
    text = (ROOT / "docs/agent.md").read_text()
    for word in ("--once", "--dwarf", "--dry-run", "CAP_PERFMON", "CAP_SYS_PTRACE"):
        assert word in text
