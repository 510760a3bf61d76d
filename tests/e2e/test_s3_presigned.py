# SPDX-License-Identifier: Apache-2.0
"""Big files that go straight to and from a bucket of Ceph's by presigned URLs, with the clients that people have."""
import hashlib
import os
import re
import subprocess
import threading
import urllib.error
import urllib.request

import pytest

from unhex_server import Server
from http_api import Api
from radosgw_server import Radosgw
from s3_faults import CUT_REQUEST, DROP_ANSWER, LACKING, REFUSE, FaultProxy
from tool import UNHEX, build_id
from waiting import wait_for

BALLAST = 40 << 20  # three pieces
PIECE = 16 << 20
SOURCE = """
asm(".pushsection .data\\n.incbin \\"%s\\"\\n.popsection\\n");
__attribute__((noinline)) int named(int x)
{
	return x * 3;
}
int main(int argc, char **argv)
{
	(void)argv;
	return named(argc) > 100;
}
"""


@pytest.fixture(scope="module")
def store():
    with Radosgw() as r:
        yield r


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """A program of 40 MiB with debug information."""
    folder = tmp_path_factory.mktemp("big")
    (folder / "ballast").write_bytes(os.urandom(BALLAST))
    (folder / "big.c").write_text(SOURCE % (folder / "ballast"))
    subprocess.run(["gcc", "-g", "-O0", "-Wl,--build-id=sha1", "-o", folder / "big", folder / "big.c"], check=True)
    return folder / "big"


def node(store, tmp_path, bucket, public, name="server", endpoint=None):
    config = tmp_path / f"{name}.conf"
    config.write_text(f"s3-public-endpoint = {public}\npresigned-downloads = 1M\npresigned-uploads = 1M\n")
    return Server(tmp_path / name, environment=store.environment,
                  options=("--config", config, "--blobs", bucket, "--s3-endpoint", endpoint or store.url)).start()


def hex_id(path):
    return build_id(path).removeprefix("gnu:")


def push(server, program, *more, **env):
    return server.unhex("push", "--with-debuginfo", "--json", *more, program, **env)


def is_there(server, program):
    status, document = server.get(f"/v1/modules/gnu:{hex_id(program)}", server.token)
    return status == 200 and any(c["kind"] == "executable" and c["state"] == "ready" for c in document["candidates"])


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def location(url, method="GET"):
    """Where an answer with the status 302 leads to."""
    opener = urllib.request.build_opener(NoRedirect)
    with pytest.raises(urllib.error.HTTPError) as answer:
        opener.open(urllib.request.Request(url, method=method), timeout=60)
    assert answer.value.code == 302 and answer.value.headers["Cache-Control"] == "no-store", answer.value.headers
    return answer.value.headers["Location"]


def status(url, method="GET", headers=None, body=None):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers or {}, method=method), timeout=60) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as answer:
        return answer.code, answer.read(), answer.headers


def test_clients_of_debuginfod_get_big_files_from_the_bucket(store, big, tmp_path):
    with FaultProxy(store.port) as proxy:
        server = node(store, tmp_path, store.bucket("down"), proxy.url)
        assert push(server, big).returncode == 0
        wait_for(lambda: is_there(server, big))
        before = proxy.sent
        path = f"/buildid/{hex_id(big)}/executable"
        env = {**os.environ, "HOME": str(tmp_path), "DEBUGINFOD_URLS": server.url, "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache")}
        found = subprocess.run(["debuginfod-find", "executable", hex_id(big)], env=env, capture_output=True, text=True)
        assert found.returncode == 0, found.stderr
        with open(found.stdout.strip(), "rb") as f:
            assert f.read() == big.read_bytes()
        assert proxy.sent - before >= BALLAST
        # Ranges are those of the bucket; a HEAD has a URL of its own.
        code, body, headers = status(server.url + path, headers={"Range": "bytes=1000-1999"})
        assert (code, body) == (206, big.read_bytes()[1000:2000]) and headers["Content-Range"].endswith(f"/{big.stat().st_size}")
        code, body, headers = status(location(server.url + path, "HEAD"), "HEAD")
        assert (code, body, int(headers["Content-Length"])) == (200, b"", big.stat().st_size)
        # A URL allows one method for one object.
        url = location(server.url + path)
        assert status(url)[0] == 200 and status(url, "PUT", body=b"x")[0] == 403 and status(url, "DELETE")[0] == 403
        assert status(url.replace("/blobs/", "/uploads/"))[0] == 403
        assert status(location(server.url + path, "HEAD"))[0] == 403
        # What is small, and a part of a file, is sent by the server.
        got = proxy.requests
        assert status(f"{server.url}/buildid/{hex_id(big)}/section/.text")[0] == 200 and proxy.requests == got
        assert server.stop() in (0, None)


