# SPDX-License-Identifier: Apache-2.0
"""Object stores that speak S3, against Ceph's: the client, stores whose blobs are in a bucket, and servers over them."""
import hashlib
import json
import math
import os
import pathlib
import subprocess
import urllib.request

import pytest

from unhex_server import Server
from http_api import Api
from radosgw_server import Radosgw
from s3_faults import FAULTS, HTML, FaultProxy
from tool import UNHEX, build_id, unhex
from waiting import wait_for

PROGRAMS = pathlib.Path(UNHEX).resolve().parents[1] / "tests/unit"
PROGRAM = "int named(int x) { return x * %d; }\nint main(int argc, char **argv) { (void)argv; return named(argc); }\n"


@pytest.fixture(scope="module")
def store():
    with Radosgw() as r:
        yield r


def run(store, program, bucket, **more):
    env = {**os.environ, **store.environment, "UNHEX_TEST_S3_ENDPOINT": store.url, "UNHEX_TEST_S3_BUCKET": bucket, **more}
    r = subprocess.run([PROGRAMS / program], env=env, capture_output=True, text=True, timeout=300)
    assert r.returncode == 0, r.stdout + r.stderr
    return r.stdout + r.stderr


def test_the_client_reads_writes_and_lists(store):
    assert "10 test(s)" in run(store, "test_s3_bucket", store.bucket("client"))


def test_blobs_in_a_bucket_do_what_those_in_files_do(store, postgres):
    out = run(store, "test_store_bucket", store.bucket("blobs"), UNHEX_TEST_POSTGRES=postgres.create("blobs"))
    assert "12 test(s)" in out


def test_each_index_conforms_with_each_place_of_blobs(store, postgres):
    out = run(store, "test_store_engines", store.bucket("engines"), UNHEX_TEST_POSTGRES=postgres.create("engines"))
    assert "[  PASSED  ] 4 test(s)" in out


@pytest.mark.parametrize("fault", FAULTS)
def test_each_index_conforms_with_a_bucket_that_fails(store, postgres, fault):
    """Each fourth request fails."""
    name = "engines-" + fault.replace(" ", "-")
    with FaultProxy(store.port, lambda n, method, path: fault if n % 4 == 3 else None) as proxy:
        out = run(store, "test_store_engines", store.bucket(name), UNHEX_TEST_POSTGRES=postgres.create(name.replace("-", "_")),
                  UNHEX_TEST_S3_ENDPOINT=proxy.url)
        assert proxy.faults > 10, proxy.log
    assert "[  PASSED  ] 4 test(s)" in out


def build(tmp_path, name, number=3):
    source = tmp_path / f"{name}.c"
    source.write_text(PROGRAM % number)
    subprocess.run(["gcc", "-g", "-O0", "-Wl,--build-id=sha1", "-o", tmp_path / name, source], check=True)
    return tmp_path / name


def address(program):
    nm = subprocess.run(["nm", program], capture_output=True, text=True).stdout
    return next("0x" + line.split()[0] for line in nm.splitlines() if line.endswith(" named"))


def identity(program):
    return unhex("id", "-q", program).stdout.split()[1]


def ask(server, program):
    return server.get(f"/v1/symbolize/{identity(program)}?addr={address(program)}")


def is_named(server, program):
    status, document = ask(server, program)
    return status == 200 and "frames" in document and document["frames"][0][-1]["function"] == "named"


def node(store, tmp_path, name, bucket, *options, url=None):
    return Server(tmp_path / name, options=("--blobs", bucket, "--s3-endpoint", url or store.url, *options),
                  environment=store.environment)


