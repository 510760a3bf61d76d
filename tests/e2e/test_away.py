# SPDX-License-Identifier: Apache-2.0
"""What is away for now is never said to be absent: each row of the table in docs/api/openapi.yaml, with its cause."""
import contextlib
import hashlib
import json
import os
import pathlib
import re
import signal
import socket
import sqlite3
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest
import yaml

from contract import DOCUMENT
from http_api import Api
from postgres_server import Postgres
from radosgw_server import Radosgw
from s3_faults import CUT_ANSWER, REFUSE, FaultProxy
from test_package_upstream import announced, mirror
from test_protocols import debug_id
from test_sources import archive
from tool import ROOT, SOURCE, build_id, compile_c, stripped, symbol, unhex
from unhex_server import Server
from upstream_stub import Stub, hang, send
from waiting import pause_for, wait_for

PATIENCE = 60  # seconds: for a machine that is busy
UNKNOWN = "ab" * 20


def table():
    """{cause: [(request, answer)]} of the table."""
    text = DOCUMENT.read_text()
    part = text[text.index("| cause | requests | answer |"):].split("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in part.splitlines()[2:]]
    found = {}
    for cause, requests, answer in rows:
        found.setdefault(cause, []).extend((request, answer) for request in re.findall(r"`([^`]+)`", requests))
    return found


TABLE = table()


def request_of(path, name, body=None):
    """URL and body of the request of a row."""
    digits = name.removeprefix("gnu:")
    url = path.replace("{id}", digits).replace("{name}", ".debug_info").replace("{path}", "x.c")
    documents = {
        "/v1/symbolize": {"modules": [{"id": name, "addresses": ["0x1"]}]},
        "/v1/query": {"ids": [name]},
        "/v1/uploads": {"ids": [name], "size": 5, "sha256": hashlib.sha256(b"bytes").hexdigest(), "kind": "gsym"},
        "/symbolicate/v5": {"memoryMap": [["prog", debug_id(name)]], "stacks": [[[0, 1]]]},
        "/source/v1": {"debugId": debug_id(name), "moduleOffset": "0x1", "file": "/x.c"},
        "/asm/v1": {"debugId": debug_id(name), "startAddress": "0x1", "size": "0x10"},
    }
    if path in documents:
        body = json.dumps(documents[path]).encode() if body is None else body
    if path == "/pprof/{id}/symbol":
        body = b"0x1"
    url += {"/v1/symbolize/{id}": "?addr=0x1", "/metadata": f"?key=buildid&value={digits}",
            "/frame": f"?id={digits}&addr=0x1"}.get(path, "")
    return url, body


def ask(server, path, name=UNKNOWN, body=None):
    url, body = request_of(path, name, body)
    request = urllib.request.Request(server.url + url, data=body, headers={"Authorization": f"Bearer {server.token}"})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as answer:
        return answer.code, answer.read(), answer.headers


def state_of(body):
    doc = json.loads(body)
    return doc["modules"][0] if "modules" in doc else doc


def check_row(server, path, expected, name=UNKNOWN, body=None):
    """The answer is the one of the row, and says when to come again, or why."""
    status, got, headers = ask(server, path, name, body)
    found = f"{path}: {status} {got[:300]}"
    if expected == "`pending`":
        assert status == 200, found
        state = state_of(got)
        assert state["status"] == "pending" and state["reason"], found
        assert path == "/v1/explain/{id}" or state["retry_after"] >= 1, found
        return
    wanted, words = expected.split(" ", 1)
    assert status == int(wanted), found
    assert json.loads(got)["error"]["code"] in re.findall(r"`(\w+)`", words), found
    assert "no module has" not in json.loads(got)["error"]["message"], found
    assert wanted != "503" or int(headers["Retry-After"]) >= 1, (found, headers)


def check(cause, server, name=UNKNOWN, bodies=None):
    assert TABLE[cause], cause
    for path, expected in TABLE[cause]:
        check_row(server, path, expected, name, (bodies or {}).get(path))


@contextlib.contextmanager
def running(*args, **more):
    server = Server(*args, **more).start()
    try:
        yield server
    finally:
        assert server.stop() in (0, None)


@pytest.fixture(scope="module")
def prog(tmp_path_factory):
    return compile_c(tmp_path_factory.mktemp("away"), flags=("-O1", "-g"))


@pytest.fixture(scope="module")
def bucket_store():
    with Radosgw() as r:
        yield r


def test_each_cause_of_the_table_is_produced_here():
    text = pathlib.Path(__file__).read_text()
    assert len(TABLE) > 10
    for cause in TABLE:
        assert f'"{cause}"' in text, cause


# --- upstreams ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cause,how", [("an upstream refuses connections", None), ("an upstream is silent", hang),
                                       ("an upstream answers 500", send(500))])
