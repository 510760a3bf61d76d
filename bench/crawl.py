#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Packages to symbols: a folder of .deb by `unhex crawl work` into a server, beside elfutils' debuginfod that
indexes the same folder, and beside their floor, the decompression alone. The parts are also timed separately:
the decompression by ours, and `unhex extract` of each debug file in the packages.

Both have the same threads. debuginfod notes which package has which build ID and converts nothing; ours
extracts each file and keeps the symbols. "cpu" is processor time of all processes, which other load disturbs
less than the time by the clock.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from servers import clean_environment, free_port, running, scanned, serve_unhex, Server, wait_until  # noqa: E402

MB = 1e6
SCAN_S = 3600  # s that debuginfod may take
SAMPLE_S = 0.1  # s between samples: shorter ones would take much of a processor, which debuginfod needs


def cpu_of_children():
    """Seconds of processor time of all children that have ended."""
    t = os.times()
    return t.children_user + t.children_system


def floor(packages):
    """Decompression of the packages alone, and the bytes that come out."""
    before, began, size = cpu_of_children(), time.monotonic(), 0
    for package in packages:
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as process:
            while piece := process.stdout.read(1 << 20):
                size += len(piece)
    return cpu_of_children() - before, time.monotonic() - began, size


class Memory(threading.Thread):
    """Samples the memory of a process and all its descendants: anonymous memory, and the files without names that
    members wait in."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.peak, self.ended = pid, 0, threading.Event()
        self.start()

    def run(self):
        while not self.ended.wait(SAMPLE_S):
            self.peak = max(self.peak, sum(self.anonymous(pid) for pid in self.below(self.pid)))

    def below(self, pid):
        yield pid
        try:
            children = " ".join(path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")).split()
        except OSError:
            return
        for child in children:
            yield from self.below(int(child))

    @staticmethod
    def anonymous(pid):
        """Pages that several processes share count once: PSS."""
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
        except OSError:
            return 0
        row = re.search(r"^Pss_Anon:\s+(\d+)", text, re.M)
        return int(row[1]) << 10 if row else 0

    def end(self):
        self.ended.set()
        self.join()
        return self.peak


def conversion(unhex, packages, work):
    """Processor time of `unhex extract` of all debug files in the packages, which are unpacked to disk beforehand."""
    seconds = 0
    for package in packages:
        with tempfile.TemporaryDirectory(dir=work) as folder:
            subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
            files = [p for p in Path(folder).rglob("*.debug") if not p.is_symlink() and "/.dwz/" not in str(p)]
            before = cpu_of_children()
            for path in files:
                subprocess.run([unhex, "extract", path, "-o", Path(folder) / "gsym"], check=False, env=clean_environment(work),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            seconds += cpu_of_children() - before
    return seconds


def ours(unhex, packages, jobs, work):
    """Returns the processor time (including the server's), the time, the rows of all packages, and the worker's
    memory."""
    before = cpu_of_children()
    server = serve_unhex(unhex, work / "data", work)
    with running(server):
        (work / "token").write_text(server.token)
        began = time.monotonic()
        with open(work / "rows", "w+", encoding="utf-8") as rows, \
                subprocess.Popen([unhex, "crawl", "work", "--json", "--url", server.url, "--token-file", work / "token",
                                  "--jobs", str(jobs), *packages], stdout=rows, env=clean_environment(work)) as process:
            memory = Memory(process.pid)
            process.wait()
            peak = memory.end()
            rows.seek(0)
            rows = [json.loads(line) for line in rows]
        seconds = time.monotonic() - began
        worker = cpu_of_children() - before
    cpu = cpu_of_children() - before
    return cpu, cpu - worker, seconds, rows, peak


def indexed(server, n):
    """Returns the metrics of debuginfod after it has looked through n packages."""
    text = server.ask("GET", "/metrics")[1].decode()
    done = re.search(r'scanned_files_total\{source=".deb archive"\} (\d+)', text)
    return text if done and int(done[1]) >= n and 'thread_busy{role="scan"} 0' in text else None


def peer(folder, n, jobs, work):
    """The same of debuginfod, from its start until it has looked through the folder. Its -U needs bsdtar, and
    finds nothing without it; this does the same with dpkg-deb."""
    before = cpu_of_children()
    url = f"http://127.0.0.1:{free_port()}"
    began = time.monotonic()
    with open(work / "debuginfod.log", "wb") as log:
        process = subprocess.Popen(["debuginfod", "-p", url.rpartition(":")[2], "-d", work / "debuginfod.sqlite", "-c",
                                    str(jobs), "-Z", ".deb=dpkg-deb --fsys-tarfile", folder], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   env=clean_environment(work))
    server = Server("debuginfod", process, url)
    with running(server):
        wait_until("debuginfod", lambda: scanned(url), process, SCAN_S)
        metrics = wait_until("debuginfod", lambda: indexed(server, n), process, SCAN_S)
        seconds = time.monotonic() - began
    files = re.search(r'found_debuginfo_total\{source=".deb archive"\} (\d+)', metrics)
    return cpu_of_children() - before, seconds, int(files[1]) if files else 0


def print_line(name, cpu, seconds, n, size):
    clock = f"{seconds:8.1f} s  cpu {cpu:7.1f} s  {n / seconds * 60:7.1f} packages a minute  {size / MB / seconds:6.1f} MB/s" \
        if seconds else f"{'':10}  cpu {cpu:7.1f} s  {'':26}  {'':11}"
    print(f"{name:24} {clock}  {size / MB / cpu:6.1f} MB per s of cpu", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--unhex", required=True)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--alone", action="store_true", help="leave out debuginfod and the parts of ours")
    parser.add_argument("folder", type=Path, help="with .deb files")
    options = parser.parse_args()
    packages = sorted(options.folder.resolve().glob("*.deb"))
    size = sum(p.stat().st_size for p in packages)
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        floor_cpu, floor_s, unpacked = floor(packages)
        print_line("decompression alone", floor_cpu, floor_s, len(packages), size)
        if not options.alone:
            print_line("conversion alone", conversion(options.unhex, packages, work), 0, len(packages), size)
        cpu, served, seconds, rows, peak = ours(options.unhex, packages, options.jobs, work)
        print_line("unhex crawl work", cpu, seconds, len(packages), size)
        if not options.alone:
            their_cpu, their_s, files = peer(options.folder, len(packages), options.jobs, work)
            print_line("debuginfod", their_cpu, their_s, len(packages), size)
    total = {key: sum(row[key] for row in rows) for key in ("bytes_fetched", "bytes_unpacked", "bytes_stored", "uploaded",
                                                            "members", "bad")}
    done = sum(row["outcome"] == "done" for row in rows)
    print(f"done {done} of {len(packages)} packages, {total['members']} files, "
          f"{total['uploaded']} with symbols, {total['bad']} unreadable")
    print(f"fetched {size / MB:.1f} MB, unpacked {unpacked / MB:.1f} MB, of that files with symbols "
          f"{total['bytes_unpacked'] / MB:.1f} MB, stored {total['bytes_stored'] / MB:.1f} MB: "
          f"{total['bytes_stored'] / unpacked:.1%} of what was unpacked, {total['bytes_stored'] / size:.1%} of what was fetched")
    print(f"the worker and its children have {peak / MB:.1f} MB of anonymous memory at most; of the processor time "
          f"{served:.1f} s are the server's")
    print(f"against decompression alone: {cpu / floor_cpu:.2f} times its processor time")
    if not options.alone:
        print(f"against debuginfod, which finds {files} debug files: x{their_s / seconds:.2f} by the clock, "
              f"x{their_cpu / cpu:.2f} of processor time")
    return 0 if done == len(packages) else 1


if __name__ == "__main__":
    sys.exit(main())
