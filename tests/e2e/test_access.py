# SPDX-License-Identifier: Apache-2.0
"""Who may do what, over real sockets: tokens in paths, proxies, queues, limits, other sites' pages."""
import contextlib
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import time

import pytest

from unhex_server import Server
from http_api import Api
from tool import UNHEX, build_id, lines, symbol, unhex
from waiting import wait_for


@contextlib.contextmanager
def serving(tmp_path, **settings):
    """A server with these settings; the file may be rewritten by configure()."""
    s = Server(tmp_path / "server")
    config = tmp_path / "serve.conf"

    def configure(**more):
        config.write_text("".join(f"{k.replace('_', '-')} = {v}\n"
                                  for k, v in {**settings, **more}.items()))
    configure()
    s.options = ("--config", config)
    s.configure = configure
    s.start()
    try:
        yield s
    finally:
        assert s.stop() in (0, None)


def new_key(server, *words):
    (key,) = lines(unhex("key", "create", "--json", "--data", server.data, *words))
    return key["token"]


def log_of(server):
    return server.data.with_suffix(".log").read_text()


def push(server, path, token):
    result = server.unhex("push", path, "--with-debuginfo", "--json",
                          env={"UNHEX_TOKEN": token})
    assert result.returncode == 0, result.stderr
    return result


def extracted(server, token, name):
    """The module, once its file has been read."""
    def ready():
        status, doc = server.get(f"/v1/modules/{name}", token)
        return status == 200 and doc["quality"] == "inlines" and doc
    return wait_for(ready)


# tokens in paths

def find_debuginfo(url, name, cache):
    env = {**os.environ, "DEBUGINFOD_URLS": url, "DEBUGINFOD_CACHE_PATH": str(cache),
           "DEBUGINFOD_VERBOSE": "1"}
    return subprocess.run(["debuginfod-find", "debuginfo", name.removeprefix("gnu:")], env=env,
                          capture_output=True, text=True, timeout=120)


def test_clients_that_send_no_header_have_their_token_in_the_path(tmp_path, prog):
    name = build_id(prog)
    with serving(tmp_path, reading="keyed") as server:
        token = new_key(server, "--namespace", "team", "--scopes", "read,symbolize,upload")
        other = new_key(server, "--namespace", "other", "--scopes", "admin")
        push(server, prog, token)
        extracted(server, token, name)
        found = find_debuginfo(f"{server.url}/k/{token}", name, tmp_path / "c1")
        assert found.returncode == 0, found.stderr
        assert pathlib.Path(found.stdout.strip()).read_bytes() == prog.read_bytes()
        for url in (server.url, f"{server.url}/k/{other}", f"{server.url}/n/team"):
            assert find_debuginfo(url, name, tmp_path / f"c{hash(url)}").returncode != 0
        start = symbol(prog, "outer")[0]
        anyone = Api(server, token="")
        anyone.connection.request("POST", f"/k/{token}/pprof/{name}/symbol", f"{start:#x}")
        assert b"\tinner" in (text := anyone.connection.getresponse().read()) or b"outer" in text
        status, doc, _ = anyone("GET", f"/k/{token}/v1/modules")
        assert status == 200 and [m["id"] for m in doc["modules"]] == [name]
        anyone.refused(403, "denied", "DELETE", f"/k/{token}/v1/modules/{name}")
        anyone.refused(401, "unauthorized", "GET", f"/k/{token[:-1]}/v1/modules")
        anyone("GET", f"/k/{token}/nowhere?x=/k/{token}/")
        anyone("GET", f"//k/{token}/nowhere")
        anyone("GET", f"/k/{token}/v1/modules?%zz")
        anyone("GET", "/v1/modules", headers={"Referer": f"{server.url}/k/{token}/v1/modules",
                                              "X-Request-Id": token})
        server.stop()
        log = log_of(server)
        assert "/v1/modules" in log and "/nowhere" in log
        for secret in (token, other, server.token):
            assert secret not in log and secret[3:40] not in log


def test_an_open_namespace_is_named_in_the_path(tmp_path, prog):
    name = build_id(prog)
    with serving(tmp_path, reading="keyed") as server:
        token = new_key(server, "--namespace", "team", "--scopes", "upload")
        push(server, prog, token)
        assert unhex("store", "limit", "team", "--reading", "open",
                     "--data", server.data).returncode == 0
        wait_for(lambda: server.get("/n/team/v1/modules")[0] == 200)
        wait_for(lambda: server.get(f"/n/team/v1/modules/{name}")[1]["quality"] == "inlines")
        assert find_debuginfo(f"{server.url}/n/team", name, tmp_path / "c").returncode == 0
        assert server.get("/v1/modules")[0] == 401


# proxies

