# SPDX-License-Identifier: Apache-2.0
"""What clients of a fleet do at once: uploads, names and files, a crawl with workers, and hosts with agents. All that was
confirmed to them is kept, with what it has to be answered with."""
import collections
import contextlib
import dataclasses
import hashlib
import http.client
import http.server
import json
import os
import random
import re
import subprocess
import threading
import time
import urllib.parse

import packages
from http_api import with_uuid
from tool import UNHEX, build_id, compile_c, stripped, symbol, unhex
from waiting import pause_for

AWAY = re.compile(r"unreachable|cannot reach|deadline exceeded")  # why a GSYM that is stored is pending: its place does not answer
SEEN_S = 3  # after which every node knows what was confirmed
UNTRIED = 30  # packages that wait for a worker, at most

# What runs on a host: it ends by itself, and lives longer than the agent takes between two scans.
PROGRAM = """
#include <unistd.h>
__attribute__((noinline)) int outer(int x) { return x * 3; }
int main(int argc, char **argv) { (void)argv; alarm(15); for (;;) { pause(); (void)!outer(argc); } }
"""
# Starts what is put into a folder. The agent scans: without namespaces of its own, and records of the kernel, it would see what
# else runs here.
HOST = """
(while sleep 0.3; do
    for p in "$1"/new/*; do
        [ -e "$p" ] && mv "$p" "$1/old/" && { "$1/old/${p##*/}" & }
    done
done) &
shift
exec setpriv --bounding-set -sys_admin,-perfmon --inh-caps -all -- "$@"
"""


@dataclasses.dataclass(frozen=True)
class Write:
    """What was confirmed: when, for which ID, by which kind of client, with which bytes, and where `outer` is in it."""
    when: float
    id: str
    kind: str
    sha256: str
    pc: int


class Counts:
    def __init__(self):
        self.lock = threading.Lock()
        self.n = collections.Counter()
        self.wrong = []
        self.last_right = None
        self.gap = 0.0  # the longest time without a right answer

    def add(self, what, n=1):
        with self.lock:
            self.n[what] += n

    def right(self, what):
        with self.lock:
            self.n[what] += 1
            now = time.monotonic()
            self.gap = max(self.gap, now - self.last_right if self.last_right else 0)
            self.last_right = now

    def fail(self, text):
        with self.lock:
            self.wrong.append(text)


class Client:
    """Requests at one URL, each on its own connection, tried again until there is an answer other than 5xx."""

    def __init__(self, load):
        self.load, self.url, self.token = load, urllib.parse.urlsplit(load.url), load.token

    def once(self, method, path, body=None):
        """Status and bytes; None when the connection ended."""
        counts = self.load.counts
        connection = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=70)
        try:
            connection.request(method, path, body, {"Authorization": f"Bearer {self.token}"})
            answer = connection.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException):
            counts.add("connections cut")
            return None
        finally:
            connection.close()
        counts.add("requests")
        if answer.status >= 500:
            self._judge(method, path, answer, data)
        return answer.status, data

    def _judge(self, method, path, answer, data):
        """Back pressure has a code, also the balancer's."""
        with contextlib.suppress(ValueError, KeyError, TypeError):
            code = json.loads(data)["error"]["code"]
            if answer.status in (503, 507) and code in ("unavailable", "pending", "busy", "away"):
                self.load.counts.add("back pressure (503)")
                return
        self.load.counts.fail(f"{method} {path}: {answer.status} {data[:200]!r}")

    def __call__(self, method, path, body=None):
        """Status and document of the first answer that is none of 5xx; None once the time is over."""
        while not self.load.over.is_set():
            got = self.once(method, path, body)
            if got and got[0] < 500:
                return got
            pause_for(0.1, "a client tries again later")
        return None