def test_gdb_shows_a_stripped_program_from_the_bucket(store, big, tmp_path):
    with FaultProxy(store.port) as proxy:
        server = node(store, tmp_path, store.bucket("gdb"), proxy.url)
        assert push(server, big).returncode == 0
        wait_for(lambda: is_there(server, big))
        bare = tmp_path / "bare"
        subprocess.run(["strip", "-o", bare, big], check=True)
        env = {**os.environ, "HOME": str(tmp_path), "DEBUGINFOD_URLS": server.url, "DEBUGINFOD_CACHE_PATH": str(tmp_path / "gdb")}
        before = proxy.sent
        said = subprocess.run(["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled on", "-ex", "info line named", bare],
                              env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300).stdout
        assert re.search(r'Line 4 of ".*big\.c" starts at address 0x', said), said
        assert proxy.sent - before >= BALLAST
        assert server.stop() in (0, None)


def test_a_push_sends_big_files_to_the_bucket(store, big, tmp_path):
    bucket = store.bucket("sent")
    with FaultProxy(store.port) as proxy, FaultProxy(0) as front:
        server = node(store, tmp_path, bucket, proxy.url)
        front.port_of_store = int(server.url.rsplit(":", 1)[1])
        r = push(server, big, env={"UNHEX_URL": front.url})
        assert r.returncode == 0 and '"uploaded"' in r.stdout, r.stdout + r.stderr
        puts = [path for _, method, path, _ in proxy.log if method == "PUT"]
        assert len(puts) == 3 and proxy.received == big.stat().st_size
        assert front.received < 1 << 20  # announcements and the small GSYM
        wait_for(lambda: is_there(server, big))
        assert not [k for k in store.keys("sent") if k.startswith("uploads/")]
        digest = hashlib.sha256(big.read_bytes()).hexdigest()
        assert store.keys("sent")[f"blobs/{digest[:2]}/{digest}"] == big.stat().st_size
        assert server.stop() in (0, None)


def in_bucket(store, bucket, program):
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    return store.read(bucket, f"blobs/{digest[:2]}/{digest}") == program.read_bytes()


def left_overs(store, bucket):
    return [key for key in store.keys(bucket) if key.startswith("uploads/")]


def test_the_node_reads_what_was_sent_to_the_bucket_and_does_not_send_it(store, big, tmp_path):
    bucket, size = store.bucket("copied"), big.stat().st_size
    with FaultProxy(store.port) as proxy:
        server = node(store, tmp_path, bucket, store.url, endpoint=proxy.url)
        r = push(server, big)
        assert r.returncode == 0 and '"uploaded"' in r.stdout, r.stdout + r.stderr
        wait_for(lambda: is_there(server, big))
        print(f"{size} bytes: the node has read {proxy.sent} and sent {proxy.received}")
        assert size <= proxy.sent < size + (2 << 20) and proxy.received < 1 << 20
        assert in_bucket(store, "copied", big) and not left_overs(store, "copied")
        assert server.stop() in (0, None)


