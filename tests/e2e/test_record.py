# SPDX-License-Identifier: Apache-2.0
"""unhex record, and the recordings of flame and top: what was sampled, how it ends, what it says."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

from interpreters import cpu_time
from live import may_record
from tool import UNHEX, build_id, fails, unhex
from waiting import pause_for, wait_for

SOURCE = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned long sink;
__attribute__((noinline)) void hot_leaf(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink += i * i;
}
__attribute__((noinline)) void hot_caller(unsigned long n)
{
	hot_leaf(n);
	sink++;
}
__attribute__((noinline)) void cool_caller(unsigned long n)
{
	hot_leaf(n / 3);
	sink++;
}
static double used(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
/* Three quarters of the time in one caller, one quarter in the other one. */
__attribute__((noinline)) void *work(void *seconds)
{
	double end = used(CLOCK_THREAD_CPUTIME_ID) + *(double *)seconds;
	while (used(CLOCK_THREAD_CPUTIME_ID) < end) {
		/* Much shorter than the time between two samples, so that no rhythm of the two favours one caller. */
		hot_caller(30000);
		cool_caller(30000);
	}
	return NULL;
}
static void *named(void *seconds)
{
	prctl(PR_SET_NAME, "a thread");
	return work(seconds);
}
int main(int argc, char **argv)
{
	double seconds = atof(argv[1]);
	const char *how = argc > 2 ? argv[2] : "";
	pthread_t thread;
	if (strchr(how, 't')) {
		pthread_create(&thread, NULL, named, &seconds);
		pthread_join(thread, NULL);
	} else if (strchr(how, 'c') && fork() == 0) {
		execl(argv[0], "child", argv[1], (char *)NULL);
		_exit(1);
	} else if (!strchr(how, 'c')) {
		work(&seconds);
	}
	wait(NULL);
	puts("the program's own output");
	return argc > 3 ? atoi(argv[3]) : 0;
}
"""


pytestmark = pytest.mark.skipif(not may_record(), reason="this machine's kernel lets nobody record")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("record")
    folder.chmod(0o755)
    (folder / "busy.c").write_text(SOURCE)
    subprocess.run(["gcc", "-O0", "-g", "-fno-omit-frame-pointer", "-pthread", "-o", "busy", "busy.c"], cwd=folder, check=True)
    return folder / "busy"


def folded(path):
    """Stacks and their counts, as unhex itself reads them from a profile."""
    r = unhex("symbolize", path, "--to", "folded", "--value", "samples")
    assert r.returncode == 0, r.stderr
    stacks = {}
    for line in r.stdout.splitlines():
        stack, count = line.rsplit(" ", 1)
        stacks[tuple(stack.split(";"))] = int(count)
    return stacks


def total(stacks, *names):
    """How many samples have all of these functions."""
    return sum(n for stack, n in stacks.items() if all(name in stack for name in names))


def recorded(stderr):
    return int(re.search(r"recorded (\d+) samples in", stderr)[1])


def test_a_command_is_recorded_with_its_hot_function_and_its_callers(program, tmp_path):
    r = unhex("record", "-F", "997", "-o", tmp_path / "out.pb.gz", "--", program, "1")
    assert r.returncode == 0, r.stderr
    assert "the program's own output" in r.stdout
    stacks = folded(tmp_path / "out.pb.gz")
    everything = total(stacks)
    assert everything == recorded(r.stderr) > 700
    assert total(stacks, "hot_leaf") > 0.9 * everything
    assert 0.6 < total(stacks, "hot_caller", "hot_leaf") / everything < 0.9
    assert 0.1 < total(stacks, "cool_caller", "hot_leaf") / everything < 0.4
    # Before a function has its frame, the kernel does not see the caller.
    assert 0 <= total(stacks, "hot_caller") - total(stacks, "main", "work", "hot_caller") <= 0.01 * everything