class Mirror:
    """Packages by their names, over HTTP."""

    def __init__(self, address):
        files = self.files = {}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                data = files.get(self.path[1:])
                self.send_response(200 if data else 404)
                self.send_header("Content-Length", str(len(data or b"")))
                self.end_headers()
                self.wfile.write(data or b"")

            def log_message(self, *args):
                pass
        self.server = http.server.ThreadingHTTPServer((address, 0), Handler)
        self.url = f"http://{address}:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Load:
    """Threads that go on until `over`."""

    def __init__(self, folder, counts, seed=1):
        self.folder, self.counts = folder, counts
        self.url = self.token = None
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.random = random.Random(seed)
        self.confirmed = []  # of Write
        self.announced = 0  # packages
        self.processes = []
        prog = compile_c(folder)
        assert unhex("extract", prog, "-o", folder / "prog.gsym").returncode == 0
        self.pc, _ = symbol(prog, "outer")
        self.gsym, self.executable = (folder / "prog.gsym").read_bytes(), self.template(prog)
        self.debug = self.template(stripped(prog)[1])
        program = compile_c(folder, "program", PROGRAM, ("-O1",))
        self.program, self.program_pc = self.template(program), symbol(program, "outer")[0]

    @staticmethod
    def template(path):
        """The bytes of a file, and those of its build ID in it."""
        data, name = path.read_bytes(), bytes.fromhex(build_id(path)[4:])
        assert data.count(name) == 1
        return data, name

    def threads(self, workers, hosts, mirror):
        """Not started yet. workers, hosts: commands that become another one on their machines."""
        work = [(self.uploader, 0), (self.uploader, 1)] + [(self.reader, n) for n in range(3)] + [(self.announcer, mirror)]
        work += [(self.worker, n, around, mirror) for n, around in enumerate(workers)]
        work += [(self.host, n, around) for n, around in enumerate(hosts)]
        return [threading.Thread(target=self.run, args=w) for w in work]

    def run(self, method, *args):
        try:
            method(*args)
        except Exception as error:  # pylint: disable=broad-except
            self.counts.fail(f"{method.__name__} ended: {error!r}")
            raise

    def stop(self):
        """Kills them: unshare(1), which is around the hosts, ignores what is milder, and its --kill-child ends all that is in it."""
        self.over.set()
        with self.lock:
            for process in self.processes:
                process.kill()
            for process in self.processes:
                process.wait()

    def confirm(self, identity, kind, sha256=None, pc=None):
        with self.lock:
            self.confirmed.append(Write(time.monotonic(), identity, kind, sha256, pc or self.pc))
        self.counts.add(f"uploads confirmed ({kind})")

    def goes_on(self, since):
        """Were there a right answer and a confirmation since then?"""
        with self.lock:
            confirmed = self.confirmed and self.confirmed[-1].when > since
        return confirmed and (self.counts.last_right or 0) > since

    def start(self, command, **how):
        """A process of ours, that ends with the load; None when that is over."""
        with self.lock:
            if self.over.is_set():
                return None
            environment = {k: v for k, v in os.environ.items() if not k.startswith("UNHEX_")}
            environment |= {"UNHEX_URL": self.url, "UNHEX_TOKEN": self.token, "UNHEX_CACHE": "off"}
            process = subprocess.Popen([*map(str, command)], env=environment, stdin=subprocess.DEVNULL, **how)
            self.processes.append(process)
            return process

    # --- uploads

    def uploader(self, number):
        """Sends GSYMs and executables, each with an ID of its own, until each is confirmed."""
        client = Client(self)
        for i in range(1 << 30):
            if self.over.is_set():
                return
            kind = "executable" if i % 4 == 3 else "gsym"
            name = hashlib.sha1(f"{number}-{i}".encode()).digest()
            data = with_uuid(self.gsym, name) if kind == "gsym" else self.executable[0].replace(self.executable[1], name)
            if self.upload(client, kind, name, data):
                self.confirm("gnu:" + name.hex(), kind, hashlib.sha256(data).hexdigest())
            pause_for(0.02, "the rate of uploads")

    def upload(self, client, kind, name, data):
        """Until it is confirmed; as a client does that may have to begin again."""
        document = json.dumps({"ids": ["gnu:" + name.hex()], "size": len(data), "kind": kind,
                               "sha256": hashlib.sha256(data).hexdigest()})
        while not self.over.is_set():
            got = client("POST", "/v1/uploads", document)
            if not got:
                return False
            doc = json.loads(got[1])
            if got[0] == 200 or doc.get("status") == "already-there":
                return True
            assert got[0] == 201, got
            path = f"/v1/uploads/{doc['uid']}"
            got = client("PUT", f"{path}?offset={doc.get('offset', 0)}", data[doc.get("offset", 0):])
            got = got and client("POST", f"{path}/finish")
            if got and got[0] in (200, 202):
                return True
            if got:
                self.counts.add("uploads begun again")
            pause_for(0.05, "a client tries again later")
        return False

    # --- names and files

    def pick(self):
        """One that was confirmed long enough ago to be known everywhere."""
        with self.lock:
            known = [c for c in self.confirmed if c.when < time.monotonic() - SEEN_S]
            return self.random.choice(known) if known else None

    def reader(self, _):
        client = Client(self)
        while not self.over.is_set():
            one = self.pick()
            if not one:
                pause_for(0.05, "nothing was confirmed yet")
                continue
            if one.kind == "executable" and self.random.random() < 0.5:
                self.read_file(client, one)
            else:
                self.read_names(client, one)
            pause_for(0.01, "the rate of readers")

    def read_names(self, client, one):
        got = client.once("GET", f"/v1/symbolize/{one.id}?addr={one.pc:#x}")
        if got and got[0] < 500:
            self.judge_names(one, got[1])

    def judge_names(self, one, data):
        """What is extracted may be pending, and nothing else."""
        doc = json.loads(data)
        frames = (doc.get("frames") or [[]])[0]
        if frames and frames[-1]["function"] == "outer":
            self.counts.right("answers right")
            return True
        if doc.get("status") == "pending" and (one.kind == "executable" or AWAY.search(doc["reason"])):
            self.counts.add("answers pending")
        else:
            self.counts.fail(f"{one}: {data[:200]!r}")
        return False

    def read_file(self, client, one):
        got = client.once("GET", f"/buildid/{one.id[4:]}/executable")
        if not got or got[0] >= 500:
            return
        # Until it has been extracted the server does not know that it is an executable.
        if got[0] == 404:
            self.counts.add("files pending")
        elif got[0] == 200 and hashlib.sha256(got[1]).hexdigest() == one.sha256:
            self.counts.right("files right")
        else:
            self.counts.fail(f"file of {one}: {got[0]}")

    # --- a crawl

    def announcer(self, mirror):
        """Announces packages, each with a debug file of its own, as fast as workers take them."""
        client = Client(self)
        for i in range(1 << 30):
            batch = [self.package(mirror, f"{i}-{k}") for k in range(5)]
            got = client("POST", "/v1/crawl/packages", json.dumps({"repository": "r", "packages": batch}))
            if not got:
                return
            assert got[0] == 200, got
            self.announced += len(batch)
            self.counts.add("packages announced", len(batch))
            while not self.over.wait(0.2) and self.announced - self.counts.n["uploads confirmed (crawl)"] > UNTRIED:
                pass

    def package(self, mirror, text):
        name = hashlib.sha1(f"package {text}".encode()).digest()
        path = self.folder / "package.deb"
        packages.deb(path, {"usr/lib/debug/prog.debug": self.debug[0].replace(self.debug[1], name)}, "")
        data = path.read_bytes()
        mirror.files[f"{name.hex()}.deb"] = data
        return {"key": hashlib.sha256(data).hexdigest(), "name": f"{name.hex()}-dbg", "version": "1.0-1", "arch": "amd64",
                "source": "s", "distribution": "debian", "suite": "bookworm", "component": "main",
                "url": f"{mirror.url}/{name.hex()}.deb", "size": len(data), "installed": 50, "kind": "deb", "role": "debug",
                "build_ids": [name.hex()]}

    def worker(self, number, around, mirror):
        """`unhex crawl work` ends when there is nothing to do."""
        with open(self.folder / f"worker{number}.log", "ab") as log:
            while process := self.start([*around, UNHEX, "crawl", "work", "--json", "--jobs", "2", "--from", mirror.url], stdout=subprocess.PIPE,
                                        stderr=log, text=True):
                for line in process.stdout:
                    row = json.loads(line)
                    if row["outcome"] == "done" and row["uploaded"] + row["already-there"] == 1:
                        self.confirm("gnu:" + os.path.basename(row["package"])[:40], "crawl")
                    else:
                        self.counts.add(f"packages {row['outcome']}: {row.get('cause')}")
                process.wait()
                process.stdout.close()
                self.over.wait(0.5)

    # --- hosts

    def host(self, number, around):
        """A program is started on it each second, and `unhex agent` finds them."""
        place = self.folder / f"host{number}"
        for name in ("new", "old"):
            (place / name).mkdir(parents=True)
        with open(place / "agent.out", "wb") as out, open(place / "agent.err", "wb") as err:
            agent = self.start([*around, "unshare", "-m", "-p", "-f", "--kill-child", "--mount-proc", "sh", "-c", HOST, "sh", place,
                                UNHEX, "agent", "--json", "--state", place / "state", "--cpu", "none"], stdout=out, stderr=err)
        with open(place / "agent.out", encoding="utf-8") as results:
            half = ""
            for i in range(1 << 30):
                name = hashlib.sha1(f"host {number} {i}".encode()).digest()
                (place / "next").write_bytes(self.program[0].replace(self.program[1], name))
                (place / "next").chmod(0o755)
                (place / "next").rename(place / "new" / name.hex())
                self.counts.add("programs started on hosts")
                over = self.over.wait(1)
                for line in results:
                    half += line
                    if half.endswith("\n"):
                        self.result_of_agent(json.loads(half))
                        half = ""
                if over:
                    break
                assert agent.poll() is None, (place / "agent.err").read_text()

    def result_of_agent(self, row):
        if len(name := os.path.basename(row["file"])) == 40:
            if row["status"] in ("uploaded", "already-there"):
                self.confirm("gnu:" + name, "agent", pc=self.program_pc)
            else:
                self.counts.add(f"programs {row['status']}: {row.get('reason')}")
