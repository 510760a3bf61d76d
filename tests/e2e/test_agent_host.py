# SPDX-License-Identifier: Apache-2.0
"""A host with services in many languages, watched by the agent. The oracle of what must be known is /proc/PID/maps with
readelf's build IDs; then a recording of the host is named through the server alone, which has a mirror of Debian as an
upstream, and by perf on the host with all that is installed there."""
import collections
import contextlib
import glob
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest

from unhex_server import Server
from postgres_server import Postgres
from running_agent import running_agent
from test_agent import build
from tool import ROOT, unhex
from waiting import wait_for

NODE = "let x = 0; setInterval(() => { for (let i = 0; i < 3e6; i++) x = (x * 31 + i) % 65521; }, 20); console.log('ready');"
PYTHON = "import json, time\nprint('ready', flush=True)\nwhile True:\n    json.loads(json.dumps(list(range(20000)))); time.sleep(0.01)\n"
GO = """package main
import ("fmt"; "time"; "sort")
func main() { fmt.Println("ready"); for { v := make([]int, 200000); for i := range v { v[i] = (i * 7919) % 65521 }
	sort.Ints(v); time.Sleep(10 * time.Millisecond) } }
"""
RUST = """fn main() { println!("ready"); let mut m = std::collections::BTreeMap::new();
	loop { for i in 0..50000u64 { m.insert(i * 7919 % 65521, i); } m.clear();
	std::thread::sleep(std::time::Duration::from_millis(10)); } }
"""
JAVA = """public class Busy { public static void main(String[] a) throws Exception { System.out.println("ready");
	java.util.zip.CRC32 c = new java.util.zip.CRC32(); byte[] b = new byte[1 << 20];
	while (true) { for (int i = 0; i < 20; i++) c.update(b); Thread.sleep(10); } } }
"""
SHORT = 20
KNOWN_S = 15   # the promise, on a host that is not busy with other things
BUSY_S = 300   # what a test run may take on a machine that is
# Debian's own, of the version that is on the mirror, as its debug package is (tools/interpreters.sh).
PYTHON_OF_MIRROR = ROOT / ".peers/interpreters/bookworm/bin/python3.11"
SYMTAB = ("symtab", "gopclntab", "lines", "inlines")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def ready(*command, **how):
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               start_new_session=True, **how)
    assert process.stdout.readline().strip() == "ready", command
    return process


def start_query(postgres):
    """A query that computes for as long as the test."""
    text = "select count(sin(a) + cos(a)) from generate_series(1, 1000000000) a"
    return subprocess.Popen(["psql", postgres.url(), "-qc", text], cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            start_new_session=True)


def start_nginx(folder):
    port = free_port()
    config = folder / "nginx.conf"
    config.write_text(f"daemon off; pid {folder}/nginx.pid; error_log /dev/null; events {{}}\n"
                      f"http {{ access_log off; server {{ listen 127.0.0.1:{port}; location / {{ return 200 'ok'; }} }} }}\n")
    server = subprocess.Popen([shutil.which("nginx") or "/usr/sbin/nginx", "-c", config, "-p", folder],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    loop = f"while :; do curl -s -o /dev/null http://127.0.0.1:{port}/ http://127.0.0.1:{port}/; done"
    return [server, subprocess.Popen(["sh", "-c", loop], start_new_session=True, stderr=subprocess.DEVNULL)]


def start_services(folder, services):
    (folder / "busy.go").write_text(GO)
    (folder / "busy.rs").write_text(RUST)
    (folder / "Busy.java").write_text(JAVA)
    subprocess.run(["go", "build", "-ldflags", f"-B 0x{os.urandom(20).hex()}", "-o", folder / "busy-go", folder / "busy.go"], check=True,
                   env={**os.environ, "GO111MODULE": "off", "GOCACHE": str(folder / "cache"), "HOME": str(folder)})
    subprocess.run(["rustc", "-O", "-C", "link-arg=-Wl,--build-id", "-o", folder / "busy-rust", folder / "busy.rs"], check=True)
    subprocess.run(["javac", "-d", folder, folder / "Busy.java"], check=True)
    for command in (("node", "--perf-basic-prof", "-e", NODE), (PYTHON_OF_MIRROR, "-c", PYTHON), (folder / "busy-go",),
                    (folder / "busy-rust",), ("java", "-Xmx64m", "-XX:+PreserveFramePointer", "-cp", folder, "Busy")):
        services.append(ready(*command, cwd=folder))  # node writes a log there
    # A JVM lists what it has compiled when it is requested to.
    subprocess.run(["jcmd", str(services[-1].pid), "Compiler.perfmap"], check=True, stdout=subprocess.DEVNULL)
    services += start_nginx(folder)


def children(pids):
    """All processes of these sessions."""
    found = set()
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            fields = pathlib.Path(stat).read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) in pids:
            found.add(int(stat.split("/")[2]))
    return found