@pytest.fixture(scope="module")
def clock(tmp_path_factory):
    """A program that reads the clock, whose vDSO perf names.

    perf only names what of the vDSO it has in its cache, and puts it there when it records it.
    """
    folder = tmp_path_factory.mktemp("clock")
    (folder / "clock.c").write_text("""
#include <time.h>
int main(void)
{
	struct timespec t;
	unsigned long sum = 0;
	for (long i = 0; i < 20000000; i++) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		sum += t.tv_nsec;
	}
	return sum == 1;
}
""")
    subprocess.run(["gcc", "-O1", "-o", "clock", "clock.c"], cwd=folder, check=True)
    subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-o", folder / "perf.data", "--", folder / "clock"],
                   check=True, capture_output=True)
    return folder / "clock"


@pytest.fixture(scope="module")
def vdso_functions(tmp_path_factory):
    """Ranges of the functions in this machine's vDSO: Linux 6.18 has code in it that belongs to no symbol."""
    file = tmp_path_factory.mktemp("vdso") / "vdso.so"
    maps = pathlib.Path("/proc/self/maps").read_text()
    start, end = (int(n, 16) for n in re.search(r"^(\w+)-(\w+) .*\[vdso\]$", maps, re.M).groups())
    with open("/proc/self/mem", "rb") as memory:
        memory.seek(start)
        file.write_bytes(memory.read(end - start))
    r = subprocess.run(["readelf", "-W", "--dyn-syms", file], capture_output=True, text=True, check=True)
    found = re.findall(r"^ *\d+: (\w+) +(\d+) FUNC ", r.stdout, re.M)
    assert found, r.stdout
    return [range(int(value, 16), int(value, 16) + int(size)) for value, size in found]


def test_code_of_the_vdso_has_the_name_that_perf_gives_it(clock, vdso_functions, tmp_path):
    for name in ["out.data", "out.pb.gz"]:
        r = unhex("record", "-F", "997", "-o", tmp_path / name, "--", clock)
        assert r.returncode == 0, r.stderr
        leaves = {stack[-1]: 0 for stack in folded(tmp_path / name)}
        offsets = [int(leaf[len("[vdso+"):-1], 16) for leaf in leaves if leaf.startswith("[vdso+")]
        assert not [o for o in offsets if any(o in function for function in vdso_functions)], leaves
    r = subprocess.run(["perf", "buildid-list", "-i", tmp_path / "out.data"], capture_output=True, text=True, check=True)
    assert re.search(r"^[0-9a-f]{40} \[vdso\]$", r.stdout, re.M)
    r = subprocess.run(["perf", "script", "-i", tmp_path / "out.data", "-F", "ip,sym,dso", "-G"], capture_output=True,
                       text=True, check=True)
    perf = [line.split()[1] for line in r.stdout.splitlines() if line.endswith("([vdso])")]
    of_clock = sum("clock_gettime" in name for name in perf)
    nameless = perf.count("[unknown]")
    assert len(perf) > 50 and of_clock > 20 and of_clock + nameless > 0.9 * len(perf)
    stacks = folded(tmp_path / "out.data")
    assert sum(n for stack, n in stacks.items() if "clock_gettime" in stack[-1]) >= of_clock
    assert sum(n for stack, n in stacks.items() if stack[-1].startswith("[vdso+")) == nameless


def test_perf_reads_a_recording_as_unhex_does(program, clock, tmp_path):
    data = tmp_path / "perf.data"
    r = unhex("record", "-F", "997", "-o", data, "--", program, "0.5", "t")
    assert r.returncode == 0 and f"wrote {data}" in r.stderr, r.stderr
    script = subprocess.run(["perf", "script", "-i", data, "-F", "comm,ip,sym", "--no-inline"], capture_output=True,
                            text=True, check=True)
    of_perf = {}
    for block in script.stdout.split("\n\n"):
        frames = [line.split(maxsplit=1)[1].strip() for line in block.splitlines()[1:]]
        if frames:
            stack = tuple(reversed(frames))
            of_perf[stack] = of_perf.get(stack, 0) + 1
    ours = folded(data)
    assert total(of_perf) == total(ours) == recorded(r.stderr)
    for names in (("hot_leaf",), ("hot_caller", "hot_leaf"), ("cool_caller", "hot_leaf"), ("named", "work")):
        assert total(of_perf, *names) == total(ours, *names) > 0
    assert "a thread" in subprocess.run(["perf", "script", "-i", data, "-F", "comm"], capture_output=True, text=True,
                                        check=True).stdout
    report = subprocess.run(["perf", "report", "-i", data, "--stdio", "--no-children"], capture_output=True, text=True)
    assert report.returncode == 0 and "hot_leaf" in report.stdout, report.stderr


