#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Packages to symbols: a folder of .deb by `unhex crawl work` into a server, beside elfutils' debuginfod that indexes the
same folder, and beside their floor, the decompression alone.

Both have the same threads. debuginfod notes which package has which build ID and converts nothing; ours extracts each file
and keeps the symbols. "cpu" is processor time of all processes, which other load disturbs less than the time by the clock.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from servers import clean_environment, free_port, running, scanned, serve_unhex, Server, wait_until  # noqa: E402

MB = 1e6


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


def ours(unhex, packages, jobs, work):
    """Processor time, time, and the rows of all packages. The server's work is included."""
    before = cpu_of_children()
    server = serve_unhex(unhex, work / "data", work)
    with running(server):
        (work / "token").write_text(server.token)
        began = time.monotonic()
        result = subprocess.run([unhex, "crawl", "work", "--json", "--url", server.url, "--token-file", work / "token",
                                 "--jobs", str(jobs), *packages], stdout=subprocess.PIPE, text=True, check=False,
                                env=clean_environment(work))
        seconds = time.monotonic() - began
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    return cpu_of_children() - before, seconds, rows


def indexed(server, n):
    """The metrics of debuginfod, once it has looked through n packages."""
    text = server.ask("GET", "/metrics")[1].decode()
    done = re.search(r'scanned_files_total\{source=".deb archive"\} (\d+)', text)
    return text if done and int(done[1]) >= n and 'thread_busy{role="scan"} 0' in text else None


def peer(folder, n, jobs, work):
    """The same of debuginfod, from its start until it has looked through the folder. Its -U needs bsdtar, and finds
    nothing without it; this is what -U does where dpkg-deb is used."""
    before = cpu_of_children()
    url = f"http://127.0.0.1:{free_port()}"
    began = time.monotonic()
    with open(work / "debuginfod.log", "wb") as log:
        process = subprocess.Popen(["debuginfod", "-p", url.rpartition(":")[2], "-d", work / "debuginfod.sqlite", "-c",
                                    str(jobs), "-Z", ".deb=dpkg-deb --fsys-tarfile", folder], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   env=clean_environment(work))
    server = Server("debuginfod", process, url)
    with running(server):
        wait_until("debuginfod", lambda: scanned(url), process)
        metrics = wait_until("debuginfod", lambda: indexed(server, n), process)
        seconds = time.monotonic() - began
    files = re.search(r'found_debuginfo_total\{source=".deb archive"\} (\d+)', metrics)
    return cpu_of_children() - before, seconds, int(files[1]) if files else 0


def print_line(name, cpu, seconds, n, size):
    print(f"{name:24} {seconds:8.1f} s  cpu {cpu:7.1f} s  {n / seconds * 60:7.1f} packages a minute  "
          f"{size / MB / seconds:6.1f} MB/s  {size / MB / cpu:6.1f} MB per s of cpu", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--unhex", required=True)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("folder", type=Path, help="with .deb files")
    options = parser.parse_args()
    packages = sorted(options.folder.resolve().glob("*.deb"))
    size = sum(p.stat().st_size for p in packages)
    with tempfile.TemporaryDirectory() as work:
        floor_cpu, floor_s, unpacked = floor(packages)
        print_line("decompression alone", floor_cpu, floor_s, len(packages), size)
        cpu, seconds, rows = ours(options.unhex, packages, options.jobs, Path(work))
        print_line("unhex crawl work", cpu, seconds, len(packages), size)
        their_cpu, their_s, files = peer(options.folder, len(packages), options.jobs, Path(work))
        print_line("debuginfod", their_cpu, their_s, len(packages), size)
    total = {key: sum(row[key] for row in rows) for key in ("bytes_fetched", "bytes_unpacked", "bytes_stored", "uploaded",
                                                            "members", "bad")}
    done = sum(row["outcome"] == "done" for row in rows)
    print(f"done {done} of {len(packages)} packages, {total['members']} files, "
          f"{total['uploaded']} with symbols, {total['bad']} unreadable; debuginfod has {files} debug files")
    print(f"fetched {size / MB:.1f} MB, unpacked {unpacked / MB:.1f} MB, of that files with symbols "
          f"{total['bytes_unpacked'] / MB:.1f} MB, stored {total['bytes_stored'] / MB:.1f} MB: "
          f"{total['bytes_stored'] / unpacked:.1%} of what was unpacked, {total['bytes_stored'] / size:.1%} of what was fetched")
    print(f"against debuginfod: x{their_s / seconds:.2f} by the clock, x{their_cpu / cpu:.2f} of processor time; "
          f"against decompression alone: {cpu / floor_cpu:.2f} times its processor time")
    return 0 if done == len(packages) else 1


if __name__ == "__main__":
    sys.exit(main())
