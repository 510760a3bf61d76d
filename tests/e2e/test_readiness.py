# SPDX-License-Identifier: Apache-2.0
"""A node with a fault of its own gets no requests, and a fault that nodes share takes none out: by counts of answers behind the
HAProxy file that is shipped."""
import collections
import contextlib
import os
import pathlib
import re
import signal

import pytest

from faults import Faults
from fleet import Fleet, haproxy, with_probes
from http_api import Api, with_uuid
from postgres_server import Postgres
from radosgw_server import Radosgw
from tool import build_id, symbol
from unhex_server import Server
from waiting import pause_for, wait_for

PROBES = ("--set", "probe-listen=127.0.0.1:0")
REQUESTS = 120
YEAR = 365 * 24 * 60 * 60
BALANCED_S = 4  # two checks of HAProxy, and the second in which a node looks


def outcome(status, doc):
    """The status of a lookup; the state of the module instead, when that has no names."""
    return status if status != 200 or any(doc.get("frames", ())) else doc.get("status", "no name")


class Balanced:
    """What clients of the balancer get."""

    def __init__(self, url, token):
        self.url, self.token = url, token
        self.api = Api(self)

    def answers(self):
        with contextlib.suppress(OSError):
            return Api(self)("GET", "/readyz")[0] == 200
        return False

    def lookups(self, names, start):
        """How many answers there are of each status, and with a name."""
        counts = collections.Counter()
        for i in range(REQUESTS):
            status, doc, _ = self.api("GET", f"/v1/symbolize/{names[i % len(names)]}?addr={start:#x}")
            counts[outcome(status, doc)] += 1
        return dict(counts)

    def uploads(self, gsym, kind):
        """The same of uploads, each with an ID of its own; kind: a byte of these."""
        counts = collections.Counter()
        for i in range(REQUESTS // 4):
            uuid = bytes([kind, i]) * 10
            try:
                counts[self.api.upload([f"gnu:{uuid.hex()}"], with_uuid(gsym, uuid))[0]] += 1
            except AssertionError as failed:
                counts[re.search(r"'code': '(\w+)'", str(failed))[1]] += 1
        return dict(counts)


def ready(node):
    """Status and document of /readyz of the listener for probes."""
    return Server(node.data, url=f"http://{node.probes}").get("/readyz")


def says(node, status, word, cause):
    """Whether it says so."""
    got, doc = ready(node)
    return got == status and doc["status"] == word and cause in [f["cause"] for f in doc.get("faults", ())]


def is_fine(node):
    return ready(node) == (200, {"status": "ready", "uploads": "accepted"})


def requests_of(node):
    """How many requests it has answered, apart from probes."""
    return len(re.findall(r"event=request (?!.*path=\"/(?:readyz|healthz)\")", node.data.with_suffix(".log").read_text()))


@contextlib.contextmanager
def balanced(folder, fleet):
    with haproxy(folder, map(with_probes, fleet.nodes)) as url:
        front = Balanced(url, fleet.nodes[0].token)
        wait_for(front.answers)
        pause_for(BALANCED_S, "checks")
        yield front


def stored(fleet, gsym, n=1):
    """Names of modules that were uploaded to the first node."""
    names = []
    for i in range(n):
        uuid = bytes([0xee, i]) * 10
        assert fleet.api(0).upload([f"gnu:{uuid.hex()}"], with_uuid(gsym, uuid))[0] == 200
        names.append(f"gnu:{uuid.hex()}")
    return names


def test_a_database_that_is_away_takes_no_node_out(tmp_path, prog, gsym):
    start, _ = symbol(prog, "outer")
    with Postgres() as postgres, Fleet(tmp_path, postgres.create("away"), options=PROBES) as fleet:
        names = stored(fleet, gsym)
        for i in range(3):  # the module is open at each
            wait_for(lambda: fleet.api(i)("GET", f"/v1/symbolize/{names[0]}?addr={start:#x}")[1]["frames"][0])
        with balanced(tmp_path, fleet) as front:
            assert front.lookups(names, start) == {200: REQUESTS}
            postgres.stop()
            wait_for(lambda: all(says(n, 200, "degraded", "database") for n in fleet.nodes), 30)
            assert ready(fleet.nodes[0])[1]["uploads"] == "unavailable"
            pause_for(BALANCED_S, "checks")
            counts, uploads = front.lookups(names, start), front.uploads(gsym, 1)
            print(f"the database is away: lookups {counts}, uploads {uploads}")
            assert counts == {200: REQUESTS}
            assert uploads == {"unavailable": REQUESTS // 4}
            postgres.start()
            wait_for(lambda: all(map(is_fine, fleet.nodes)), 30)
            wait_for(lambda: front.uploads(gsym, 2) == {200: REQUESTS // 4}, 30)


def on_small_disk(data, shared):
    """A command that becomes a node whose folder is a small file system."""
    root = os.geteuid() == 0
    links = " && ".join(f"ln -s {shared}/{kind} {data}/{kind}" for kind in ("blobs", "uploads"))
    return ("unshare", *(["-m"] if root else ["-Ur", "-m"]), "sh", "-c",
            f'mount -t tmpfs -o size=24m none {data} && {links} && exec "$@"', "sh")


def fill(node):
    """Another program takes what is free on its disk."""
    with open(f"/proc/{node.process.pid}/root{node.data}/other", "wb") as file, contextlib.suppress(OSError):
        while file.write(bytes(1 << 20)):
            file.flush()


@pytest.mark.parametrize("full", [(1,), (0, 1, 2)], ids=["one", "all"])
def test_nodes_with_full_disks(tmp_path, prog, gsym, full):
    """One is taken out. When all have the same fault, all do what they can: names."""
    start, _ = symbol(prog, "outer")
    with Postgres() as postgres:
        around = [on_small_disk(tmp_path / f"node{i}", tmp_path / "shared") if i in full else () for i in range(3)]
        with Fleet(tmp_path, postgres.create("disks"), options=PROBES, around=around) as fleet:
            names = stored(fleet, gsym)
            with balanced(tmp_path, fleet) as front:
                for i in full:
                    fill(fleet.nodes[i])
                wait_for(lambda: all(says(fleet.nodes[i], 503, "not_ready", "disk") for i in full))
                status, doc = ready(fleet.nodes[1])
                assert doc["uploads"] == "disk_full" and doc["error"]["code"] == "not_ready"
                pause_for(BALANCED_S, "checks")
                before = requests_of(fleet.nodes[1])
                lookups, uploads = front.lookups(names, start), front.uploads(gsym, 1)
                there = requests_of(fleet.nodes[1]) - before
                print(f"full disks of {len(full)} of 3 nodes: lookups {lookups}, uploads {uploads}, {there} requests at node 1")
                assert lookups == {200: REQUESTS}
                if len(full) == 3:
                    assert uploads == {"disk_full": REQUESTS // 4} and there > 0
                    return
                assert uploads == {200: REQUESTS // 4} and there == 0
                os.unlink(f"/proc/{fleet.nodes[1].process.pid}/root{fleet.nodes[1].data}/other")
                wait_for(lambda: is_fine(fleet.nodes[1]))
                wait_for(lambda: front.lookups(names, start) and requests_of(fleet.nodes[1]) > before)


def test_a_node_with_a_wrong_clock_and_a_bucket_that_is_away(tmp_path, prog, gsym):
    """A bucket refuses what a wrong clock signs, so the node is taken out. The bucket itself is shared."""
    start, _ = symbol(prog, "outer")
    faults = Faults(tmp_path)
    with Postgres() as postgres, Radosgw() as store:
        fleet = Fleet(tmp_path, postgres.create("clock"), environment=store.environment, options=(
            *PROBES, "--blobs", store.bucket("clock"), "--s3-endpoint", store.url))
        fleet.nodes[1].environment = {**store.environment, "LD_PRELOAD": str(faults.library), "UX_FAULTS": str(faults.page),
                                      "UX_FAULTS_DIR": f"{fleet.nodes[1].data}/"}
        with fleet:
            names = stored(fleet, gsym, 30)
            with balanced(tmp_path, fleet) as front:
                faults.clock(YEAR)
                wait_for(lambda: says(fleet.nodes[1], 503, "not_ready", "clock"))
                pause_for(BALANCED_S, "checks")
                before = requests_of(fleet.nodes[1])
                lookups, uploads = front.lookups(names, start), front.uploads(gsym, 1)
                there = requests_of(fleet.nodes[1]) - before
                direct = collections.Counter(outcome(*fleet.api(1)("GET", f"/v1/symbolize/{name}?addr={start:#x}")[:2]) for name in names)
                print(f"one wrong clock: lookups {lookups}, uploads {uploads}, {there} requests at that node, which by itself "
                      f"answers {dict(direct)}")
                assert lookups == {200: REQUESTS} and uploads == {200: REQUESTS // 4} and there == 0 and 200 not in direct
                faults.clock(0)
                wait_for(lambda: is_fine(fleet.nodes[1]))
                pause_for(BALANCED_S, "checks")
                store.stop_gateway()
                front.uploads(gsym, 2)  # so that nodes notice
                wait_for(lambda: front.uploads(gsym, 2) and all(says(n, 200, "degraded", "bucket") for n in fleet.nodes), 60)
                pause_for(BALANCED_S, "checks")
                lookups = front.lookups(names, start)
                print(f"the bucket is away: lookups {lookups}")
                assert lookups[200] > 0
                store.start_gateway()
                wait_for(lambda: all(map(is_fine, fleet.nodes)), 90)  # also nodes that nobody asks for anything


def test_a_single_server_stays_in_while_it_can_answer(tmp_path, prog, gsym):
    """With an index in a file there is no other node: a full disk and a changed clock only degrade it."""
    data = tmp_path / "data"
    data.mkdir()
    root = os.geteuid() == 0
    faults = Faults(tmp_path)
    server = faults.server(data, options=PROBES, around=(
        "unshare", *(["-m"] if root else ["-Ur", "-m"]), "sh", "-c", f'mount -t tmpfs -o size=24m none {data} && exec "$@"', "sh"))
    server.start()
    try:
        name = build_id(prog)
        assert Api(server).upload([name], gsym)[0] == 200
        assert is_fine(server) and server.get("/readyz") == ready(server)
        fill(server)
        wait_for(lambda: says(server, 200, "degraded", "disk"))
        assert ready(server)[1]["uploads"] == "disk_full"
        faults.clock(YEAR)
        wait_for(lambda: says(server, 200, "degraded", "clock"))
        start, _ = symbol(prog, "outer")
        assert Api(server)("GET", f"/v1/symbolize/{name}?addr={start:#x}")[1]["frames"][0]
        log = server.data.with_suffix(".log").read_text()
        assert re.search(r"level=warning event=readiness status=degraded faults=disk", log), log
    finally:
        faults.clock(0)
        server.stop()


def test_probes_are_answered_until_a_stopping_server_has_ended(tmp_path, gsym):
    """The port for requests is closed at once, while a request in flight has its time; probes are told why."""
    server = Server(tmp_path / "data", options=PROBES).start()
    api = Api(server)
    uid = api.announce(["gnu:" + "ab" * 20], gsym)
    api.connection.putrequest("PUT", f"/v1/uploads/{uid}")
    api.connection.putheader("Authorization", f"Bearer {server.token}")
    api.connection.putheader("Content-Length", str(len(gsym)))
    api.connection.endheaders()
    other = Api(server)
    api.connection.send(gsym[:10])
    wait_for(lambda: other("GET", f"/v1/uploads/{uid}")[1]["offset"] == 10)
    other.connection.close()
    server.process.send_signal(signal.SIGTERM)
    wait_for(lambda: says(server, 503, "not_ready", "stopping"))
    api.connection.send(gsym[10:])
    assert api.connection.getresponse().status == 200
    assert server.stop() in (0, None)


def test_the_listener_for_probes_answers_nothing_else(tmp_path):
    """Nor does it keep connections, or start where another program listens."""
    server = Server(tmp_path / "data", options=PROBES).start()
    try:
        probes = Server(server.data, url=f"http://{server.probes}")
        for path in ("/", "/metrics", "/v1/modules", "/status"):
            assert probes.get(path, server.token)[0] == 404, path
        _, doc, headers = Api(probes, token="")("GET", "/healthz")
        assert doc == {"status": "ok"} and headers["Connection"] == "close" and headers["Cache-Control"] == "no-store"
        taken = Server(tmp_path / "other", options=("--set", f"probe-listen={server.probes}"))
        with pytest.raises((RuntimeError, FileNotFoundError)):  # it may take its key with it before that is read
            taken.start()
        assert taken.process.wait(30) == 3
        assert f"cannot listen on {server.probes}" in pathlib.Path(taken.log.name).read_text()
        with pytest.raises((RuntimeError, FileNotFoundError)):  # it may take its key with it before that is read
            (mistake := Server(tmp_path / "third", options=("--set", "probe-listen=nonsense"))).start()
        assert not mistake.data.exists()
    finally:
        assert server.stop() == 0