def gnu_id(path):
    """The build ID as readelf prints it; None: it has none."""
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=False).stdout
    found = re.search(r"Build ID: ([0-9a-f]+)", notes)
    return found[1] if found else None


def mapped_files(groups):
    """Paths of the executable mappings of all processes of these sessions."""
    files = set()
    for folder in glob.glob("/proc/[0-9]*"):
        try:
            stat = pathlib.Path(folder, "stat").read_text().rpartition(")")[2].split()
            maps = pathlib.Path(folder, "maps").read_text()
        except OSError:
            continue
        if int(stat[3]) in groups:
            files.update(line.split(None, 5)[5] for line in maps.splitlines()
                         if "x" in line.split()[1] and len(line.split(None, 5)) == 6 and line.split(None, 5)[5][0] == "/")
    return {f for f in files if not f.endswith("(deleted)") and os.path.exists(f)}


def mirror_of_debian():
    """What apt is configured with."""
    listed = subprocess.run(["apt-get", "indextargets", "--format", "$(ORIGIN)|$(LABEL)|$(REPO_URI)", "Created-By: Packages"],
                            capture_output=True, text=True, check=True).stdout
    return re.search(r"^Debian\|Debian\|(\S+?)/?$", listed, re.M)[1]


class Samples:
    """Samples of a recording: how many there are, and how many have a name where they were taken; of all processes, and of
    those of the services alone."""

    def __init__(self, counted, threads):
        """counted: (name of the thread, name of the function or None, place, number)."""
        self.all, self.services, self.nameless = [0, 0], [0, 0], collections.Counter()
        for thread, name, place, n in counted:
            for of in [self.all] + [self.services] * (thread in threads):
                of[0] += n if name else 0
                of[1] += n
            if not name and thread in threads:
                self.nameless[place] += n

    def __str__(self):
        named, total = self.services
        return f"{100 * named / max(total, 1):.1f} % of the services' {total} samples ({100 * self.all[0] / max(self.all[1], 1):.1f} % of all {self.all[1]})"


def perf_samples(recording):
    """(thread, process, name or None, file) of each sample, by perf with all that is installed on this host."""
    script = subprocess.run(["perf", "script", "-i", recording, "-F", "comm,pid,ip,sym,dso"], capture_output=True, text=True, check=True)
    found = re.findall(r"^\s*(.+?)\s+(\d+)\s+[0-9a-f]+ (.+) \((.*)\)$", script.stdout, re.M)
    return [(thread, int(pid), None if name == "[unknown]" else name, module) for thread, pid, name, module in found]


def unhex_samples(recording, output, *options):
    result = unhex("symbolize", recording, *options, "--to", "folded", "--value", "samples", "-o", output)
    assert result.returncode in (0, 1), result.stderr
    for line in output.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        frames = stack.split(";")
        name = None if re.search(r"\+0x[0-9a-f]+\]$|@0x[0-9a-f]+|^\[", frames[-1]) else frames[-1]
        yield frames[0], name, re.sub(r"[+@]0x[0-9a-f]+", "", frames[-1]), int(count)


def unknown(server, identities):
    return {i for i in identities if server.get(f"/v1/modules/gnu:{i}")[0] != 200}


@pytest.fixture
def server(tmp_path):
    """It has a mirror of Debian as an upstream, and knows which build IDs the debug packages there have."""
    assert PYTHON_OF_MIRROR.exists(), "tools/interpreters.sh bookworm unpacks it"
    mirror = mirror_of_debian()
    s = Server(tmp_path / "server", options=("--upstream", f"packages+{mirror},name=debian,private")).start()
    announced = s.unhex("crawl", "debian", "--on-demand", "--debug-only", "--package", "python3*-dbg", "--package", "openjdk-*-dbg",
                        "--package", "libc6-dbg", "--suite", "bookworm", "--component", "main", "--mirror", mirror)
    assert announced.returncode == 0, announced.stderr
    yield s
    assert s.stop() in (0, None)