def test_shares_are_those_that_perf_records(program, tmp_path):
    subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "997", "-g", "-o", tmp_path / "theirs.data", "--",
                    program, "2"], check=True, capture_output=True)
    assert unhex("record", "-F", "997", "-o", tmp_path / "ours.data", "--", program, "2").returncode == 0
    ours, theirs = folded(tmp_path / "ours.data"), folded(tmp_path / "theirs.data")
    for names in (("hot_leaf",), ("hot_caller", "hot_leaf"), ("cool_caller", "hot_leaf")):
        share = total(ours, *names) / total(ours)
        assert abs(share - total(theirs, *names) / total(theirs)) < 0.05, names


@pytest.mark.parametrize("how", ["t", "c"])
def test_threads_and_children_are_recorded(program, tmp_path, how):
    r = unhex("record", "-F", "997", "-o", tmp_path / "out.data", "--", program, "0.5", how)
    assert r.returncode == 0, r.stderr
    stacks = folded(tmp_path / "out.data")
    assert total(stacks, "hot_leaf") > 0.8 * total(stacks) > 300


def test_the_exit_status_is_that_of_the_command(program, tmp_path):
    out = tmp_path / "out.data"
    r = unhex("record", "-o", out, "--", program, "0.05", "", "7")
    assert r.returncode == 7 and "ended with status 7" in r.stderr
    r = unhex("record", "-o", out, "--", "sh", "-c", "kill -9 $$")
    assert r.returncode == 128 + 9 and "signal 9 ended the command" in r.stderr
    assert out.exists()


def test_a_command_that_cannot_be_executed_leaves_no_file(tmp_path):
    r = unhex("record", "-o", tmp_path / "out.data", "--", "/no/such/program")
    fails(r, 1, "/no/such/program", "cannot execute it", "No such file")
    assert list(tmp_path.iterdir()) == []


def test_a_process_is_recorded_for_a_time(program, tmp_path):
    with subprocess.Popen([program, "60", "t"], stdout=subprocess.DEVNULL) as target:
        try:
            wait_for(lambda: len(os.listdir(f"/proc/{target.pid}/task")) == 2)
            began = time.monotonic()
            r = unhex("record", "-F", "997", "-p", target.pid, "--duration", "700ms", "-o", tmp_path / "out.pb.gz")
            assert time.monotonic() - began > 0.7
            assert r.returncode == 0, r.stderr
            assert target.poll() is None
        finally:
            target.kill()
    stacks = folded(tmp_path / "out.pb.gz")
    assert total(stacks, "named", "work", "hot_leaf") > 0.8 * total(stacks) > 5