def test_what_proxies_say_counts_only_from_those_that_are_trusted(tmp_path):
    with serving(tmp_path) as server:
        anyone, admin = Api(server, token=""), Api(server)
        said = {"X-Forwarded-For": "192.0.2.9, 198.51.100.7"}
        assert anyone("GET", "/v1/modules")[0] == 200
        assert anyone("GET", "/v1/modules", headers=said)[0] == 401  # not of this machine
        assert admin("GET", "/v1/whoami", headers=said)[1]["from"] == "127.0.0.1"
        server.configure(trusted_proxies="127.0.0.0/8 2001:db8::/32")
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: admin("GET", "/v1/whoami", headers=said)[1]["from"] == "198.51.100.7")
        assert anyone("GET", "/v1/modules", headers=said)[0] == 401
        server.configure(trusted_proxies="nonsense")  # is refused, and what was stays
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "trusted-proxies" in log_of(server))
        assert admin("GET", "/v1/whoami", headers=said)[1]["from"] == "198.51.100.7"


# rates

def test_a_client_over_its_rate_gets_retry_after(tmp_path):
    with serving(tmp_path, rate_key=1, rate_key_burst=3) as server:
        api = Api(server)
        answers = [api("GET", "/v1/modules")]
        while answers[-1][0] == 200 and len(answers) < 1000:
            answers.append(api("GET", "/v1/modules"))
        assert len(answers) > 3
        status, doc, headers = answers[-1]
        assert (status, doc["error"]["code"]) == (429, "too_many_requests")
        assert headers["Retry-After"] == "1"
        assert Api(server, token="")("GET", "/v1/modules")[0] == 200  # has no key to be counted by
        wait_for(lambda: api("GET", "/v1/modules")[0] == 200)


def test_debuginfods_clients_wait_for_their_turn_and_find_what_there_is(tmp_path, prog):
    name = build_id(prog)
    # One request in half a second: the others wait, and no thread with them.
    with serving(tmp_path, reading="keyed", rate_key=2, rate_key_burst=1, threads=4) as server:
        token = new_key(server, "--rate", "1000000", "--scopes", "upload,read")
        push(server, prog, token)
        extracted(server, token, name)
        slow = new_key(server, "--scopes", "read")
        start = time.monotonic()
        clients = [http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=120)
                   for _ in range(7)]
        path = f"/k/{slow}/buildid/{name.removeprefix('gnu:')}/debuginfo"
        for c in clients:
            c.request("GET", path)
        assert server.get("/v1/modules", token)[0] == 200  # meanwhile
        for c in clients:
            answer = c.getresponse()
            assert answer.status == 200 and answer.read() == prog.read_bytes()
        assert time.monotonic() - start >= 2.9  # the seventh is six half seconds late
        # also the real one, whose questions come while the bucket is in debt
        assert find_debuginfo(f"{server.url}/k/{slow}", name, tmp_path / "c").returncode == 0


def test_a_queue_that_is_too_long_ends_in_a_reset(tmp_path):
    with serving(tmp_path, reading="keyed", rate_key=1, rate_key_burst=1, queue="0s") as server:
        token = new_key(server, "--scopes", "read")
        host, port = server.url.removeprefix("http://").split(":")
        def ask():
            with socket.create_connection((host, int(port)), timeout=60) as s:
                s.sendall(f"GET /k/{token}/buildid/00/debuginfo HTTP/1.1\r\nHost: x\r\n\r\n"
                          .encode())
                return s.recv(4096)
        # A 429 would be taken for "there is none" for ten minutes; after a reset it is requested again.
        with pytest.raises(ConnectionResetError):
            for _ in range(50):
                assert b" 404 " in ask()
        (status, _) = server.get("/healthz")
        assert status == 200


def test_a_server_that_stops_answers_all_requests_in_flight(tmp_path):
    with serving(tmp_path, reading="keyed", rate_key=1, rate_key_burst=1) as server:
        token = new_key(server, "--scopes", "read")
        clients = [http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=120)
                   for _ in range(8)]
        for c in clients:
            c.request("GET", f"/k/{token}/buildid/00/debuginfo")
        assert clients[0].getresponse().status == 404
        wait_for(lambda: "status=404" in log_of(server))
        assert server.stop() == 0
        for c in clients[1:]:  # answered, or never read: not left hanging
            with contextlib.suppress(http.client.HTTPException, OSError):
                assert c.getresponse().status == 404


# bodies

def raw(server, head, body=b""):
    host, port = server.url.removeprefix("http://").split(":")
    s = socket.create_connection((host, int(port)), timeout=60)
    s.sendall(head.replace("\n", "\r\n").encode() + body)
    return s


def read_head(s):
    text = b""
    while b"\r\n\r\n" not in text:
        piece = s.recv(4096)
        assert piece, text
        text += piece
    return text


def test_a_body_without_a_length_hears_why_it_is_refused_while_it_is_sent(server):
    s = raw(server, f"POST /v1/query HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\n"
                    f"Authorization: Bearer {server.token}\n\n")
    piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
    with contextlib.suppress(OSError):  # the end may be cut
        for _ in range(16 * 16 + 64):
            s.sendall(piece)
    head = read_head(s)
    assert head.startswith(b"HTTP/1.1 413 ") and b"Connection: close" in head
    assert b'"too_large"' in head + s.recv(4096)
    s.close()
    # curl sends for ever, and tells what it hears
    done = subprocess.run(
        ["curl", "-sS", "-T", "-", "-X", "POST", "-H", f"Authorization: Bearer {server.token}",
         "-H", "Expect:", "-w", "%{http_code}", f"{server.url}/v1/query"],
        stdin=subprocess.Popen(["head", "-c", "200000000", "/dev/zero"],
                               stdout=subprocess.PIPE).stdout,
        capture_output=True, text=True, timeout=120)
    assert done.stdout.endswith("413") and "too_large" in done.stdout, (done.stdout, done.stderr)