def test_an_upstream_that_is_away_is_no_absence(tmp_path, cause, how):
    with Stub() as stub:
        stub.otherwise = how
        url = stub.url if how else "http://127.0.0.1:1"
        with running(tmp_path / "server", options=("--upstream", f"debuginfod+{url},name=up,private")) as server:
            check(cause, server)
            first = len(stub.requested)
            check(cause, server)
            # Within a minute it is not asked again for the same, and nobody is told that there is nothing.
            assert how is not send(500) or len(stub.requested) == first


def test_elfutils_client_asks_again_when_an_upstream_is_back(tmp_path, prog):
    """It takes every status but 406 for "there is none", a 503 too, and remembers that for ten minutes."""
    debug = stripped(prog, "prog.bare")[1].read_bytes()
    with Stub() as stub:
        stub.otherwise = send(500)
        options = ("--upstream", f"debuginfod+{stub.url},name=up,private", "--set", "upstream-failed=1s")
        with running(tmp_path / "server", options=options) as server:
            env = {**os.environ, "DEBUGINFOD_URLS": server.url, "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache")}
            find = ["debuginfod-find", "debuginfo", build_id(prog).removeprefix("gnu:")]
            result = subprocess.run(find, env=env, capture_output=True, text=True)
            assert result.returncode != 0 and "No such file" not in result.stderr, result
            stub.otherwise = send(200, debug)
            wait_for(lambda: subprocess.run(find, env=env, capture_output=True).returncode == 0, PATIENCE, 0.5)


def test_an_upstream_that_is_back_is_believed(tmp_path):
    """What was away is asked for again, and then absent: the negative cache has the one apart from the other."""
    with Stub() as stub:
        stub.otherwise = send(500)
        options = ("--upstream", f"debuginfod+{stub.url},name=up,private", "--set", "upstream-failed=1s")
        with running(tmp_path / "server", options=options) as server:
            assert ask(server, "/buildid/{id}/debuginfo")[0] == 503
            stub.otherwise = send(404)
            wait_for(lambda: ask(server, "/buildid/{id}/debuginfo")[0] == 404, PATIENCE, 0.2)
            requested = len(stub.requested)
            stub.otherwise = send(500)
            assert ask(server, "/buildid/{id}/debuginfo")[0] == 404  # still valid, for an hour
            assert len(stub.requested) == requested


def test_what_was_away_before_a_restart_is_away_after_it(tmp_path):
    with Stub() as stub:
        stub.otherwise = send(500)
        server = Server(tmp_path / "server", options=("--upstream", f"debuginfod+{stub.url},name=up,private")).start()
        assert ask(server, "/buildid/{id}/debuginfo")[0] == 503
        requested = len(stub.requested)
        assert server.stop() in (0, None)
        server.start()
        assert ask(server, "/buildid/{id}/debuginfo")[0] == 503
        assert len(stub.requested) == requested  # from the index
        assert server.stop() in (0, None)


def test_a_folder_that_is_not_mounted_is_away(tmp_path):
    folder = tmp_path / "mounted"
    with running(tmp_path / "server", options=("--upstream", f"dir:{folder}", "--set", "upstream-failed=1s")) as server:
        assert ask(server, "/buildid/{id}/debuginfo")[0] == 503
        folder.mkdir()
        wait_for(lambda: ask(server, "/buildid/{id}/debuginfo")[0] == 404, PATIENCE, 0.2)