@pytest.mark.parametrize("lacks", ["joined-", "/blobs/"])
def test_a_store_that_copies_nothing_gets_the_bytes(store, big, tmp_path, lacks):
    name, size = "lacks-" + lacks.strip("-/"), big.stat().st_size
    with FaultProxy(store.port) as proxy:
        seen = []

        def lack(number, method, path):  # the first write to such a key is the copy
            if method not in ("PUT", "POST") or lacks not in path or seen:
                return None
            seen.append(path)
            return LACKING

        proxy.plan = lack
        server = node(store, tmp_path, store.bucket(name), store.url, endpoint=proxy.url)
        assert push(server, big).returncode == 0
        wait_for(lambda: is_there(server, big))
        assert seen and proxy.received >= size
        assert in_bucket(store, name, big) and not left_overs(store, name)
        assert server.stop() in (0, None)


@pytest.mark.parametrize("when", ["joined-", "/blobs/"])
def test_a_node_that_is_killed_while_the_bucket_copies_loses_nothing(store, big, tmp_path, when):
    name = "killed-" + when.strip("-/")
    with FaultProxy(store.port) as proxy:
        server = node(store, tmp_path, store.bucket(name), store.url, endpoint=proxy.url)
        killed = threading.Event()

        def kill(number, method, path):
            if method in ("PUT", "POST") and when in path and not killed.is_set():
                killed.set()
                server.process.kill()

        proxy.plan = kill
        assert push(server, big, "--timeout", "5").returncode != 0 and killed.is_set()
        server.stop()
        server.start()
        before = proxy.received
        assert push(server, big).returncode == 0
        wait_for(lambda: is_there(server, big))
        assert in_bucket(store, name, big) and not left_overs(store, name)
        # What it had read before it was killed is on its disk, and is sent from there.
        assert proxy.received - before < (1 << 20 if when == "joined-" else big.stat().st_size + (1 << 20))
        assert server.stop() in (0, None)


def test_what_is_sent_to_a_piece_after_it_was_read_does_not_become_the_file(store, big, tmp_path):
    """The URLs of the pieces stay valid while the node compares the bytes and the bucket copies them."""
    with FaultProxy(store.port) as proxy:
        server = node(store, tmp_path, store.bucket("late"), store.url, endpoint=proxy.url)
        api, data = Api(server), big.read_bytes()
        upload = announce(api, big, data)
        urls = upload["direct"]["urls"]
        for i, url in enumerate(urls):
            assert status(url, "PUT", body=data[i * PIECE:(i + 1) * PIECE])[0] == 200
        replaced = []

        def replace(number, method, path):
            if method == "PUT" and "/blobs/" in path and not replaced:
                replaced.append(status(urls[0], "PUT", body=bytes(PIECE))[0])

        proxy.plan = replace
        code, answer, _ = api("POST", f"/v1/uploads/{upload['uid']}/finish")
        assert code in (200, 202), answer
        wait_for(lambda: is_there(server, big))
        assert replaced == [200] and in_bucket(store, "late", big)
        assert server.stop() in (0, None)


@pytest.mark.parametrize("fault", [REFUSE, CUT_REQUEST, DROP_ANSWER])
def test_a_push_that_the_bucket_fails_goes_through_the_server(store, big, tmp_path, fault):
    """The second piece, and all after it, fail for the client; the first is not sent again."""
    with FaultProxy(store.port) as proxy, FaultProxy(0) as front:
        proxy.plan = lambda n, method, path: None if n == 0 else fault
        server = node(store, tmp_path, store.bucket("through-" + fault.replace(" ", "-")), proxy.url)
        front.port_of_store = int(server.url.rsplit(":", 1)[1])
        r = push(server, big, env={"UNHEX_URL": front.url})
        assert r.returncode == 0 and '"uploaded"' in r.stdout, r.stdout + r.stderr
        rest = big.stat().st_size - PIECE
        # A piece whose answer alone was lost has arrived nevertheless.
        assert (0 if fault == DROP_ANSWER else rest) <= front.received < rest + (1 << 20)
        wait_for(lambda: is_there(server, big))
        assert server.stop() in (0, None)


