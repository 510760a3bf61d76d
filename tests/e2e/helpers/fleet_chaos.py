# SPDX-License-Identifier: Apache-2.0
"""fleet_chaos.py: three nodes under mixed load while they are killed, the database is restarted and one is cut off.

UNHEX_CHAOS_S is its length in seconds (default 30); docs/fleet.md has figures of 600. With UNHEX_CHAOS_BLOBS=s3 the
blobs are in a bucket, whose server is paused too. Run by root, everything is on a machine of its own (network.py), and hosts
with agents are clients too."""
import contextlib
import http.client
import os
import pathlib
import random
import sys
import tempfile
import threading
import time

from fleet import Fleet, haproxy
from fleet_load import Client, Counts, Load, Mirror
from fleet_places import CUT, NODES, Loopback, Machines
from http_api import Api
from network import can_be_made
from waiting import pause_for, wait_for

KILL_EVERY_S = 10
RECOVER_S = 30


class Chaos:
    def __init__(self, seconds, folder, places, postgres, store, least):
        self.seconds, self.places, self.postgres = seconds, places, postgres
        self.least = least
        self.store = store  # a Radosgw; None: blobs are in a folder
        self.counts = Counts()
        self.load = Load(folder, self.counts)
        self.over = self.load.over
        self.random = random.Random(1)
        self.ready_after = []  # seconds from the end of each harm until all went on
        self.fleet = self.make_fleet(folder)

    def make_fleet(self, folder):
        self.postgres.create("chaos")
        bucket = ("--blobs", self.store.bucket("chaos"), "--s3-endpoint", self.store.url) if self.store else ()
        fleet = Fleet(folder, None, NODES, options=bucket, around=[self.places.around(i) for i in range(NODES)],
                      environment=self.store.environment if self.store else {})
        for i, node in enumerate(fleet.nodes):
            node.options = ("--index", self.places.index(self.postgres, "chaos", i), *node.options,
                            "--set", f"trusted-proxies={self.places.front.split(':')[0]}")
            node.url = "http://" + self.places.listen(i)
        return fleet

    def run(self):
        """Seconds until every node answered everything again."""
        with self.fleet, contextlib.closing(Mirror(self.places.address)) as mirror, \
                haproxy(self.load.folder, self.places.behind(self.fleet.nodes), self.places.front, self.places.balancer_around) as url:
            self.load.url, self.load.token = url, self.fleet.nodes[0].token
            loads = self.load.threads(self.places.workers, self.places.hosts, mirror)
            harms = [threading.Thread(target=self.load.run, args=(h,)) for h in (self.killer, self.harm)]
            for thread in loads + harms:
                thread.start()
            pause_for(self.seconds, "the length of the run")
            with contextlib.suppress(AssertionError):
                wait_for(self.is_enough, 9 * self.seconds)
            self.load.stop()
            for thread in harms + loads:
                thread.join()
            took = self.recovered()
            self.check_packages()
        return took

    def is_enough(self):
        """On a busy machine it goes on until each of these counts is reached."""
        return all(self.counts.n[what] >= n for what, n in self.least.items())

    # --- harm

    def killer(self):
        while not self.over.wait(min(KILL_EVERY_S, self.seconds / 5)):
            node = self.random.choice(self.fleet.nodes)
            self.fleet.kill(node)
            self.counts.add("nodes killed")
            self.over.wait(1)
            self.start_again(node)

    def start_again(self, node):
        """A node does not start while the database is away, or while it is cut off."""
        while True:
            with contextlib.suppress(RuntimeError):
                self.fleet.start(node)
                return
            node.process.wait()
            pause_for(0.5, "systemd does so before it starts a service again")

    def harm(self):
        begin = time.monotonic()
        steps = [(1 / 4, self.restart), (1 / 2, self.cut), (3 / 4, self.restart)]
        if self.store:
            steps[1:1] = [(3 / 8, self.pause)]
        for part, step in steps:
            self.over.wait(max(begin + self.seconds * part - time.monotonic(), 0))
            if not self.over.is_set():
                step()
                self.wait_ready()

    def restart(self):
        self.postgres.stop()
        self.over.wait(min(5, self.seconds / 15))
        self.postgres.start()
        self.counts.add("restarts of the database")

    def pause(self):
        self.store.pause()
        self.over.wait(min(30, self.seconds / 6))
        self.store.resume()
        self.counts.add("pauses of the bucket")

    def cut(self):
        self.places.cut()
        self.over.wait(min(30, self.seconds / 6))
        self.places.join()
        self.counts.add("nodes cut off")

    def wait_ready(self):
        """Until each node was ready once since the end of the harm, another may have been killed meanwhile, and clients got right
        answers and confirmations."""
        begin, left = time.monotonic(), set(range(NODES))

        def is_over():
            left.difference_update({i for i in left if self.is_ready(self.fleet.nodes[i])})
            return self.over.is_set() or not left and self.load.goes_on(begin)
        try:
            wait_for(is_over, 10 * RECOVER_S)
        except AssertionError:
            self.counts.fail(f"does not go on; nodes that were not ready: {left}")
            return
        if not self.over.is_set():
            self.ready_after.append(time.monotonic() - begin)

    @staticmethod
    def is_ready(node):
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            status, doc, _ = Api(node)("GET", "/readyz")
            return status == 200 and doc["status"] == "ready"
        return False

    # --- afterwards

    def recovered(self):
        """Seconds until the last answer that was not right: every node has to answer all that was confirmed, and no work may
        be left. Requests for thousands take longer than that."""
        begin = last = time.monotonic()
        left = [(node, one) for one in reversed(self.load.confirmed) for node in self.fleet.nodes]
        while left:
            late = [(node, one) for node, one in left if not self.answers(node, one)]
            if late:
                last = time.monotonic()
            if last - begin > 10 * RECOVER_S:
                for node, one in late[:10]:
                    self.counts.fail(f"not answered by {node.data.name}: {one}")
                break
            left = late
        while self.postgres.query("SELECT 1 FROM jobs WHERE kind = 'extract' LIMIT 1", "chaos"):
            last = time.monotonic()
            if last - begin > 10 * RECOVER_S:
                self.counts.fail("jobs are left: " + str(self.postgres.query("SELECT * FROM jobs WHERE kind = 'extract'", "chaos")[:3]))
                break
            pause_for(0.1, "each question reads the table")
        return last - begin

    @staticmethod
    def answers(node, one):
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            status, doc, _ = Api(node)("GET", f"/v1/symbolize/{one.id}?addr={one.pc:#x}")
            frames = (doc.get("frames") or [[]])[0] if status == 200 else None
            return bool(frames) and frames[-1]["function"] == "outer"
        return False

    def check_packages(self):
        """Each package that was announced is known, and none was set aside."""
        states = Api(self.fleet.nodes[0])("GET", "/v1/crawl/status")[1]["states"]
        known = {name: s["packages"] for name, s in states.items() if s["packages"]}
        print("packages:", known)
        # One batch may have been taken without an answer.
        if not 0 <= sum(known.values()) - self.load.announced <= 5 or known.get("quarantined"):
            self.counts.fail(f"{self.load.announced} packages were announced, known are {known}")