def test_a_server_keeps_files_in_the_bucket(store, tmp_path):
    bucket = store.bucket("files")
    server = node(store, tmp_path, "server", bucket + "/some/prefix").start()
    program = build(tmp_path, "program")
    r = server.unhex("push", "--with-debuginfo", program)
    assert r.returncode == 0, r.stdout + r.stderr
    wait_for(lambda: is_named(server, program))
    assert not (server.data / "blobs").exists()
    keys = store.keys("files")
    assert keys and all(key.startswith("some/prefix/blobs/") for key in keys)  # no segment is left
    copies = {p.name: p.stat().st_size for p in (server.data / "cache/blobs").rglob("*") if p.is_file()}
    assert copies == {key.split("/")[-1]: size for key, size in keys.items()}
    assert server.unhex("push", program).returncode == 0
    where = ("--data", server.data, "--blobs", bucket + "/some/prefix", "--s3-endpoint", store.url)
    check = unhex("store", "check", *where, env=store.environment)
    assert check.returncode == 0, check.stdout + check.stderr
    backup = unhex("store", "backup", tmp_path / "backup", *where, env=store.environment)
    assert backup.returncode == 0, backup.stdout + backup.stderr
    assert unhex("store", "check", "--data", tmp_path / "backup").returncode == 0
    status, _, _ = Api(server)("DELETE", f"/v1/modules/{identity(program)}")
    assert status in (200, 204)
    wait_for(lambda: not store.keys("files"), seconds=40)
    assert server.stop() in (0, None)
    refused = unhex("serve", "--listen", "127.0.0.1:0", "--data", server.data)
    assert refused.returncode != 0 and "bucket" in refused.stderr


def test_a_node_with_nothing_answers_from_database_and_bucket(store, postgres, tmp_path):
    bucket, index = store.bucket("nodes"), postgres.create("nodes")
    one = node(store, tmp_path, "one", bucket, "--index", index).start()
    program = build(tmp_path, "program")
    assert one.unhex("push", program).returncode == 0
    one.stop(9)
    two = node(store, tmp_path, "two", bucket, "--index", index).start()
    assert is_named(two, program)
    assert two.stop() in (0, None)


def test_while_the_bucket_is_away_copies_are_answered_and_writes_wait(store, tmp_path):
    bucket = store.bucket("away")
    server = node(store, tmp_path, "server", bucket).start()
    known, other = build(tmp_path, "known", 3), build(tmp_path, "other", 5)
    assert server.unhex("push", known).returncode == 0 and is_named(server, known)
    assert server.unhex("push", other).returncode == 0
    copy = blob_of(server, known)
    server.stop()
    (copy,) = (server.data / "cache/blobs").rglob(copy)
    copy.unlink()  # as the limit of copies does
    server.start()
    gone, kept = known, other
    store.stop_gateway()
    try:
        assert is_named(server, kept)
        status, document = ask(server, gone)
        assert (status, document["status"]) == (200, "pending"), document  # and not missing or failed
        third = build(tmp_path, "third", 7)
        refused = server.unhex("push", "--timeout", "3", third)
        assert refused.returncode != 0
        status, _, headers = Api(server)("POST", "/v1/uploads", {
            "ids": [identity(third)], "size": 1, "sha256": "0" * 64, "kind": "gsym"})
        assert status == 201
        status, document, headers = Api(server)("PUT", headers["Location"] + "?offset=0", b"x")
        assert status == 503 and int(headers["Retry-After"]) > 0, document
        assert server.get("/healthz")[0] == 200
    finally:
        store.start_gateway()
    wait_for(lambda: is_named(server, gone))
    assert server.unhex("push", third).returncode == 0 and is_named(server, third)
    where = ("--data", server.data, "--blobs", bucket, "--s3-endpoint", store.url)
    assert unhex("store", "check", *where, env=store.environment).returncode == 0
    assert server.stop() in (0, None)


