# SPDX-License-Identifier: Apache-2.0
"""The agent in operation: what it remembers, a server that is away, its share of the processor, metrics"""
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest

from running_agent import run_all, throw_away
from tool import UNHEX, build_id, compile_c, unhex
from waiting import pause_for, wait_for

SLEEPER = """
#include <unistd.h>
int %s(int n) { return n + 1; }
int main(void) { for (;;) { sleep(%s(0)); } }
"""


@pytest.fixture
def program(tmp_path):
    """A program that no other test has, and that runs."""
    name = f"only_{tmp_path.name.replace('-', '_')}_{os.getpid()}"
    path = compile_c(tmp_path, "program", SLEEPER % (name, name), flags=("-O0", "-g"))
    process = subprocess.Popen([path])
    yield path
    process.kill()
    process.wait()


class Agent:
    def __init__(self, server, folder, *options):
        self.out = folder / "agent.out"
        self.state = folder / "state"
        self.file = open(self.out, "ab")
        self.process = subprocess.Popen(
            [UNHEX, "agent", "--json", "--state", self.state, *options], stdout=self.file,
            stderr=self.file, env={**os.environ, **server.env})

    def results(self):
        """Of each file by its path, the last one."""
        lines = self.out.read_text(errors="replace").splitlines()
        return {doc["file"]: doc for doc in map(json.loads, (x for x in lines if x.startswith("{")))}

    def ended(self):
        return self.process.poll() is not None

    def queued(self):
        queue = self.state / "queue"
        return len(list(queue.glob("*.symbols"))) if queue.exists() else 0

    def processor_time(self):
        """Seconds, of the agent and all its children so far."""
        ticks = 0
        for pid in [self.process.pid, *descendants(self.process.pid)]:
            with contextlib.suppress(OSError):
                fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
                ticks += sum(map(int, fields[11:15 if pid == self.process.pid else 13]))
        return ticks / os.sysconf("SC_CLK_TCK")


def descendants(pid):
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            for child in pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text().split():
                found += [int(child), *descendants(int(child))]
    return found


@contextlib.contextmanager
def agent(server, folder, *options):
    a = Agent(server, folder, *options)
    try:
        yield a
    finally:
        a.process.kill()
        a.process.wait()
        a.file.close()


def once(server, folder, *options):
    result = server.unhex("agent", "--once", "--json", "--state", folder / "state", *options)
    assert result.returncode in (0, 1), result.stderr
    return {doc["file"]: doc for doc in map(json.loads, result.stdout.splitlines())}


def is_there(server, binary):
    return server.get(f"/v1/modules/{build_id(binary)}")[0] == 200


def empty(server, folder):
    """The same server without anything in its store."""
    port = server.url.rsplit(":", 1)[1]
    server.stop()
    shutil.rmtree(server.data)
    server.start(f"127.0.0.1:{port}")


# what is known

def test_a_restart_requests_nothing_that_it_knows(server, program, tmp_path):
    assert once(server, tmp_path)[str(program)]["status"] == "uploaded"
    # A server that has lost everything: a query about the program would lead to an upload.
    empty(server, tmp_path)
    assert str(program) not in once(server, tmp_path, "-v")
    assert not is_there(server, program)
    (tmp_path / "state" / "known").unlink()
    assert once(server, tmp_path)[str(program)]["status"] == "uploaded"
    assert is_there(server, program)


def test_with_dwarf_is_another_question(server, program, tmp_path):
    assert once(server, tmp_path)[str(program)]["quality"] == "symtab"
    assert once(server, tmp_path, "--dwarf")[str(program)]["quality"] == "lines"


def test_a_kill_at_any_time_leaves_a_state_that_can_be_read(server, program, tmp_path):
    for n in range(12):
        with agent(server, tmp_path, "--cpu", "none") as a:
            pause_for(0.02 * n * n, "a kill at any moment")
            a.process.send_signal(signal.SIGKILL)
            a.process.wait()
    once(server, tmp_path)
    assert is_there(server, program)


def test_only_one_agent_has_the_state(server, tmp_path):
    with agent(server, tmp_path) as a:
        wait_for(lambda: (a.state / "queue" / "lock").exists())
        wait_for(lambda: (a.state / "known").exists())
        result = server.unhex("agent", "--once", "--state", a.state)
        assert result.returncode != 0
        assert "in use by another process" in result.stderr


def test_a_state_that_cannot_be_written_is_an_error_that_names_it(server, tmp_path):
    (tmp_path / "file").write_text("")
    result = server.unhex("agent", "--once", "--state", tmp_path / "file" / "state")
    assert result.returncode != 0 and str(tmp_path / "file") in result.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")
