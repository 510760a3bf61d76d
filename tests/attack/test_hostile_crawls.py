# SPDX-License-Identifier: Apache-2.0
"""Jobs of a crawl against a hostile key of CI: what it announces makes no worker open what it should not, and what it
leases holds up no other namespace."""
import hashlib
import http.server
import json
import os
import socket
import subprocess
import threading

import pytest

import packages
from http_api import Api
from tool import UNHEX, build_id, compile_c, lines, stripped, unhex
from waiting import wait_for


@pytest.fixture
def settings(settings):
    return settings + "crawl-host-jobs = 2\n"


@pytest.fixture(scope="module")
def prog(tmp_path_factory):
    return compile_c(tmp_path_factory.mktemp("prog"), "prog", flags=("-g", "-Wl,--build-id"))


def new_key(server, scopes, namespace="default"):
    (key,) = lines(unhex("key", "create", "--json", "--data", server.data, "--namespace", namespace, "--scopes", scopes))
    return key["token"]


def package(name, url, **more):
    return {"key": "key:" + hashlib.sha256(f"{name} {url}".encode()).hexdigest(), "name": name, "version": "1", "url": url,
            "kind": "deb", "role": "debug", **more}


def announce(api, *packages):
    status, doc, _ = api("POST", "/v1/crawl/packages", {"repository": "debian", "packages": list(packages)})
    assert status == 200, doc


def take(api, most=1, **more):
    status, doc, _ = api("POST", "/v1/crawl/jobs/take", {"worker": "w", "most": most, **more})
    assert status == 200, doc
    return doc["jobs"]


# --- who may ----------------------------------------------------------------------------------------------------------

def test_a_key_for_uploads_neither_announces_nor_leases_nor_ends(server):
    worker, ci = Api(server), Api(server, new_key(server, "read,symbolize,upload"))
    announce(worker, package("one", "http://mirror.example/one.deb"))
    (job,) = take(worker)
    lease = {"lease": job["lease"]}
    for path, body in (("packages", {"repository": "r", "packages": []}), ("jobs/take", {"worker": "w"}),
                       (f"jobs/{job['id']}/renew", lease), (f"jobs/{job['id']}/end", {**lease, "outcome": "done"})):
        assert "no scope crawl" in ci.refused(403, "denied", "POST", f"/v1/crawl/{path}", body), path
    assert ci("GET", "/v1/crawl/status")[1]["states"]["leased"]["packages"] == 1
    crawler = Api(server, new_key(server, "crawl"))
    assert crawler("POST", f"/v1/crawl/jobs/{job['id']}/end", {**lease, "outcome": "done"})[0] == 200
    assert crawler("POST", "/v1/uploads", {})[0] == 403  # and the other way round


# --- what a worker opens ----------------------------------------------------------------------------------------------

class Place:
    """An HTTP server that notes who asks, and answers a path with its bytes, or a redirect to its text."""

    def __init__(self, answers=()):
        place = self
        self.answers, self.asked = dict(answers), []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                place.asked.append(self.path)
                answer = place.answers.get(self.path, 404)
                self.send_response(200 if isinstance(answer, bytes) else 302 if isinstance(answer, str) else answer)
                if isinstance(answer, str):
                    self.send_header("Location", answer)
                self.send_header("Content-Length", str(len(answer)) if isinstance(answer, bytes) else "0")
                self.end_headers()
                if isinstance(answer, bytes):
                    self.wfile.write(answer)

            def log_message(self, *args):
                pass
        self.httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.httpd.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.httpd.serve_forever, daemon=True).start()

    def close(self):
        self.httpd.shutdown()
        self.httpd.server_close()


@pytest.fixture
def places():
    """The operator's mirror, and a server of the internal network that only the worker reaches."""
    two = Place(), Place()
    yield two
    for place in two:
        place.close()


@pytest.fixture(scope="module")
def deb(prog, tmp_path_factory):
    folder = tmp_path_factory.mktemp("deb")
    return packages.read(packages.deb(folder / "p.deb", {"usr/lib/debug/prog.debug": packages.read(stripped(prog)[1])}))