def test_a_process_in_another_mount_namespace_has_its_own_files(program, tmp_path):
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        pytest.skip("another mount namespace is refused here")
    folder = tmp_path / "over"
    folder.mkdir()
    command = ["unshare", "-m", "sh", "-c", f"mount --bind {program.parent} {folder} && exec {folder}/busy 60"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as target:
        try:
            wait_for(lambda: pathlib.Path(f"/proc/{target.pid}/comm").read_text() == "busy\n")
            assert not (folder / "busy").exists()
            r = unhex("record", "-F", "997", "-p", target.pid, "--duration", "500ms", "-o", tmp_path / "out.pb.gz")
        finally:
            target.kill()
    assert r.returncode == 0, r.stderr
    stacks = folded(tmp_path / "out.pb.gz")
    assert total(stacks, "work", "hot_leaf") > 0.8 * total(stacks) > 5


def test_lost_records_are_counted_and_told(program, tmp_path):
    """Copies of whole stacks, faster than one reader among busy programs takes them."""
    out = tmp_path / "out.data"
    with subprocess.Popen([UNHEX, "record", "-F", "50000", "--call-graph", "dwarf,65528", "-o", out, "--", program, "60"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as recorder:
        wait_for(lambda: any(p.stat().st_size > 2000 for p in tmp_path.iterdir()))
        recorder.send_signal(signal.SIGSTOP)
        pause_for(0.5, "the rings fill up")
        recorder.send_signal(signal.SIGCONT)
        recorder.send_signal(signal.SIGTERM)
        _, stderr = recorder.communicate(timeout=120)
    lost = int(re.search(r"(\d+) records were lost", stderr)[1])
    assert lost > 0
    script = subprocess.run(["perf", "script", "-i", out, "--show-lost-events", "-F", "comm"], capture_output=True, text=True)
    assert sum(int(n) for n in re.findall(r"PERF_RECORD_LOST.*lost (\d+)", script.stdout)) == lost


def test_everything_is_recorded_with_the_kernel(program, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root may record all processes")
    with subprocess.Popen([program, "60"], stdout=subprocess.DEVNULL) as target:
        try:
            r = unhex("record", "-F", "997", "--all", "--duration", "1", "-o", tmp_path / "out.data")
        finally:
            target.kill()
    assert r.returncode == 0, r.stderr
    script = subprocess.run(["perf", "script", "-i", tmp_path / "out.data", "-F", "comm,pid,ip,sym"],
                            capture_output=True, text=True, check=True)
    assert re.search(rf"^\s*busy\s+{target.pid}\s", script.stdout, re.M)
    stacks = folded(tmp_path / "out.data")
    assert total(stacks, "hot_leaf") > 10
    assert total(stacks) == recorded(r.stderr)


STORM = """
while :; do
	for i in 1 2 3 4; do sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); done' & done
	wait
done
"""


def test_processes_that_end_as_a_recording_begins_cost_no_names(tmp_path):
    """Their mappings cannot be read any more: a thread without a name, and code in no file."""
    if os.geteuid() != 0:
        pytest.skip("the whole system is root's to record")
    with subprocess.Popen(["sh", "-c", STORM], start_new_session=True) as storm:
        try:
            for _ in range(5):
                r = unhex("record", "--all", "-F", "997", "--duration", "1", "-o", tmp_path / "out.perf.data")
                assert r.returncode == 0, r.stderr
                stacks = folded(tmp_path / "out.perf.data")
                # A process that has ended has no number any more, and samples of its end have -1.
                assert not [s for s in stacks if re.fullmatch(r":\d+", s[0])]
                assert total(stacks) == recorded(r.stderr) > 0
        finally:
            os.killpg(storm.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def without_build_id(program):
    path = program.with_name("no-build-id")
    subprocess.run(["gcc", "-O0", "-g", "-fno-omit-frame-pointer", "-pthread", "-Wl,--build-id=none", "-o", path, program.with_suffix(".c")], check=True)
    return path


@pytest.mark.parametrize("how", ["perf.data", "pb.gz", "process"])
def test_a_file_without_a_build_id_is_named_by_the_server(without_build_id, server, tmp_path, how):
    """Its File ID is in the recording: where it was mapped before, where it was mapped meanwhile, and in pprof."""
    program = tmp_path / "gone"
    shutil.copy(without_build_id, program)
    out = tmp_path / f"out.{'perf.data' if how == 'process' else how}"
    if how == "process":
        with subprocess.Popen([program, "60"], stdout=subprocess.DEVNULL) as process:
            try:
                wait_for(lambda: cpu_time(process.pid) > 0.1)
                r = unhex("record", "--pid", process.pid, "-F", "997", "--duration", "1", "-o", out)
            finally:
                process.kill()
    else:
        r = unhex("record", "-F", "997", "-o", out, "--no-local" if how == "pb.gz" else "-v", "--", program, "1")
    assert r.returncode == 0, r.stderr
    assert build_id(program).startswith("file:")
    assert server.unhex("push", program).returncode == 0
    program.unlink()
    r = server.unhex("symbolize", out, "--to", "folded", "--value", "samples")
    assert r.returncode == 0, r.stderr
    hot = sum(int(line.rsplit(" ", 1)[1]) for line in r.stdout.splitlines() if ";hot_leaf" in line)
    everything = sum(int(line.rsplit(" ", 1)[1]) for line in r.stdout.splitlines())
    assert hot > 0.9 * everything > 0, r.stderr


def test_two_files_at_one_path_are_two_modules(without_build_id, server, tmp_path):
    """As services of two containers are: each is named by its own file, though none has a build ID."""
    place = tmp_path / "service"
    out = tmp_path / "out.perf.data"
    other = tmp_path / "other.c"
    other.write_text(SOURCE.replace("hot_leaf", "other_leaf"))
    subprocess.run(["gcc", "-O0", "-g", "-fno-omit-frame-pointer", "-pthread", "-Wl,--build-id=none", "-o", tmp_path / "other", other], check=True)
    for file in (without_build_id, tmp_path / "other"):
        assert server.unhex("push", file).returncode == 0
    script = f"cp {without_build_id} {place}; {place} 0.5; rm {place}; cp {tmp_path}/other {place}; {place} 0.5; rm {place}"
    r = unhex("record", "-F", "997", "-o", out, "--", "sh", "-c", script)
    assert r.returncode == 0, r.stderr
    r = server.unhex("symbolize", out, "--to", "folded", "--value", "samples")
    hot, others = (sum(int(line.rsplit(" ", 1)[1]) for line in r.stdout.splitlines() if line.startswith("service;") and name in line)
                   for name in (";hot_leaf", ";other_leaf"))
    assert hot > 200 and others > 200, r.stdout


def wait_until_recorded(pid, folder):
    """The recording has begun, and the process ran for 30 samples since."""
    wait_for(lambda: any(p.stat().st_size > 2000 for p in folder.iterdir()))
    until = cpu_time(pid) + 0.3
    wait_for(lambda: cpu_time(pid) >= until)


def child_of(pid):
    return wait_for(lambda: [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()])[0]


@pytest.mark.parametrize("how", ["", "t"])
def test_a_recording_ends_with_its_process_though_nothing_waits_for_that(program, tmp_path, how):
    out = tmp_path / "out.data"
    with subprocess.Popen([program, "60", how], stdout=subprocess.DEVNULL) as target:
        with subprocess.Popen([UNHEX, "record", "-p", str(target.pid), "-o", out], stderr=subprocess.PIPE,
                              text=True) as recorder:
            wait_until_recorded(target.pid, tmp_path)
            os.kill(target.pid, signal.SIGKILL)
            _, stderr = recorder.communicate(timeout=60)
    assert recorder.returncode == 0 and recorded(stderr) > 0, stderr


def test_ctrl_c_ends_a_recording_of_a_process_and_keeps_it(program, tmp_path):
    with subprocess.Popen([program, "60"], stdout=subprocess.DEVNULL) as target:
        out = tmp_path / "out.data"
        with subprocess.Popen([UNHEX, "record", "-p", str(target.pid), "-o", out], stderr=subprocess.PIPE,
                              text=True) as recorder:
            try:
                wait_until_recorded(target.pid, tmp_path)
                recorder.send_signal(signal.SIGINT)
                _, stderr = recorder.communicate(timeout=60)
            finally:
                target.kill()
    assert recorder.returncode == 0 and recorded(stderr) > 0, stderr
    assert total(folded(out), "hot_leaf") > 0


def test_a_signal_is_passed_on_to_the_command_and_the_recording_kept(program, tmp_path):
    out = tmp_path / "out.data"
    with subprocess.Popen([UNHEX, "record", "-o", out, "--", program, "60"], stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as recorder:
        wait_until_recorded(child_of(recorder.pid), tmp_path)
        recorder.send_signal(signal.SIGTERM)
        _, stderr = recorder.communicate(timeout=60)
    assert recorder.returncode == 128 + signal.SIGTERM, stderr
    assert total(folded(out), "hot_leaf") > 0


def test_after_its_duration_the_command_is_ended(program, tmp_path):
    out = tmp_path / "out.data"
    r = unhex("record", "--duration", "2s", "-o", out, "--", program, "60")
    assert r.returncode == 0, r.stderr
    assert subprocess.run(["pgrep", "-f", f"^{program} 60$"], capture_output=True).returncode == 1
    assert total(folded(out), "hot_leaf") > 0


def test_flame_and_top_record_a_command_themselves(program, tmp_path):
    r = unhex("top", "-F", "997", "--", program, "0.3")
    assert r.returncode == 0, r.stderr
    assert "hot_leaf" in r.stdout and "the program's own output" in r.stdout
    r = unhex("flame", "-F", "997", "--", program, "0.3", cwd=tmp_path)
    assert r.returncode == 0 and "wrote busy.html" in r.stderr, r.stderr
    page = (tmp_path / "busy.html").read_text()
    assert "<title>busy - flame graph" in page and "_caller" in page
    r = unhex("flame", "-o", tmp_path / "busy.folded", "-F", "997", "--", program, "0.3")
    assert r.returncode == 0 and "hot_caller;hot_leaf" in (tmp_path / "busy.folded").read_text(), r.stderr


def test_a_recording_without_callers_has_leaves_alone(program, tmp_path):
    r = unhex("record", "-F", "997", "--call-graph", "none", "-o", tmp_path / "out.data", "--", program, "0.3")
    assert r.returncode == 0, r.stderr
    # With the program's name. Code of the dynamic linker may have inlined calls.
    assert {len(stack) for stack in folded(tmp_path / "out.data") if stack[-1] == "hot_leaf"} == {2}


def unprivileged(*args, cwd):
    """The command as another user, without the rights of root."""
    copy = pathlib.Path(cwd) / "unhex"
    copy.write_bytes(pathlib.Path(UNHEX).read_bytes())
    copy.chmod(0o755)
    return subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", copy, *map(str, args)],
                          capture_output=True, text=True, cwd=cwd, env={"PATH": os.environ["PATH"]})


def test_what_is_not_permitted_is_said_with_the_setting(program, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    paranoid = int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    folder = tmp_path / "free"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    for path in (tmp_path, *tmp_path.parents):  # the other user goes through them
        if path.stat().st_mode & 0o001 == 0:
            path.chmod(0o711)
    if paranoid > 0:
        r = unprivileged("record", "--all", "--duration", "1", "-o", folder / "out.data", cwd=folder)
        fails(r, 1, f"kernel.perf_event_paranoid is {paranoid}", "CAP_PERFMON",
              "sysctl kernel.perf_event_paranoid=0")
    if paranoid == 2:
        r = unprivileged("record", "-F", "997", "-o", folder / "out.data", "--", program, "0.3", cwd=folder)
        assert r.returncode == 0, r.stderr
        assert "the recording lacks kernel code: kernel.perf_event_paranoid is 2" in r.stderr
        assert total(folded(folder / "out.data"), "hot_leaf") > 0
    with subprocess.Popen([program, "60"], stdout=subprocess.DEVNULL) as target:
        try:
            r = unprivileged("record", "-p", target.pid, "-o", folder / "no.data", cwd=folder)
        finally:
            target.kill()
    assert r.returncode == 1 and "CAP_PERFMON" in r.stderr, r.stderr
    assert not (folder / "no.data").exists()


@pytest.mark.parametrize("args, words", [
    ([], ["nothing to record"]),
    (["--"], ["expected a command after --"]),
    (["-p", "1", "--", "true"], ["one of"]),
    (["-p", "x"], ["--pid", "process ID"]),
    (["-p", "1", "-F", "1000000"], ["--frequency", "50000"]),
    (["-p", "1", "--duration", "1.5"], ["--duration", "10 or 5m"]),
    (["-p", "1", "--call-graph", "lbr"], ["--call-graph", "dwarf"]),
    (["-p", "1", "--call-graph", "dwarf,100000"], ["--call-graph", "65528"]),
    (["-p", "1", "--to", "x"], ["--to x", "perf.data"]),
    (["program"], ["expected -- before the command", "unhex record -- program"]),
    (["program", "--", "x"], ["is before --", "unhex record -- COMMAND"]),
])
def test_a_wrong_command_line_is_refused(args, words):
    fails(unhex("record", *args), 2, *words)


def test_a_process_that_does_not_exist_is_said():
    fails(unhex("record", "-p", "999999999"), 1, "process 999999999 does not exist")