def test_a_full_disk_costs_what_would_be_kept_alone(server, program, tmp_path):
    state = tmp_path / "state"
    state.mkdir()
    command = (f"mount -t tmpfs -o size=4k none {state} && head -c 4096 /dev/zero > {state}/full && "
               f"exec {UNHEX} agent --once --json --state {state}")
    result = subprocess.run(["unshare", "-m", "sh", "-c", command], capture_output=True, text=True,
                            env={**os.environ, **server.env}, check=False)
    assert result.returncode in (0, 1), result.stderr
    assert "No space left" in result.stderr and "until the agent ends" in result.stderr
    assert is_there(server, program)


# a server that is away

def test_symbols_wait_on_disk_while_the_server_is_away(server, program, tmp_path):
    """For the time of this test the agent is also held to its share of the processor."""
    port = server.url.rsplit(":", 1)[1]
    server.stop()
    with agent(server, tmp_path, "--cpu", "5%") as a:
        begin = time.monotonic()
        wait_for(lambda: is_queued(a, program), 120)
        used, passed = a.processor_time(), time.monotonic() - begin
        # A file that is being read may exceed the share, and the agent waits for as long afterwards.
        assert used <= 0.05 * max(passed, 60) + 1, (used, passed)
        assert not a.ended()
        a.process.send_signal(signal.SIGKILL)
        a.process.wait()
        n = a.queued()
    # What was queued survives, and is sent although the program is gone.
    name = re.search(rb"only_\w+", program.read_bytes())[0].decode()
    identity = build_id(program)
    program.rename(tmp_path / "gone")
    assert n > 0
    server.start(f"127.0.0.1:{port}")
    with agent(server, tmp_path, "--cpu", "none") as a:
        wait_for(lambda: a.queued() == 0)
        wait_for(lambda: a.results().get(str(program), {}).get("status") == "uploaded")
    functions = unhex("gsym", "dump", fetched(server, identity, tmp_path)).stdout
    assert name in functions


def short_program(folder, name):
    """A program that is deleted while it runs: (path, ID, process)."""
    path = compile_c(folder, name, SLEEPER % (f"short_{name}_{os.getpid()}", f"short_{name}_{os.getpid()}"),
                     flags=("-O0", "-g"))
    return path, build_id(path), subprocess.Popen([path])


def test_what_was_deleted_while_the_server_was_away_survives_a_kill(server, tmp_path):
    """It is on disk within seconds, long before the server is tried again."""
    port = server.url.rsplit(":", 1)[1]
    server.stop()
    with agent(server, tmp_path, "--cpu", "none") as a:
        wait_for(lambda: "wait until the server answers" in a.out.read_text())
        pause_for(2, "the agent is at rest")
        path, identity, process = short_program(tmp_path, "deleted")
        pause_for(0.5, "the agent has seen the program")
        path.unlink()
        wait_for(lambda: is_queued(a, path), 9)
        process.kill()
        process.wait()
        a.process.send_signal(signal.SIGKILL)
        a.process.wait()
    server.start(f"127.0.0.1:{port}")
    with agent(server, tmp_path, "--cpu", "none"):
        wait_for(lambda: server.get(f"/v1/modules/{identity}")[0] == 200)


def test_a_file_without_a_name_is_on_disk_before_the_server_is_asked(server, tmp_path):
    metrics = tmp_path / "metrics"
    path, identity, process = short_program(tmp_path, "nameless")
    path.unlink()
    try:
        with agent(server, tmp_path, "--cpu", "none", "--metrics", f"unix:{metrics}"):
            wait_for(lambda: server.get(f"/v1/modules/{identity}")[0] == 200)
            assert values(read_metrics(UnixConnection(metrics)))["unhex_agent_queued_modules_total"] >= 1
    finally:
        process.kill()
        process.wait()


def is_queued(a, program):
    return any(str(program).encode() in message.read_bytes()[:1024]
               for message in (a.state / "queue").glob("*.symbols"))


def fetched(server, identity, folder):
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"))
    connection.request("GET", f"/v1/gsym/{identity}")
    path = folder / "fetched.gsym"
    path.write_bytes(connection.getresponse().read())
    connection.close()
    return path


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the programs are of x86-64")
def test_many_different_programs_take_no_memory_for_good(server, tmp_path):
    paths = throw_away(tmp_path / "programs", 2000)
    with agent(server, tmp_path, "--cpu", "none") as a:
        wait_for(lambda: a.results())
        run_all(paths, 8)
        wait_for(lambda: sum(str(path) in a.results() for path in paths) > 1900, 120, step=1)
        pause_for(2, "the agent has ended its work on the last ones")
        status = pathlib.Path(f"/proc/{a.process.pid}/status").read_text()
        assert int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) < 8 << 10