def work(server, count, *args):
    """The rows of a worker until so many packages have ended: what failed would be tried again later."""
    process = subprocess.Popen([UNHEX, "crawl", "work", "--json", "--jobs", "1", *args], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, **server.env})
    try:
        rows = [json.loads(process.stdout.readline()) for _ in range(count)]
        wait_for(lambda: crawl_status(server)["states"]["leased"]["packages"] == 0)
        return rows
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


def crawl_status(server):
    return Api(server)("GET", "/v1/crawl/status")[1]


def closed_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def test_a_worker_opens_nothing_outside_of_its_mirrors_and_says_the_same_of_all(server, places, deb, prog, tmp_path):
    """Files of the worker's machine, its network, its metadata service; by a path, by its many spellings, by a redirect
    of the mirror, as a further file. Whether a port is open, or a file there, nobody learns."""
    mirror, internal = places
    secret, closed = tmp_path / "secret.deb", closed_port()
    secret.write_bytes(deb)
    secret.chmod(0o600)
    internal.answers = {"/p.deb": deb, "/debian/p.deb": deb}
    mirror.answers = {"/debian/p.deb": deb, "/private/p.deb": deb, "/debian/to-internal": f"{internal.url}/p.deb",
                      "/debian/to-closed": f"http://127.0.0.1:{closed}/p.deb", "/debian/to-file": f"file://{secret}",
                      "/debian/to-sibling": "/private/p.deb", "/debian/to-dots": "/debian/%2e%2e/private/p.deb",
                      "/debian/twice": "/debian/to-internal", "/debian/to-user": f"http://127.0.0.1:{mirror.port}@{internal.url[7:]}/p.deb"}
    outside = [str(secret), f"{tmp_path}/none", "/etc/shadow", "/dev/zero", f"/srv/../{secret}",
               f"{internal.url}/p.deb", f"http://127.0.0.1:{closed}/p.deb", "http://169.254.169.254/latest/meta-data",
               "http://[::1]:22/", "http://localhost:1/x", f"http://2130706433:{internal.port}/p.deb", f"http://127.1:{internal.port}/p.deb",
               f"https://127.0.0.1:{mirror.port}/debian/p.deb", f"{mirror.url}/private/p.deb", f"{mirror.url}/debianx/p.deb",
               f"{mirror.url}/debian/../private/p.deb", f"{mirror.url}/debian/%2E%2e/private/p.deb", f"{mirror.url}/debian/..%2fprivate/p.deb",
               f"{mirror.url}/debian/p.deb#x", "http://0.0.0.0:1/x"]
    redirects = [name for name, answer in mirror.answers.items() if isinstance(answer, str)]
    rows = [package(f"outside{n}", url) for n, url in enumerate(outside)]
    rows += [package(f"redirect{n}", mirror.url + path) for n, path in enumerate(redirects)]
    rows += [package("beside", f"{mirror.url}/debian/p.deb", files=[{"key": "k", "url": str(secret)}])]
    ci = Api(server, new_key(server, "read,crawl"))
    announce(ci, *rows)
    got = work(server, len(rows), "--from", f"{mirror.url}/debian")
    assert {(r["outcome"], r["cause"], r["bytes_fetched"]) for r in got} == {("failed", "mirror", 0)}, got
    assert internal.asked == [] and sorted(mirror.asked) == sorted([*redirects, "/debian/to-internal"])
    doc = ci("GET", "/v1/crawl/status")[1]
    assert doc["causes"] == [{"cause": "mirror", "packages": len(rows)}]
    assert {f["reason"] for f in doc["failures"]} == {"not below this worker's mirrors"}
    assert Api(server)("GET", f"/v1/modules/{build_id(prog)}")[0] == 404
    # the person who runs the worker reads which one it was
    assert any(f"{internal.url}/p.deb is not below" in r["reason"] for r in got)