def metrics_of(server):
    """{metric with its labels: value}."""
    with urllib.request.urlopen(server.url + "/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if not line.startswith("#")}


def test_metrics_count_requests_and_copies(store, tmp_path):
    bucket = store.bucket("metrics")
    with FaultProxy(store.port) as proxy:
        server = node(store, tmp_path, "server", bucket, url=proxy.url).start()
        program = build(tmp_path, "program")
        assert server.unhex("push", program).returncode == 0 and is_named(server, program)
        (copy,) = (server.data / "cache/blobs").rglob(blob_of(server, program))
        server.stop()
        copy.unlink()
        before = proxy.requests
        server.start()
        assert is_named(server, program) and is_named(server, program)

        def counts():
            """All metrics, between two requests of the periodic work."""
            found = metrics_of(server)
            counted = sum(v for k, v in found.items() if k.startswith("unhex_bucket_requests_total{"))
            return (found, counted) if counted == proxy.requests - before else None
        found, counted = wait_for(counts)
        assert found["unhex_bucket_up"] == 1
        assert found["unhex_blob_copy_misses_total"] == 1 and found["unhex_blob_copies"] == 1
        received = found["unhex_bucket_received_bytes_total"]
        blocks = 4096 * math.ceil(received / 4096)  # what it takes of the disk
        assert 0 < found["unhex_blob_copy_bytes"] <= blocks and received > 0, found
        assert found["unhex_blob_copy_limit_bytes"] == 10 << 30
        assert found["unhex_bucket_request_duration_seconds_count"] == counted
        proxy.plan = lambda n, method, path: "refuse"
        refused = server.unhex("push", "--timeout", "3", build(tmp_path, "other", 9))
        assert refused.returncode != 0
        wait_for(lambda: metrics_of(server)["unhex_bucket_up"] == 0)  # after all attempts at a request
        assert sum(v for k, v in metrics_of(server).items() if 'result="failed"' in k) > 0
        server.stop()


def blob_of(server, program):
    """The name of the blob that the server answers from."""
    with urllib.request.urlopen(f"{server.url}/v1/gsym/{identity(program)}", timeout=60) as answer:
        return hashlib.sha256(answer.read()).hexdigest()


@pytest.mark.parametrize("fault", FAULTS)
def test_no_confirmed_upload_is_lost_whatever_request_fails(store, tmp_path, fault):
    """Each third request to the bucket fails; then one after another is the last that a killed server made."""
    bucket = store.bucket("faults-" + fault.replace(" ", "-"))
    with FaultProxy(store.port, lambda n, method, path: fault if n % 3 == 2 else None) as proxy:
        server = node(store, tmp_path, "server", bucket, url=proxy.url).start()
        programs = [build(tmp_path, f"p{i}", i) for i in range(4)]
        sent = [p for p in programs if server.unhex("push", p).returncode == 0]
        assert proxy.faults > 3, proxy.log
        server.stop(9)
    whole = node(store, tmp_path, "server", bucket).start()
    assert sent and all(is_named(whole, p) for p in sent)
    assert whole.stop() in (0, None)
    where = ("--data", tmp_path / "server", "--blobs", bucket, "--s3-endpoint", store.url)
    check = unhex("store", "check", *where, env=store.environment)
    assert check.returncode == 0, check.stdout + check.stderr


def test_a_server_killed_after_any_request_leaves_no_blob_without_its_bytes(store, tmp_path):
    programs = [build(tmp_path, f"k{i}", i) for i in range(16)]
    bucket = store.bucket("killed")
    confirmed, token = [], ""
    for i, program in enumerate(programs):
        with FaultProxy(store.port) as proxy:
            server = node(store, tmp_path, "server", bucket, url=proxy.url).start()
            token = server.token = token or server.token
            begun = proxy.requests
            proxy.plan = lambda n, method, path: server.process.kill() if n == begun + i else None
            if server.unhex("push", "--retries", "1", program).returncode == 0:
                confirmed.append(program)
            server.stop(9)
    assert 0 < len(confirmed) < len(programs)
    whole = node(store, tmp_path, "server", bucket).start()
    whole.token = token
    assert all(is_named(whole, p) for p in confirmed)
    for p in programs:
        r = whole.unhex("push", p)
        assert r.returncode == 0 and is_named(whole, p), (r.stdout + r.stderr, ask(whole, p))
    assert whole.stop() in (0, None)
    where = ("--data", tmp_path / "server", "--blobs", bucket, "--s3-endpoint", store.url)
    check = unhex("store", "check", *where, env=store.environment)
    assert check.returncode == 0, check.stdout + check.stderr


@pytest.mark.parametrize("kept", [0, 300])
def test_bytes_that_no_request_confirmed_do_not_stop_an_upload(store, tmp_path, kept):
    """A node that is killed has written them to its file, and not to the bucket."""
    program, out = build(tmp_path, "half", kept), tmp_path / "half.gsym"
    assert unhex("extract", program, "-o", out).returncode == 0
    gsym = out.read_bytes()
    server = node(store, tmp_path, "server", store.bucket(f"half{kept}")).start()
    uid = Api(server).announce([build_id(program)], gsym)
    if kept:
        assert Api(server).put(uid, gsym[:kept])[0] == 200
    server.stop(9)
    (folder,) = server.data.rglob("uploads")
    with (folder / uid).open("ab") as f:
        f.write(gsym[kept:kept + 99])
    server.start()
    assert Api(server).put(uid, gsym[kept:], offset=kept)[0] == 409
    assert Api(server)("GET", f"/v1/uploads/{uid}")[1]["offset"] == kept + 99
    assert Api(server).put(uid, gsym[kept + 99:], offset=kept + 99)[0] == 200
    assert Api(server).finish(uid)[0] == 200 and is_named(server, program)
    assert server.stop() == 0


def test_a_page_of_a_proxy_confirms_no_upload(store, tmp_path):
    """A proxy that answered 200 to uploads, and to the questions after them, once lost nine confirmed modules."""
    bucket, program = store.bucket("pages"), build(tmp_path, "paged")
    with FaultProxy(store.port) as proxy:
        server = node(store, tmp_path, "server", bucket, url=proxy.url).start()
        proxy.plan = lambda n, method, path: HTML if method != "GET" else None
        refused = server.unhex("push", "--timeout", "20", "--retries", "1", program)
        assert refused.returncode != 0 and proxy.faults > 0, refused.stdout + refused.stderr
        assert not store.keys("pages") and ask(server, program)[0] == 404
        proxy.plan = lambda n, method, path: None
        assert server.unhex("push", program).returncode == 0 and is_named(server, program)
        (copy,) = (server.data / "cache/blobs").rglob(blob_of(server, program))
        server.stop()
        copy.unlink()
        proxy.plan = lambda n, method, path: HTML
        server.start()
        status, document = ask(server, program)
        assert (status, document["status"]) == (200, "pending"), document  # neither failed nor missing
        proxy.plan = lambda n, method, path: None
        wait_for(lambda: is_named(server, program))
        assert server.stop() in (0, None)


def lose(store, bucket, server, hashes=None):
    """The bucket loses all objects, or these, and the node its copies."""
    for key in (k for k in store.keys(bucket) if hashes is None or k.split("/")[-1] in hashes):
        assert store.request("DELETE", f"/{bucket}/{key}")[0] == 204
    for copy in (server.data / "cache/blobs").rglob("*"):
        if copy.is_file():
            copy.unlink()


def query(server, program):
    status, answer, _ = Api(server)("POST", "/v1/query", {"ids": [identity(program)]})
    assert status == 200, answer
    return answer["answers"][0]["status"]


def heals(server, program):
    wait_for(lambda: query(server, program) == "wanted")
    status, explained = server.get(f"/v1/explain/{identity(program)}?addr={address(program)}")
    assert status == 200 and "the bucket has lost these bytes" in json.dumps(explained), explained
    assert metrics_of(server)["unhex_blobs_lost_total"] > 0
    again = server.unhex("push", program)
    assert again.returncode == 0, again.stdout + again.stderr
    wait_for(lambda: is_named(server, program))


def test_a_module_whose_object_is_gone_is_wanted_again(store, tmp_path):
    bucket, program = store.bucket("gone"), build(tmp_path, "program")
    server = node(store, tmp_path, "server", bucket).start()
    assert server.unhex("push", program).returncode == 0 and query(server, program) == "already-there"
    server.stop()
    server.start()  # nothing is open; what it compares at its start is there
    wait_for(lambda: metrics_of(server)["unhex_blobs_compared_total"] > 0)
    lose(store, "gone", server)
    assert not is_named(server, program)  # the request that notices it
    heals(server, program)
    assert server.stop() in (0, None)


def test_objects_that_are_gone_are_found_without_a_request(store, tmp_path):
    bucket, programs = store.bucket("unasked"), [build(tmp_path, f"u{i}", i) for i in range(5)]
    server = node(store, tmp_path, "server", bucket).start()
    assert server.unhex("push", *programs).returncode == 0
    in_order = sorted(programs, key=lambda p: blob_of(server, p))
    lost = [in_order[0], in_order[2], in_order[4]]  # the first, the last, and one between others
    hashes = {blob_of(server, p) for p in lost}
    server.stop()
    lose(store, "unasked", server, hashes)
    server.start()
    for program in lost:
        heals(server, program)
    assert all(query(server, p) == "already-there" for p in programs)
    found = metrics_of(server)
    assert found["unhex_blobs_lost_total"] == 3 and found["unhex_blobs_compared_total"] == 5
    assert server.stop() in (0, None)


def test_a_node_with_a_copy_sends_what_the_bucket_lost(store, tmp_path):
    bucket, program = store.bucket("kept-copy"), build(tmp_path, "program")
    server = node(store, tmp_path, "server", bucket).start()
    assert server.unhex("push", program).returncode == 0
    (key,) = store.keys("kept-copy")
    server.stop()
    assert store.request("DELETE", f"/kept-copy/{key}")[0] == 204
    server.start()
    wait_for(lambda: store.keys("kept-copy"))
    assert query(server, program) == "already-there" and metrics_of(server)["unhex_blobs_lost_total"] == 0
    assert server.stop() in (0, None)


def test_a_copy_goes_from_a_server_to_a_bucket_and_on_to_a_folder(store, tmp_path):
    bucket = store.bucket("clone")
    server = Server(tmp_path / "server").start()
    programs = [build(tmp_path, f"c{i}", i) for i in range(3)]
    for program in programs:
        assert server.unhex("push", "--with-debuginfo", program).returncode == 0
        wait_for(lambda p=program: is_named(server, p))
    key = tmp_path / "key"
    key.write_text(server.token)
    to = bucket + "/a/copy"
    options = ("--s3-endpoint", store.url)
    r = unhex("clone", server.url, to, "--from-token-file", key, *options, env=store.environment)
    assert r.returncode == 0, r.stdout + r.stderr
    keys = store.keys("clone", "a/copy/")
    assert "a/copy/manifest.jsonl" in keys or any("manifest" in k for k in keys), keys
    again = unhex("clone", server.url, to, "--from-token-file", key, "--json", *options, env=store.environment)
    assert again.returncode == 0 and json.loads(again.stdout.splitlines()[-1])["copied"] == 0, again.stdout
    folder = tmp_path / "folder"
    r = unhex("clone", to, folder, *options, env=store.environment)
    assert r.returncode == 0, r.stdout + r.stderr
    below = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and ".clone" not in p.parts}
    assert below == {k.removeprefix("a/copy/") for k in keys}
    assert server.stop() in (0, None)
    process = subprocess.Popen([UNHEX, "serve", "--listen", "127.0.0.1:0", "--serve-from", to, *options], text=True,
                               env={**os.environ, **store.environment}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        url = next(line for line in process.stdout if "serving on" in line).split("serving on ")[1].split()[0]
        there = Server(tmp_path / "none", url=url)
        assert all(is_named(there, p) for p in programs)
    finally:
        process.terminate()
        assert process.wait(30) == 0