def test_a_push_that_does_not_reach_the_bucket_goes_through_the_server(store, big, tmp_path):
    server = node(store, tmp_path, store.bucket("unreachable"), "http://127.0.0.1:1")
    r = push(server, big)
    assert r.returncode == 0 and '"uploaded"' in r.stdout, r.stdout + r.stderr
    wait_for(lambda: is_there(server, big))
    assert server.stop() in (0, None)


def announce(api, program, data, **more):
    document = {"ids": [build_id(program)], "size": len(data), "kind": "executable", "direct": True,
                "sha256": hashlib.sha256(data).hexdigest(), **more}
    code, answer, _ = api("POST", "/v1/uploads", document)
    assert code == 201, answer
    return answer


def test_bytes_that_were_not_announced_never_become_visible(store, big, tmp_path):
    server = node(store, tmp_path, store.bucket("false"), store.url)
    api, data = Api(server), big.read_bytes()
    upload = announce(api, big, data)
    urls = upload["direct"]["urls"]
    assert upload["direct"]["piece_size"] == PIECE and len(urls) == 3
    pieces = [data[i:i + PIECE] for i in range(0, len(data), PIECE)]
    assert status(urls[0], "PUT", body=b"x")[0] == 403  # each URL allows one length
    for url, piece in zip(urls, (pieces[0], bytes(PIECE), pieces[2])):
        assert status(url, "PUT", body=piece)[0] == 200
    code, answer, _ = api("POST", f"/v1/uploads/{upload['uid']}/finish")
    assert (code, answer["error"]["code"]) == (422, "hash_mismatch") or answer["error"]["code"] == "hash_mismatch", answer
    assert server.get(f"/v1/modules/{build_id(big)}", server.token)[0] == 404
    assert not [k for k in store.keys("false") if k.startswith("blobs/")]
    # Pieces come in any order, and what is missing is known to the server.
    again = announce(api, big, data, resume=True)
    assert (again["uid"], again["offset"]) == (upload["uid"], 0)
    assert status(again["direct"]["urls"][0], "PUT", body=pieces[0])[0] == 200
    assert status(again["direct"]["urls"][2], "PUT", body=pieces[2])[0] == 200
    code, answer, _ = api("GET", f"/v1/uploads/{upload['uid']}?direct=1")
    assert (code, answer["offset"], len(answer["direct"]["urls"])) == (200, PIECE, 2), answer
    assert status(answer["direct"]["urls"][0], "PUT", body=pieces[1])[0] == 200
    code, answer, _ = api("POST", f"/v1/uploads/{upload['uid']}/finish")
    assert code in (200, 202), answer
    wait_for(lambda: is_there(server, big))
    # A URL that is still valid changes nothing any more.
    assert status(urls[0], "PUT", body=bytes(PIECE))[0] == 200
    assert status(f"{server.url}/buildid/{hex_id(big)}/executable")[1] == data
    assert server.stop() in (0, None)


def test_an_interrupted_push_goes_on_where_it_was(store, big, tmp_path):
    with FaultProxy(store.port) as proxy:
        server = node(store, tmp_path, store.bucket("resumed"), proxy.url)
        size = big.stat().st_size
        arrived, go_on = threading.Event(), threading.Event()

        def hold_after_one(number, method, path):  # the second request waits
            if number == 1:
                arrived.set()
                go_on.wait(60)

        proxy.plan = hold_after_one
        client = subprocess.Popen([UNHEX, "push", "--with-debuginfo", big], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, env={**os.environ, **server.env})
        assert arrived.wait(60)
        client.kill()
        client.wait()
        proxy.plan = lambda number, method, path: REFUSE if number == 1 else None
        before = proxy.received
        r = push(server, big)
        go_on.set()
        assert r.returncode == 0, r.stdout + r.stderr
        assert before <= 2 * PIECE and proxy.received - before <= size - PIECE, (before, proxy.received)
        wait_for(lambda: is_there(server, big))
        assert server.stop() in (0, None)