def test_a_server_behind_a_server_passes_it_on(tmp_path):
    """The one in front has no breaker open for it: it has other modules."""
    with Stub() as stub:
        stub.otherwise = send(500)
        with running(tmp_path / "behind", options=("--upstream", f"debuginfod+{stub.url},name=up,private")) as behind, \
                running(tmp_path / "front", options=("--upstream", f"unhex+{behind.url},name=next,private")) as front:
            assert ask(front, "/buildid/{id}/debuginfo")[0] == 503
            status, body, _ = ask(front, "/v1/explain/{id}")
            (reported,) = json.loads(body)["upstreams"]
            assert status == 200 and reported["state"] == "in use", reported


def test_a_mirror_that_is_down_is_no_absence(tmp_path):
    with running(tmp_path / "server", options=("--upstream", mirror("http://127.0.0.1:1"))) as server:
        announced(server, b"a package", "http://127.0.0.1:1/debian/pool/main/d/demo/demo.deb", [UNKNOWN])
        check("a mirror is down", server)


# --- the bucket --------------------------------------------------------------------------------


def in_bucket(store, tmp_path, prog, proxy, *options):
    """A server that has the program in a bucket, and no copy of it. Not started."""
    server = Server(tmp_path / "server", environment=store.environment, options=(
        "--blobs", store.bucket(tmp_path.name.replace("_", "-").lower()), "--s3-endpoint", proxy.url, *options)).start()
    pushed = server.unhex("push", "--with-debuginfo", prog)
    assert pushed.returncode == 0, pushed.stdout + pushed.stderr
    wait_for(lambda: state_of(ask(server, "/v1/symbolize", build_id(prog))[1])["status"] == "found", PATIENCE)
    assert server.stop() in (0, None)
    for copy in (server.data / "cache").rglob("*"):
        if copy.is_file():
            copy.unlink()
    return server


@pytest.mark.parametrize("cause,fault", [("the bucket answers 503", REFUSE), ("the bucket cuts its answers", CUT_ANSWER)])
def test_a_bucket_that_is_away_is_no_absence(bucket_store, tmp_path, prog, cause, fault):
    plan = {"fault": None}
    with FaultProxy(bucket_store.port, lambda n, method, path: plan["fault"]) as proxy:
        server = in_bucket(bucket_store, tmp_path, prog, proxy).start()
        plan["fault"] = fault
        check(cause, server, build_id(prog))
        plan["fault"] = None
        wait_for(lambda: ask(server, "/buildid/{id}/debuginfo", build_id(prog))[0] == 200, PATIENCE, 0.2)
        assert server.stop() in (0, None)


def test_a_deadline_is_no_absence(bucket_store, tmp_path, prog):
    plan = {"seconds": 0}

    def slow(number, method, path):
        pause_for(plan["seconds"], "a slow bucket")
    with FaultProxy(bucket_store.port, slow) as proxy:
        server = in_bucket(bucket_store, tmp_path, prog, proxy, "--set", "request-time=1s").start()
        plan["seconds"] = 1.5
        # Between two modules the clock is looked at from time to time.
        modules = [{"id": name, "addresses": ["0x1"]} for name in (build_id(prog), *(f"gnu:{i:040x}" for i in range(1000)))]
        check("the deadline has passed", server, bodies={"/v1/symbolize": json.dumps({"modules": modules}).encode()})
        plan["seconds"] = 0
        assert server.stop() in (0, None)


