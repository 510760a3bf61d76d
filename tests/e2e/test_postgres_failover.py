# SPDX-License-Identifier: Apache-2.0
"""The database of several servers ends, and its replica takes its place, as docs/operation.md says."""
import contextlib
import hashlib
import http.client
import pathlib
import re
import threading
import urllib.request

from fleet import Fleet, seconds_until
from http_api import Api, with_uuid
from postgres_server import Postgres
from tool import symbol, unhex
from waiting import wait_for

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/operation.md"
NAME = "unhex"


def places():
    """The two settings of the page."""
    text = PAGE.read_text(encoding="utf-8").split("### A database and its replica", 1)[1]
    block = re.search(r"```\n(index = .*?)```", text, re.S)[1]
    return dict(line.split(" = ", 1) for line in block.strip().splitlines())


def options(first, second):
    """Those settings with two servers of the test."""
    found = []
    for name, url in places().items():
        hosts, rest = re.fullmatch(r"postgres://unhex@(db1,db2|db2,db1)/unhex\?(.+)", url).groups()
        folders = ",".join({"db1": first.data, "db2": second.data}[h] for h in hosts.split(","))
        found.append(f"--{name}=postgresql:///{NAME}?host={folders}&user=unhex&{rest}")
    return tuple(found)


def statement():
    """The one of the page by which lookups move to the new replica."""
    return re.search(r"`(SELECT pg_terminate_backend.*?)`", PAGE.read_text(encoding="utf-8"), re.S)[1]


class Load:
    """An uploader that repeats until each is confirmed, and what was confirmed."""

    def __init__(self, fleet, gsym):
        self.nodes, self.gsym = fleet.nodes, gsym
        self.over, self.confirmed = threading.Event(), []
        self.failed = []
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def run(self):
        n = 0
        while not self.over.is_set():
            n += 1
            name = hashlib.sha1(str(n).encode()).digest()
            while not self.upload(self.nodes[n % len(self.nodes)], name):
                if self.over.wait(0.1):
                    return
            self.confirmed.append("gnu:" + name.hex())

    def upload(self, node, name):
        """503 is repeated; any other status is a failure of the test."""
        data = with_uuid(self.gsym, name)
        document = {"ids": ["gnu:" + name.hex()], "size": len(data), "kind": "gsym", "sha256": hashlib.sha256(data).hexdigest()}
        with contextlib.suppress(OSError, http.client.HTTPException):
            api = Api(node)
            status, doc, _ = api("POST", "/v1/uploads", document)
            if status == 200:
                return True
            if status == 201:
                status, _, _ = api.put(doc["uid"], data)
            if status == 200:
                status, doc, _ = api.finish(doc["uid"])
                if status == 200:
                    return True
            if status != 503:
                self.failed.append((status, doc))
        return False

    def more(self, n=5):
        """Waits for as many new ones, and returns the seconds that it took."""
        before = len(self.confirmed)
        return seconds_until(lambda: len(self.confirmed) >= before + n, 60)


def is_answered(node, one, pc):
    status, doc, _ = Api(node)("GET", f"/v1/symbolize/{one}?addr={pc:#x}")
    return status == 200 and bool(doc.get("frames")) and doc["frames"][0][-1]["function"] == "outer"


def reads(database):
    """Transactions of servers that answered clients, of those connections that are open."""
    return int(database.query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'unhex' AND query = 'ROLLBACK'")[0])


def lag_of(server):
    with urllib.request.urlopen(server.url + "/metrics", timeout=30) as answer:
        return float(re.search(r"^unhex_index_replica_lag_seconds (\S+)$", answer.read().decode(), re.M)[1])


def test_a_replica_takes_the_place_of_a_database_that_is_gone_and_nothing_is_lost(prog, tmp_path):
    assert unhex("extract", prog, "-o", tmp_path / "gsym").returncode == 0
    gsym, (pc, _) = (tmp_path / "gsym").read_bytes(), symbol(prog, "outer")
    with Postgres() as first, contextlib.ExitStack() as stack:
        first.create(NAME)
        second = stack.enter_context(Postgres(primary=first))
        first.wait_for_replica()
        with Fleet(tmp_path, None, 2, options=options(first, second)) as fleet, Load(fleet, gsym) as load:
            load.more(20)
            known = list(load.confirmed)
            wait_for(lambda: all(is_answered(node, known[0], pc) for node in fleet.nodes))
            wait_for(lambda: is_answered(fleet.nodes[0], known[1], pc) and reads(second) > 0)

            first.stop()
            # Modules that no node has open are found by the replica while there is no other database.
            for node in fleet.nodes:
                wait_for(lambda: all(is_answered(node, one, pc) for one in known))
            second.promote()
            took = load.more()
            print(f"uploads went on {took:.1f} s after the promotion; {len(load.confirmed)} were confirmed before it and since")

            # The other one comes back as its replica, and is read from.
            first.follow(second)
            second.wait_for_replica()
            second.query(statement())
            wait_for(lambda: is_answered(fleet.nodes[0], load.confirmed[-1], pc) and reads(first) > 0, 60)
            assert all(lag_of(node) < 60 for node in fleet.nodes)
            load.more(20)

            # And back, in order: both are there.
            second.stop()
            first.promote()
            took = load.more()
            print(f"uploads went on {took:.1f} s after the second promotion")
            load.over.set()
            load.thread.join()
            assert load.failed == []
            lost = [(node.data.name, one) for node in fleet.nodes for one in load.confirmed
                    if not is_answered(node, one, pc)]
            print(f"{len(load.confirmed)} confirmed, {len(lost)} lost")
            assert lost == []


def test_a_server_whose_database_only_reads_says_so_and_uses_the_other_one(prog, tmp_path):
    """Without target_session_attrs the first host is used, though it may be the replica."""
    assert unhex("extract", prog, "-o", tmp_path / "gsym").returncode == 0
    with Postgres() as database, Postgres(primary=database) as replica:
        database.create(NAME)
        with Fleet(tmp_path, database.url(NAME), 1) as fleet:
            node = fleet.nodes[0]
            assert Api(node).upload(["gnu:" + "11" * 20], with_uuid((tmp_path / "gsym").read_bytes(), bytes([0x11] * 20)))[0] == 200
            database.query("ALTER DATABASE unhex SET default_transaction_read_only = on")
            database.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'unhex'")
            document = {"ids": ["gnu:" + "22" * 20], "size": 10, "kind": "gsym", "sha256": "00" * 32}
            wait_for(lambda: Api(node)("POST", "/v1/uploads", document)[0] == 503)
            database.query("ALTER DATABASE unhex SET default_transaction_read_only = off")
            wait_for(lambda: Api(node)("POST", "/v1/uploads", document)[0] == 201)
            assert replica.query("SELECT pg_is_in_recovery()") == ["t"]