def test_who_waits_for_a_word_to_go_on_hears_the_refusal_instead(server):
    for method, path, length, status in (("POST", "/v1/query", 17 << 20, 413),
                                         ("POST", "/v1/query", 1000, 401),
                                         ("PUT", "/v1/uploads/" + "0" * 32, 1000, 404)):
        token = "" if status == 401 else f"Authorization: Bearer {server.token}\n"
        s = raw(server, f"{method} {path} HTTP/1.1\nHost: x\nContent-Length: {length}\n"
                        f"{token}Expect: 100-continue\n\n")
        assert read_head(s).startswith(f"HTTP/1.1 {status} ".encode())
        s.close()
    s = raw(server, f"POST /v1/query HTTP/1.1\nHost: x\nContent-Length: 10\n"
                    f"Authorization: Bearer {server.token}\nExpect: 100-continue\n\n")
    assert read_head(s).startswith(b"HTTP/1.1 100 ")
    s.sendall(b'{"ids":[]}')
    assert read_head(s).startswith(b"HTTP/1.1 200 ")
    s.close()


# uploads

def test_uploads_at_a_time_are_bounded_and_pushes_wait_for_room(tmp_path, prog):
    with serving(tmp_path, uploads_key=2) as server:
        api = Api(server)
        for i in range(2):
            api.announce([f"go:{i}"], b"x" * 100)
        status, doc, headers = api("POST", "/v1/uploads",
                                   {"ids": ["go:x"], "size": 1, "sha256": "00" * 32})
        assert (status, doc["error"]["code"]) == (429, "too_many_uploads")
        assert int(headers["Retry-After"]) > 0
        pushing = subprocess.Popen([UNHEX, "push", prog], env={**os.environ, **server.env},
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: log_of(server).count("status=429") >= 2)
        server.configure(uploads_key=3)
        server.process.send_signal(signal.SIGHUP)
        out, err = pushing.communicate(timeout=120)
        assert pushing.returncode == 0, (out, err)


# pages of other sites

def test_the_profilers_page_may_ask_a_server_on_this_machine(server):
    api = Api(server, token="")
    page = {"Origin": "https://profiler.firefox.com"}
    status, _, headers = api("OPTIONS", "/symbolicate/v5", headers={
        **page, "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "user-agent",
        "Access-Control-Request-Private-Network": "true"})
    assert status == 204 and headers["Allow"] == "POST"
    assert headers["Access-Control-Allow-Origin"] == page["Origin"]
    assert headers["Access-Control-Allow-Headers"] == "user-agent"
    assert headers["Access-Control-Allow-Private-Network"] == "true"
    assert "Origin" in headers["Vary"].split(", ")
    ask = json.dumps({"memoryMap": [["m", "00" * 16 + "0"]], "stacks": [[[0, 1]]]})
    status, doc, headers = api("POST", "/symbolicate/v5", ask,
                               {**page, "Content-Type": "text/plain;charset=UTF-8"})
    assert status == 200 and list(doc["results"][0]["found_modules"].values()) == [False]
    assert headers["Access-Control-Allow-Origin"] == page["Origin"]
    assert not any("credentials" in name.lower() for name in headers)
    for origin in ("https://evil.example", "null", "http://profiler.firefox.com"):
        _, _, headers = api("POST", "/symbolicate/v5", ask, {"Origin": origin})
        assert "Access-Control-Allow-Origin" not in headers
    _, _, headers = Api(server)("POST", "/v1/uploads", "{}", page)
    assert "Access-Control-Allow-Origin" not in headers


def test_pins_and_the_audit_over_http(server, prog):
    name = build_id(prog)
    push(server, prog, server.token)
    api = Api(server)
    assert api("PUT", f"/v1/modules/{name}/pins/release%201")[0] == 204
    doc = api("GET", f"/v1/modules/{name}")[1]
    assert doc["pinned"] and [p["label"] for p in doc["pins"]] == ["release 1"]
    assert api("DELETE", f"/v1/modules/{name}/pins/release%201")[0] == 204
    api.refused(404, "not_found", "DELETE", f"/v1/modules/{name}/pins/release%201")
    audit = api("GET", "/v1/audit")[1]["lines"]
    mine = api("GET", "/v1/whoami")[1]["key"]
    assert [(a["what"], a["subject"], a["detail"]) for a in audit[-2:]] == [
        ("pin", name, "release 1"), ("unpin", name, "release 1")]
    assert all(a["key"] == mine and a["from"] == "127.0.0.1" for a in audit[-2:])
    assert "upload" in [a["what"] for a in audit]
    Api(server, token="").refused(401, "unauthorized", "GET", "/v1/audit")