@contextlib.contextmanager
def ended(services):
    """At the end none of them is left, nor what they started, nor the list of run-time code that they wrote."""
    try:
        yield
    finally:
        for process in services:
            try:
                os.killpg(process.pid, 9)
            except ProcessLookupError:
                process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()
            pathlib.Path(f"/tmp/perf-{process.pid}.map").unlink(missing_ok=True)


@contextlib.contextmanager
def paused(pids):
    """Processes that leave the processors to the agent, and to other tests, while it reads their files."""
    def send(number):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
    send(signal.SIGSTOP)
    try:
        yield
    finally:
        send(signal.SIGCONT)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root sees all processes and may record them")
def test_a_host_is_known_to_the_server_and_named_by_it(server, tmp_path):
    tmp_path.chmod(0o755)
    services = []
    programs = [build(tmp_path, f"short{i}") for i in range(SHORT)]
    identities = {gnu_id(p) for p in programs}
    interpreter = gnu_id(PYTHON_OF_MIRROR.parents[1] / "root/usr/bin/python3.11")
    with Postgres() as postgres, ended(services):
        start_services(tmp_path, services)
        services.append(start_query(postgres))
        with running_agent(server, tmp_path, "--jit", cpu="5%") as agent:
            began = time.monotonic()
            for program in programs:
                services.append(subprocess.Popen([program, "1000"], stdout=subprocess.DEVNULL))
            sessions = {p.pid for p in services} | {postgres.session}
            mapped = mapped_files(sessions)
            identities |= {gnu_id(f) for f in mapped} - {None}
            assert len(mapped) > 50 and interpreter in identities, mapped
            # a file without code that has a name has nothing to be sent
            with paused(children(sessions)):
                wait_for(lambda: agent.running() and len(unknown(server, identities)) <= len(identities) // 100, BUSY_S, 0.5)
            took = time.monotonic() - began
            left, used = unknown(server, identities), agent.processor_time()
            recording = tmp_path / "host.data"
            assert unhex("record", "--all", "--call-graph", "none", "--duration", "10", "-o", recording).returncode == 0
            # Other programs of this machine that began during the recording are sent, too, before the agent ends.
            wait_for(lambda: agent.running() and time.time() - agent.out.stat().st_mtime > 5, BUSY_S, 0.5)
        judge = perf_samples(recording)
        mine = sessions | children(sessions)
        threads = {thread for thread, pid, *_ in judge if pid in mine}
        alone = ("--no-local", "--debug-dir", "", "--url", server.url)
        list(unhex_samples(recording, tmp_path / "first", *alone))  # has the server fetch what it has of stripped files alone
        wait_for(lambda: server.get(f"/v1/modules/gnu:{interpreter}")[1]["candidates"][0]["quality"] in SYMTAB, BUSY_S, 1)
        here = Samples(unhex_samples(recording, tmp_path / "here", "--no-dwarf"), threads)
        there = Samples(unhex_samples(recording, tmp_path / "there", *alone), threads)
        perf = Samples([(thread, name, module, 1) for thread, _, name, module in judge], threads)
        print(f"{len(identities)} files, {len(left)} unknown after {took:.1f} s (promise {KNOWN_S} s) and {used:.1f} s of processor time\n"
              f"named through the server alone: {there}\nby the host's own files: {here}\nby perf on the host: {perf}\n"
              f"without a name at the server: {there.nameless.most_common(12)}\n"
              f"without a name by perf: {perf.nameless.most_common(12)}")
        assert there.all[0] >= 0.97 * here.all[0]
        # What is left is stripped, and its debug files are neither here nor on the mirror: perf has no name for it either.
        # At rest 99.1 to 100 % are named; other programs take samples from the services, and nginx's share grows.
        share = there.services[0] / there.services[1]
        assert share >= 0.98 and share >= perf.services[0] / perf.services[1] - 0.01
        assert not [place for place in there.nameless if "python" in place or "_json" in place]
