# SPDX-License-Identifier: Apache-2.0
"""A server under observation: how much memory and processor time it takes, and whether it still answers."""
import contextlib
import os
import threading
import time
import urllib.request

HEALTH_SECONDS_MAX = 2.0  # a probe gives up after that
CPU_SECONDS_MAX = 4.0  # of one request
GROWTH_MAX = 256 << 20  # bytes of resident memory above what the server had before the request


class Watched:
    """Looks at /proc/PID and asks for /healthz all the time."""

    def __init__(self, server):
        self.server = server
        self.pid = server.process.pid
        self.slowest = 0.0
        self.lost = 0
        self.peak = 0  # bytes of anonymous memory, the most since watch_memory()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._probe, daemon=True)
        self.thread.start()

    def _probe(self):
        while not self.ended.wait(0.05):
            before = time.monotonic()
            try:
                with urllib.request.urlopen(self.server.url + "/healthz", timeout=30) as answer:
                    assert answer.status == 200
            except OSError:
                self.lost += 1
            self.slowest = max(self.slowest, time.monotonic() - before)

    def close(self):
        """Ends the probe."""
        self.ended.set()
        self.thread.join(60)

    def cpu(self):
        """Seconds of processor time so far."""
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def anonymous(self):
        """Bytes of resident memory that no file stands behind."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith("RssAnon"))

    @contextlib.contextmanager
    def watch_memory(self):
        """Keeps the most anonymous memory in `peak`, and starts the figures of /healthz anew."""
        self.slowest, self.lost, self.peak = 0.0, 0, self.anonymous()
        done = threading.Event()

        def sample():
            while not done.wait(0.01):
                self.peak = max(self.peak, self.anonymous())

        sampler = threading.Thread(target=sample, daemon=True)
        sampler.start()
        try:
            yield
        finally:
            done.set()
            sampler.join()

    @contextlib.contextmanager
    def request(self, what, cpu_most=CPU_SECONDS_MAX):
        """Bounds what happens inside; cpu_most: in seconds of processor time."""
        cpu, memory = self.cpu(), self.anonymous()
        with self.watch_memory():
            yield
        spent, grown = self.cpu() - cpu, max(0, self.peak - memory)
        print(f"{what}: {spent:.2f} s of processor time, {grown >> 20} MiB, /healthz within {self.slowest:.2f} s")
        assert self.server.process.poll() is None, f"{what}: the server ended"
        assert not self.lost, f"{what}: {self.lost} probes of /healthz were not answered"
        assert self.slowest <= HEALTH_SECONDS_MAX, f"{what}: /healthz took {self.slowest:.1f} s"
        assert spent <= cpu_most, f"{what}: {spent:.1f} s of processor time"
        assert grown <= GROWTH_MAX, f"{what}: {grown >> 20} MiB of memory"