def test_a_full_disk_is_neither_damage_nor_absence(bucket_store, tmp_path, prog):
    """The copies of blobs have a small file system of their own, which another file fills to the last byte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    root = os.geteuid() == 0
    holder = subprocess.Popen(["unshare", *(["-m"] if root else ["-Ur", "-m"]), "sh", "-c",
                               f"mount -t tmpfs -o size=24m none {disk} && echo ready && exec sleep 600"],
                              stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "ready\n"
    inside = ["nsenter", "-t", str(holder.pid), *(["-m"] if root else ["-m", "-U", "--preserve-credentials"])]
    server = Server(disk / "data", around=tuple(inside), environment=bucket_store.environment, options=(
        "--blobs", bucket_store.bucket("full"), "--s3-endpoint", bucket_store.url)).start()
    try:
        assert server.unhex("push", "--with-debuginfo", prog).returncode == 0
        wait_for(lambda: state_of(ask(server, "/v1/symbolize", build_id(prog))[1])["status"] == "found", PATIENCE)
        assert server.stop() in (0, None)
        subprocess.run([*inside, "sh", "-c", f"find {disk}/data/cache -type f -delete"], check=True)
        server.start()
        subprocess.run([*inside, "sh", "-c", f"cat /dev/zero > {disk}/filler"], check=False, stderr=subprocess.DEVNULL)
        check("the disk is full", server, build_id(prog))
        subprocess.run([*inside, "rm", disk / "filler"], check=True)
        wait_for(lambda: ask(server, "/buildid/{id}/debuginfo", build_id(prog))[0] == 200, PATIENCE, 0.2)
    finally:
        status = server.stop()
        holder.kill()
        holder.wait()
    assert status in (0, None)


# --- the index ---------------------------------------------------------------------------------


def routes_of_ids():
    """Every path of the document that may say that a module is absent."""
    document = yaml.safe_load(DOCUMENT.read_text())
    kinds = re.compile(r"^/(buildid|v1/(gsym|symbolize|explain|modules)|pprof|modules)/\{id\}")
    return [path for path, item in document["paths"].items()
            if kinds.match(path) and "404" in item.get("get", {}).get("responses", {})]


def test_a_database_that_is_down_is_no_absence(tmp_path, prog):
    with Postgres() as postgres:
        with running(tmp_path / "server", options=("--index", postgres.create("away"))) as server:
            assert server.unhex("push", prog).returncode == 0
            postgres.stop()
            check("the database of the index is down", server)
            assert len(routes_of_ids()) >= 10
            for path in routes_of_ids():
                status, body, headers = ask(server, path)
                later = status == 503 and int(headers["Retry-After"]) >= 1
                assert later or (status == 200 and state_of(body)["status"] == "pending"), (path, status, body[:300])
            postgres.start()
            wait_for(lambda: ask(server, "/buildid/{id}/debuginfo")[0] == 404, PATIENCE, 0.2)


def test_an_index_that_another_process_holds_is_said_with_a_time(tmp_path):
    with running(tmp_path / "server") as server:
        db = sqlite3.connect(server.data / "index.sqlite", isolation_level=None)
        db.execute("BEGIN IMMEDIATE")
        check("another process holds the index", server)
        db.execute("COMMIT")
        assert ask(server, "/v1/uploads")[0] == 201


# --- uploads -----------------------------------------------------------------------------------


def children(pid):
    found = pathlib.Path(f"/proc/{pid}/task")
    return [int(child) for task in found.iterdir() for child in (task / "children").read_text().split()]


@contextlib.contextmanager
def extractions_stopped(server, upload):
    """The only worker holds, by a signal to its confined child. upload() brings work that takes a moment."""
    idle = set(children(server.process.pid))
    upload()
    held = wait_for(lambda: [p for p in children(server.process.pid) if p not in idle], PATIENCE, 0.001,
                    "a child at work")
    for pid in held:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in held:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A program whose extraction takes a moment."""
    functions = "".join(f"int f{i}(int x) {{ int y = x * {i}; return y + {i}; }}\n" for i in range(20000))
    return compile_c(tmp_path_factory.mktemp("large"), name="large", source=functions + SOURCE, flags=("-O0", "-g"))


def test_an_upload_that_waits_for_its_extraction_is_no_absence(tmp_path, prog, large):
    with running(tmp_path / "server", options=("--set", "extract-workers=1")) as server:
        api = Api(server)
        with extractions_stopped(server, lambda: api.upload([build_id(large)], large.read_bytes(), kind="executable")):
            status, doc, _ = api.upload([build_id(prog)], prog.read_bytes(), kind="executable")
            assert status in (200, 202) and doc["status"] == "pending", doc
            check("an upload is being extracted", server, build_id(prog))
            asked = api("POST", "/v1/query", {"ids": [build_id(prog)]})[1]["answers"][0]
            assert asked["status"] == "already-there", asked
            found = server.unhex("lookup", build_id(prog), "0x1")
            assert found.returncode == 3 and "retry in" in found.stderr, found
        wait_for(lambda: state_of(ask(server, "/v1/symbolize", build_id(prog))[1])["status"] == "found", PATIENCE)


