# SPDX-License-Identifier: Apache-2.0
"""A server under observation: how much memory and processor time it takes, and whether it still answers."""
import contextlib
import os
import threading
import time

from probing import GIVE_UP_S, Probing

HEALTH_SECONDS_MAX = 2.0  # a probe gives up after that
PROBE_SECONDS_MAX = 0.1  # of the listener for probes, which waits for nothing
PROBE_TIMEOUT = 1.0  # of HAProxy's checks and Kubernetes' probes
CPU_SECONDS_MAX = 4.0  # of one request
PROBES = ("--set", "probe-listen=127.0.0.1:0")  # a server that is watched has it
GROWTH_MAX = 256 << 20  # bytes of resident memory above what the server had before the request


class Watched:
    """Looks at /proc/PID, and asks both listeners for /healthz all the time."""

    def __init__(self, server):
        self.server = server
        self.pid = server.process.pid
        self.peak = 0  # bytes of anonymous memory, the most since watch_memory()
        self.begun = 0.0  # when the figures of /healthz begin
        self.probing = Probing(requests=server.url.split("//")[1], probes=server.probes)

    @property
    def slowest(self):
        """Seconds of the slowest answer to /healthz where requests are answered."""
        return max(self.probing.since(self.begun, "requests"))

    @property
    def lost(self):
        """How many of these had no answer."""
        return self.probing.since(self.begun, "requests").count(GIVE_UP_S)

    def close(self):
        """Ends the probes."""
        self.probing.close()

    def check_probes(self, what):
        """The listener for probes answers at once. Some probes are late on a machine whose processors others use, too, but none
        so late that HAProxy or Kubernetes would count it as lost."""
        delays = self.probing.delays(self.begun, "probes")
        late = sum(delay > PROBE_SECONDS_MAX for delay in delays)
        print(f"    {len(delays)} probes, {late} of them late, the slowest by {delays[0] * 1000:.0f} ms")
        assert late <= max(3, len(delays) // 10) and delays[0] < PROBE_TIMEOUT, f"{what}: probes took {delays[:3]} s"

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
        self.begun, self.peak = time.monotonic(), self.anonymous()
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
            self.probing.settle()

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
        self.check_probes(what)