# what comes first

def filler(megabytes):
    """Text of an assembler for so many bytes that no program reads."""
    return f'__asm__(".data\\n.fill {megabytes << 20}, 1, 7\\n.text\\n");\n'


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the programs are of x86-64")
def test_large_programs_do_not_wait_for_thousands_of_small_ones(server, tmp_path):
    """With the default share of a core, most of which the throw-away programs would use up."""
    paths = throw_away(tmp_path / "programs", 5000)
    large = [compile_c(tmp_path, f"large{i}", SLEEPER % (f"large{i}", f"large{i}") + filler(6), flags=("-O0",
                       f"-Wl,--build-id=0x{os.urandom(16).hex()}")) for i in range(4)]
    once(server, tmp_path, "--no-gpu")  # what runs here anyway
    first = compile_c(tmp_path, "first", SLEEPER % ("first", "first"), flags=("-O0",))
    with agent(server, tmp_path), subprocess.Popen([first]) as process, concurrent.futures.ThreadPoolExecutor() as pool:
        wait_for(lambda: is_there(server, first))
        process.kill()
        small = pool.submit(run_all, paths, 25)
        pause_for(15, "thousands of small programs are in the queue")
        processes = [subprocess.Popen([path]) for path in large]
        begin = time.monotonic()
        try:
            # Some seconds on a machine with nothing else to do; they waited for minutes, until the others had ended.
            wait_for(lambda: all(is_there(server, path) for path in large), 60)
        finally:
            for process in processes:
                process.kill()
                process.wait()
        waited = time.monotonic() - begin
        small.result()
    print(f"large programs were known after {waited:.1f} s")


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the programs are of x86-64")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run programs of others")
def test_programs_of_a_user_do_not_wait_for_thousands_of_another_one(server, tmp_path):
    """Small ones for small ones, with the default share of a core, most of which the others would use up."""
    nobody, service = 65534, 4711
    with tempfile.TemporaryDirectory() as folder:  # that of the test is closed to others
        os.chmod(folder, 0o755)
        paths = throw_away(pathlib.Path(folder) / "programs", 5000)
        own = [compile_c(pathlib.Path(folder), f"service{i}", SLEEPER % (f"service{i}", f"service{i}"), flags=("-O0",
                         f"-Wl,--build-id=0x{os.urandom(16).hex()}")) for i in range(4)]
        once(server, tmp_path, "--no-gpu")  # what runs here anyway
        with agent(server, tmp_path), concurrent.futures.ThreadPoolExecutor() as pool:
            small = pool.submit(run_all, paths, 25, user=nobody)
            pause_for(15, "thousands of small programs are in the queue")
            processes = [subprocess.Popen([path], user=service) for path in own]
            begin = time.monotonic()
            try:
                # Some seconds on a machine with nothing else to do; they waited for minutes, until the others had ended.
                wait_for(lambda: all(is_there(server, path) for path in own), 30)
            finally:
                for process in processes:
                    process.kill()
                    process.wait()
            waited = time.monotonic() - begin
            small.result()
    print(f"a service's programs were known after {waited:.1f} s")


def test_excluded_paths_are_not_read(server, program, tmp_path):
    other = tmp_path / "left-out"
    other.mkdir()
    path = compile_c(other, "program", SLEEPER % ("left_out", "left_out"), flags=("-O0",))
    process = subprocess.Popen([path])
    try:
        found = once(server, tmp_path, "-v", "--exclude", "*/left-out/*", "--exclude", "/nowhere/*")
    finally:
        process.kill()
        process.wait()
    assert str(program) in found and str(path) not in found


# what a distribution's servers have

def test_what_a_debuginfod_server_has_is_noted_and_not_uploaded(server, program, tmp_path, request):
    other = type(server)(tmp_path / "distribution").start()
    request.addfinalizer(other.stop)
    found = once(server, tmp_path, "-v", "--debuginfod", other.url, "--dry-run")[str(program)]
    assert found["reason"] == "dry run: would be uploaded"
    assert other.unhex("push", "--with-debuginfo", program).returncode == 0
    found = once(server, tmp_path, "-v", "--debuginfod", "http://127.0.0.1:9", "--debuginfod",
                 other.url)[str(program)]
    assert found["status"] == "skipped" and found["reason"] == f"{other.url} has its debug file"
    assert not is_there(server, program)
    assert str(program) not in once(server, tmp_path, "-v", "--debuginfod", other.url)


