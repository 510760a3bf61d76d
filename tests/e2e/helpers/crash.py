# SPDX-License-Identifier: Apache-2.0
"""Clients that do everything at once to a server that is killed, and remember its answers."""
import collections
import contextlib
import hashlib
import http.client
import random
import threading
import time

from http_api import Api, with_uuid
from waiting import pause_for, wait_for

WRITES = {"announce", "put", "finish", "delete"}
# What became of a module, as far as the clients know.
REQUESTED, THERE, DELETING, GONE = "requested", "there", "deleting", "gone"


class Dead(Exception):
    """The server is: nothing was answered."""


class Upload:
    """One that goes on over restarts: what was acknowledged of it must still be known."""

    def __init__(self, name, data, kind):
        self.name, self.data, self.kind = name, data, kind
        self.uid = None
        self.sent = 0  # acknowledged bytes


class Clients:
    """What all of them know. gsym and elf: files with build_id in them."""

    def __init__(self, server, gsym, elf, build_id, pc, seed):
        self.server, self.gsym, self.elf = server, gsym, elf
        self.build_id, self.pc = bytes.fromhex(build_id.removeprefix("gnu:")), pc
        assert elf.count(self.build_id) == 1
        self.rng = random.Random(seed)
        self.lock = threading.Lock()
        self.modules = {}  # name: what became of it
        self.killed_at = None
        self.in_flight = collections.Counter()
        self.answers = collections.Counter()
        self.errors = []
        self.clients = [Client(self, self.rng.randrange(1 << 32), work) for work in
                        (gsym_uploads, gsym_uploads, elf_uploads, deletes, reads)]

    def run(self, until):
        """All clients at work until `until()` returns and the server is dead."""
        self.killed_at = None
        threads = [threading.Thread(target=client.run) for client in self.clients]
        for t in threads:
            t.start()
        until()
        for t in threads:
            t.join()
        if self.errors:
            raise self.errors[0]

    def those(self, *states):
        with self.lock:
            return sorted(name for name, state in self.modules.items() if state in states)

    def note(self, name, state):
        with self.lock:
            self.modules[name] = state

    def state(self, name):
        with self.lock:
            return self.modules[name]

    def compare(self, there):
        """What a restarted server shows against what the dead one said; then nothing is open."""
        for name in there:
            assert self.modules.get(name) in (REQUESTED, THERE, DELETING), (name, "is visible")
        for name, state in self.modules.items():
            assert state != THERE or name in there, (name, "was acknowledged and is lost")
            if state in (REQUESTED, DELETING):
                self.modules[name] = THERE if name in there else \
                    GONE if state == DELETING else "refused"


