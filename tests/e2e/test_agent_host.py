# SPDX-License-Identifier: Apache-2.0
"""A host with services in many languages, watched by the agent. The oracle of what must be known is /proc/PID/maps with
readelf's build IDs; then a recording of the host is named through the server alone."""
import glob
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time

import pytest

from live import wait_for
from running_agent import running_agent
from test_agent import build
from tool import unhex

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
BUSY_S = 120   # what a test run may take on a machine that is


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def ready(*command, **how):
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               start_new_session=True, **how)
    assert process.stdout.readline().strip() == "ready", command
    return process


def start_postgres():
    binaries = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    assert binaries, "postgresql is among the packages that ./dev test installs"
    bin_dir = pathlib.Path(binaries[-1]).parent
    user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--") if os.geteuid() == 0 else ()
    data = pathlib.Path(tempfile.mkdtemp(prefix="unhex-postgres-", dir="/var/tmp"))  # of another user
    if user:
        os.chown(data, 65534, 65534)
    subprocess.run([*user, bin_dir / "initdb", "-D", data, "-A", "trust", "-U", "p", "--no-sync"], check=True,
                   stdout=subprocess.DEVNULL, cwd="/")
    port = free_port()
    server = subprocess.Popen([*user, bin_dir / "postgres", "-D", data, "-k", data, "-p", str(port)], cwd="/",
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    psql = [*user, shutil.which("psql") or bin_dir / "psql", "-h", "127.0.0.1", "-p", str(port), "-U", "p", "postgres", "-qc"]
    wait_for(lambda: subprocess.run([*psql, "select 1"], capture_output=True, cwd="/").returncode == 0, 60)
    load = subprocess.Popen([*psql, "select count(sin(a) + cos(a)) from generate_series(1, 1000000000) a"], cwd="/",
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    return data, [server, load]


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
    for command in (("node", "--perf-basic-prof", "-e", NODE), ("/usr/bin/python3", "-c", PYTHON), (folder / "busy-go",),
                    (folder / "busy-rust",), ("java", "-Xmx64m", "-cp", folder, "Busy")):
        services.append(ready(*command, cwd=folder))  # node writes a log there
    services += start_nginx(folder)


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


def named_samples(recording, output, *options):
    """How many samples have a name where they were taken; how many there are; how many are in run-time code without a
    name; what the others lack."""
    result = unhex("symbolize", "-v", recording, *options, "--to", "folded", "--value", "samples", "-o", output)
    assert result.returncode in (0, 1), result.stderr
    named = total = run_time = 0
    for line in output.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        leaf = stack.rpartition(";")[2]
        total += int(count)
        run_time += int(count) if leaf.startswith("[jit") else 0
        named += 0 if re.search(r"@0x[0-9a-f]+|^\[", leaf) else int(count)
    return named, total, run_time, re.findall(r"missing: (.*? samples)", result.stderr)


def unknown(server, identities):
    return {i for i in identities if server.get(f"/v1/modules/gnu:{i}")[0] != 200}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root sees all processes and may record them")
def test_a_host_is_known_to_the_server_and_named_by_it(server, tmp_path):
    tmp_path.chmod(0o755)
    services, data = [], None
    programs = [build(tmp_path, f"short{i}") for i in range(SHORT)]
    identities = {gnu_id(p) for p in programs}
    try:
        start_services(tmp_path, services)
        data, postgres = start_postgres()
        services += postgres
        with running_agent(server, tmp_path, "--jit", cpu="5%") as agent:
            began = time.monotonic()
            for program in programs:
                services.append(subprocess.Popen([program, "1000"], stdout=subprocess.DEVNULL))
            mapped = mapped_files({p.pid for p in services})
            identities |= {gnu_id(f) for f in mapped} - {None}
            assert len(mapped) > 50, mapped
            # a file without code that has a name has nothing to be sent
            wait_for(lambda: agent.running() and len(unknown(server, identities)) <= len(identities) // 100, BUSY_S, 0.5)
            took = time.monotonic() - began
            left, used = unknown(server, identities), agent.processor_time()
            recording = tmp_path / "host.data"
            assert unhex("record", "--all", "--call-graph", "none", "--duration", "5", "-o", recording).returncode == 0
            # Other programs of this machine that began during the recording are sent, too, before the agent ends.
            wait_for(lambda: agent.running() and time.time() - agent.out.stat().st_mtime > 5, BUSY_S, 0.5)
        here = named_samples(recording, tmp_path / "here", "--no-dwarf")
        there = named_samples(recording, tmp_path / "there", "--no-local", "--debug-dir", tmp_path / "none", "--url", server.url)
        print(f"{len(identities)} files, {len(left)} unknown after {took:.1f} s (promise {KNOWN_S} s) and {used:.1f} s of "
              f"processor time; of {here[1]} samples "
              f"{here[0]} have names by the host's files, {there[0]} through the server alone: "
              f"{100 * there[0] / max(here[0], 1):.1f} %; run-time code without a name has {there[2]}; missing at the server: "
              f"{there[3][:8]}")
        # What is stripped on the host, and run-time code, has names nowhere: the host's own files are the measure.
        assert there[0] >= 0.97 * here[0]
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
        if data:
            shutil.rmtree(data)