def test_uploads_stay_within_their_rate(server, program, tmp_path):
    rate = 4 << 20
    begin = time.monotonic()
    sent = sum(doc.get("size", 0) for doc in once(server, tmp_path, "--rate", "4M").values())
    assert sent > 0
    # A second's worth may be sent at once.
    assert time.monotonic() - begin >= sent / rate - 1.5


# metrics

def read_metrics(connection):
    connection.request("GET", "/metrics")
    answer = connection.getresponse()
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    text = answer.read().decode()
    connection.close()
    return text


def values(text):
    return {name: float(value) for name, value in
            (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))}


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self.path))


def test_metrics_say_what_was_done(server, program, tmp_path):
    path = tmp_path / "metrics"
    with agent(server, tmp_path, "--cpu", "none", "--metrics", f"unix:{path}") as a:
        wait_for(lambda: str(program) in a.results())
        wait_for(path.exists)
        wait_for(lambda: values(read_metrics(UnixConnection(path)))["unhex_agent_known_answers"] > 0)
        v = values(read_metrics(UnixConnection(path)))
        uploaded = v['unhex_agent_modules_total{result="uploaded"}']
        assert uploaded >= 1
        # Lines, not paths: a path may stand for a file here and for another one in a container.
        wait_for(lambda: a.out.read_text(errors="replace").count('"status":"uploaded"') >= uploaded)
    assert v["unhex_agent_upload_bytes_total"] > 0
    assert v["unhex_agent_server_up"] == 1
    assert v["unhex_agent_processes"] > 0
    assert v["unhex_agent_queue_modules"] == 0


def test_metrics_on_a_port_and_in_the_documentation(server, tmp_path):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    with agent(server, tmp_path, "--metrics", f"127.0.0.1:{port}"):
        def read():
            with contextlib.suppress(OSError):
                return read_metrics(http.client.HTTPConnection("127.0.0.1", port))
        text = wait_for(read)
    names = set(re.findall(r"^# TYPE (\S+) (?:counter|gauge)$", text, re.M))
    assert len(names) > 20 and names == set(re.findall(r"^# HELP (\S+) ", text, re.M))
    documented = (pathlib.Path(__file__).parents[2] / "docs" / "agent-operation.md").read_text()
    for name in names:
        assert name == "unhex_build_info" or re.fullmatch(r"unhex_agent_[a-z_]+", name)
        assert f"`{name}`" in documented
        assert name.endswith("_total") == (f"# TYPE {name} counter" in text)


def test_a_file_at_the_path_of_the_socket_stays(server, tmp_path):
    path = tmp_path / "notes"
    path.write_text("of a person")
    result = server.unhex("agent", "--once", "--state", tmp_path / "state", "--metrics",
                              f"unix:{path}")
    assert result.returncode != 0 and str(path) in result.stderr
    assert path.read_text() == "of a person"


@pytest.mark.parametrize("text", ["", "%", "0", "0%", "-5%", "5%%", "five", "1000000"])
def test_a_share_that_is_none_is_refused(text):
    result = unhex("agent", "--once", "--url", "http://127.0.0.1:9", "--cpu", text)
    assert result.returncode == 2 and "not a share of a core" in result.stderr


# the unit

def test_the_unit_is_what_systemd_takes_and_calls_confined(tmp_path):
    root = pathlib.Path(__file__).parents[2]
    text = (root / "packaging/systemd/unhex-agent.service.in").read_text()
    text = text.replace("@bindir@/unhex", str(pathlib.Path(UNHEX).resolve()))
    assert not re.search(r"@\w+@", text)
    settings = dict(line.split("=", 1) for line in text.splitlines() if re.match(r"\w+=", line))
    # These hide /proc/kallsyms and /usr/lib/modules, which the kernel's names are from (systemd.exec(5)).
    assert not {"ProtectKernelTunables", "ProtectKernelModules"} & set(settings)
    assert settings["AmbientCapabilities"] == settings["CapabilityBoundingSet"]
    cluster = (root / "packaging/kubernetes/unhex-agent.yaml").read_text()
    assert re.search(r"add: \[(.*)\]", cluster)[1].split(", ") == settings["AmbientCapabilities"].replace("CAP_", "").split()
    (tmp_path / "unhex-agent.service").write_text(text)
    for command in (["verify", "--man=no"], ["security", "--offline=true", "--threshold=33", "--no-pager"]):
        done = subprocess.run(["systemd-analyze", *command, "./unhex-agent.service"], cwd=tmp_path,
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0 and "unhex" not in done.stderr, done.stdout[-2000:] + done.stderr