def chaos(folder, seconds, least=None, recover_s=RECOVER_S):
    """Runs it, prints the counts, and returns them. least: how many there are of some when it ends. recover_s: the longest
    time that all may take to go on."""
    with contextlib.ExitStack() as stack:
        places = stack.enter_context(Machines() if can_be_made() else Loopback())
        store = stack.enter_context(places.radosgw()) if os.environ.get("UNHEX_CHAOS_BLOBS") == "s3" else None
        run = Chaos(seconds, folder, places, stack.enter_context(places.postgres()), store, least or {})
        took = run.run()
    counts = run.counts
    for what, n in sorted(counts.n.items()):
        print(f"{n:9} {what}")
    ready = " ".join(f"{s:.1f}" for s in run.ready_after)
    print(f"{len(counts.wrong):9} wrong or lost\n{counts.gap:9.1f} s at most without a right answer\n"
          f"{ready:>9} s until all nodes were ready, and all clients went on, after each restart, pause and cut\n"
          f"{took:9.1f} s until all was answered everywhere")
    if max([took, *run.ready_after]) > recover_s:
        counts.fail(f"recovery took longer than {recover_s} s")
    return counts


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="unhex-chaos-") as place:
        found = chaos(pathlib.Path(place), float(os.environ.get("UNHEX_CHAOS_S", "30")))
    print(*found.wrong[:20], sep="\n")
    sys.exit(bool(found.wrong))