def test_what_is_below_a_mirror_is_read_whatever_way_it_is_written(server, places, deb, prog, tmp_path):
    mirror, other = places
    folder = tmp_path / "pool"
    folder.mkdir()
    (folder / "p.deb").write_bytes(deb)
    mirror.answers = {"/debian/p.deb": deb, "/debian/moved": "/debian/p.deb", "/debian/away": f"{other.url}/cdn/p.deb?key=a/../b"}
    other.answers = {"/cdn/p.deb?key=a/../b": deb}
    urls = [f"{mirror.url}/debian/p.deb", str(folder / "p.deb"), f"{mirror.url}/debian/moved",
            f"{mirror.url}/debian/away"]
    announce(Api(server), *(package(f"inside{n}", url) for n, url in enumerate(urls)))
    got = work(server, len(urls), "--from", f"{mirror.url}/debian/", "--from", folder, "--from", f"{other.url}/cdn")
    assert {r["outcome"] for r in got} == {"done"}, got
    assert Api(server)("GET", f"/v1/modules/{build_id(prog)}")[0] == 200


def test_a_url_with_a_user_or_of_another_scheme_cannot_be_announced(server):
    api = Api(server)
    for url in ("file:///etc/passwd", "ftp://h/x", "http://mirror@evil/x", "http://mirror:80@evil/x", "gopher://h/x", "etc/passwd"):
        for one in (package("a", url), package("a", "http://h/x", files=[{"key": "k", "url": url}])):
            assert '"url"' in api.refused(400, "invalid", "POST", "/v1/crawl/packages", {"repository": "r", "packages": [one]}), url


def test_a_worker_without_mirrors_takes_nothing(server):
    announce(Api(server), package("one", "http://127.0.0.1:1/debian/p.deb"))
    result = server.unhex("crawl", "work")
    assert result.returncode == 2 and "--from" in result.stderr
    for wrong in ("pool", "ftp://mirror", "http://user@mirror/debian", "http://mirror/debian?x"):
        result = server.unhex("crawl", "work", "--from", wrong)
        assert result.returncode == 2 and "--from" in result.stderr, wrong
    assert crawl_status(server)["states"]["waiting"]["packages"] == 1


def test_a_mirror_that_was_named_may_be_internal_but_never_link_local(server):
    announce(Api(server), package("one", "http://169.254.169.254/latest"))
    (row,) = work(server, 1, "--from", "http://169.254.169.254/")
    assert (row["outcome"], row["cause"]) == ("failed", "refused") and "not public" in row["reason"], row


# --- what a namespace holds -------------------------------------------------------------------------------------------

MIRROR = "http://mirror.example/pool"


def test_a_namespace_that_leases_all_of_a_host_leaves_the_next_place_to_others(server):
    """It leases as many packages as it can for as long as it can, renews them, and asks more often than the others."""
    hog, meek = (Api(server, new_key(server, "read,crawl", namespace)) for namespace in ("hog", "meek"))
    announce(hog, *(package(f"hog{n}", f"{MIRROR}/hog{n}") for n in range(50)))
    announce(meek, package("meek", f"{MIRROR}/meek"), package("meek2", f"{MIRROR}/meek2"))
    refused = {"worker": "w", "lease_s": 86400}
    assert "lease_s" in hog.refused(400, "invalid", "POST", "/v1/crawl/jobs/take", refused)
    held = take(hog, most=100, lease_s=3600)
    assert len(held) == 2 and take(meek) == []
    assert hog("POST", f"/v1/crawl/jobs/{held[0]['id']}/renew", {"lease": held[0]["lease"], "lease_s": 3600})[0] == 204
    assert hog("POST", f"/v1/crawl/jobs/{held[0]['id']}/end", {"lease": held[0]["lease"], "outcome": "done"})[0] == 200
    for _ in range(10):
        assert take(hog, most=100, lease_s=3600) == []
    (job,) = take(meek)
    assert job["package"]["name"] == "meek"
    assert hog("POST", f"/v1/crawl/jobs/{job['id']}/end", {"lease": job["lease"], "outcome": "done"})[0] == 404
    assert take(hog, most=100) == [] and take(meek) == []  # each has one