class Client:
    def __init__(self, clients, seed, work):
        self.all, self.rng, self.work = clients, random.Random(seed), work
        self.upload = None

    def run(self):
        try:
            self.api = Api(self.all.server)
            while True:
                self.work(self)
        except Dead:
            pass
        except Exception as e:  # for the test's own thread
            self.all.errors.append(e)
            raise

    def ask(self, what, *args, **more):
        """The answer. Counts the request when the server was killed under it."""
        begun = time.monotonic()
        try:
            answer = self.api(*args, **more)
        except (OSError, ValueError, http.client.HTTPException):
            # The death of the server is noticed before anybody says that it was meant to die.
            with contextlib.suppress(AssertionError):
                wait_for(lambda: self.all.killed_at is not None, step=0.001)
            if self.all.killed_at is None:
                raise
            if begun < self.all.killed_at:
                self.all.in_flight[what] += 1
            raise Dead from None
        self.all.answers[what] += 1
        return answer

    # uploads

    def begin(self, data, kind):
        uuid = self.rng.randbytes(20)
        name = f"gnu:{uuid.hex()}"
        data = with_uuid(data, uuid) if kind == "gsym" else \
            data.replace(self.all.build_id, uuid)
        self.upload = Upload(name, data, kind)

    def take_up(self):
        """What the server knows of an upload that it had begun when it died."""
        up = self.upload
        status, doc, _ = self.ask("state", "GET", f"/v1/uploads/{up.uid}")
        assert status == 200, (doc, "an announcement was lost")
        if doc["state"] == "open":
            # Between the blob's appearance and its row, the bytes belong to no module: they are sent again.
            begun = doc["offset"] == 0 and up.name in self.all.modules
            assert begun or up.sent <= doc["offset"] <= len(up.data), (doc, up.sent)
            up.sent = doc["offset"]
            return
        assert doc["state"] in ("done", "pending"), doc
        assert self.all.state(up.name) in (THERE, DELETING, GONE)
        self.upload = None

    def send(self):
        """The upload that is under way, to its end."""
        up = self.upload
        if not up.uid:
            status, doc, _ = self.ask("announce", "POST", "/v1/uploads",
                                      {"ids": [up.name], "size": len(up.data), "kind": up.kind,
                                       "sha256": hashlib.sha256(up.data).hexdigest()})
            assert status == 201, doc
            up.uid = doc["uid"]
        chunk = len(up.data) // 3 + 1
        while up.sent < len(up.data):
            status, doc, _ = self.ask("put", "PUT", f"/v1/uploads/{up.uid}?offset={up.sent}",
                                      up.data[up.sent:up.sent + chunk])
            assert status == 200, doc
            up.sent = doc["offset"]
        self.all.note(up.name, REQUESTED)
        status, doc, _ = self.ask("finish", "POST", f"/v1/uploads/{up.uid}/finish")
        while (status, doc.get("error", {}).get("code")) in ((409, "busy"), (503, "unavailable")):  # a slow machine
            pause_for(0.05, "a client tries again later")
            status, doc, _ = self.ask("finish", "POST", f"/v1/uploads/{up.uid}/finish")
        assert status in ((200,) if up.kind == "gsym" else (200, 202)), doc
        assert doc["status"] in ("uploaded", "pending"), doc
        self.all.note(up.name, THERE)
        self.upload = None


def uploads(client, data, kind):
    if client.upload and client.upload.uid:
        client.take_up()
    if not client.upload:
        client.begin(data, kind)
    client.send()


def gsym_uploads(client):
    uploads(client, client.all.gsym, "gsym")


def elf_uploads(client):
    uploads(client, client.all.elf, "executable")


def deletes(client):
    """So many that a few hundred are left."""
    names = client.all.those(THERE)
    if len(names) < 20 or (len(names) < 200 and client.rng.random() < 0.7):
        reads(client)
        return
    name = client.rng.choice(names)
    client.all.note(name, DELETING)
    status, doc, _ = client.ask("delete", "DELETE", f"/v1/modules/{name}")
    assert status == 204, doc
    client.all.note(name, GONE)


def check_names(doc):
    """Right ones, or none yet."""
    if doc["status"] != "found":
        assert doc["status"] in ("pending", "missing"), doc
        return doc["status"]
    assert doc["frames"][0][-1]["function"] == "outer", doc
    return "found"


def reads(client):
    """Symbolizes and asks for some that are there, some that may be going, and one that never was."""
    names = client.all.those(THERE)
    some = client.rng.sample(names, min(len(names), 10))
    body = {"modules": [{"id": name, "addresses": [client.all.pc]} for name in some]}
    status, doc, _ = client.ask("symbolize", "POST", "/v1/symbolize", body)
    assert status == 200, doc
    for name, answer in zip(some, doc["modules"]):
        if check_names(answer) == "missing":
            assert client.all.state(name) in (DELETING, GONE), (name, "is missing")
    status, doc, _ = client.ask("query", "POST", "/v1/query", {"ids": [*some, "gnu:00"]})
    assert status == 200, doc
    for name, answer in zip(some, doc["answers"]):
        assert answer["status"] != "wanted" or client.all.state(name) in (DELETING, GONE), answer
    assert doc["answers"][-1]["status"] == "wanted"