def test_source_files_that_are_being_unpacked_are_no_absence(tmp_path, prog, large):
    with running(tmp_path / "server", options=("--set", "extract-workers=1")) as server:
        api = Api(server)
        assert server.unhex("push", prog).returncode == 0
        with extractions_stopped(server, lambda: api.upload([build_id(large)], large.read_bytes(), kind="executable")):
            status, doc, _ = api.upload([build_id(prog)], archive({"/x.c": b"int x;\n"}), kind="sources")
            assert status in (200, 202), doc
            check("source files are being unpacked", server, build_id(prog))
        wait_for(lambda: ask(server, "/buildid/{id}/source/{path}", build_id(prog))[0] == 200, PATIENCE)


# --- limits ------------------------------------------------------------------------------------


def metric(server, name):
    with urllib.request.urlopen(server.url + "/metrics", timeout=PATIENCE) as answer:
        return int(re.search(rf"^{name} (\d+)$", answer.read().decode(), re.M)[1])


def test_a_limit_of_memory_is_no_absence(tmp_path):
    with running(tmp_path / "server", options=("--set", "memory=16M")) as server:
        body = json.dumps({"modules": [{"id": UNKNOWN, "addresses": ["0x1"]}]}).encode() + b" " * (5 << 20)
        with socket.create_connection((url := urllib.parse.urlsplit(server.url)).netloc.split(":")) as slow:
            slow.sendall(f"POST /v1/symbolize HTTP/1.1\r\nHost: {url.netloc}\r\nContent-Length: {len(body)}\r\n\r\n".encode())
            slow.sendall(body[:-1])
            wait_for(lambda: metric(server, "unhex_request_memory_bytes") > 5 << 20, PATIENCE)
            check("the limit of memory is reached", server, bodies={"/v1/symbolize": body})


# --- one place ---------------------------------------------------------------------------------


def test_no_handler_makes_a_status_of_an_error_itself():
    """net/http.c does, and writes Retry-After. A protocol that prescribes another status is listed here."""
    allowed = {"server/protocols/otlp_routes.c", "server/run/probes.c", "server/run/routes.c", "cli/verbs/otlp_sidecar.c"}
    for path in sorted((ROOT / "server").rglob("*.c")):
        text = path.read_text()
        name = str(path.relative_to(ROOT))
        assert '"Retry-After"' not in text, name
        assert name in allowed or not re.search(r"status = 5\d\d|status\(.*\) == 5", text), name


# --- clients -----------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [("lookup", "gnu:" + UNKNOWN, "0x1"), ("modules", "show", "gnu:" + UNKNOWN),
                                   ("explain", "gnu:" + UNKNOWN), ("push",), ("clone",),
                                   ("symbolize", "--no-local", "-")])
def test_commands_say_that_a_server_is_unavailable(tmp_path, prog, words):
    """And exit with 3, which is not the 1 of something that does not exist."""
    with Stub() as stub:
        error = json.dumps({"error": {"code": "unavailable", "message": "the index is away"}}).encode()
        stub.otherwise = send(503, error, Content_Type="application/json", Retry_After="1")
        words = {"push": ("push", "--timeout", "3", prog), "clone": ("clone", stub.url, tmp_path / "copy")}.get(words[0], words)
        report = f"==1==ERROR: AddressSanitizer\n    #0 0x5581  (/prog+0x1234) (BuildId: {UNKNOWN})\n"
        result = unhex(*words, stdin=report, env={"UNHEX_URL": stub.url, "UNHEX_TOKEN": "x"})
        assert result.returncode == 3, result
        assert "not found" not in result.stderr and "no symbols" not in result.stderr, result


def test_the_cache_of_the_command_does_not_remember_that_a_server_is_away(tmp_path, prog):
    bare = tmp_path / "bare"
    subprocess.run(["objcopy", "--strip-debug", prog, bare], check=True)
    with Stub() as stub:
        stub.otherwise = send(503, Retry_After="1")
        env = {"DEBUGINFOD_URLS": stub.url, "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache"), "UNHEX_CACHE": "off"}
        start, _ = symbol(prog, "outer")
        unhex("lookup", "--debuginfod", stub.url, bare, hex(start), env=env)
        asked = len(stub.requested)
        assert asked > 0
        stub.otherwise = send(200, prog.read_bytes())
        found = unhex("lookup", "--debuginfod", stub.url, bare, hex(start), env=env)
        assert "prog.c" in found.stdout, found  # asked again, at once
