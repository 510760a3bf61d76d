# SPDX-License-Identifier: Apache-2.0
"""unhex serve: every route, and what it refuses"""
import contextlib
import hashlib
import re
import resource
import signal
import socket
import subprocess
import time

import pytest

from unhex_server import Server
from http_api import Api, with_uuid
from tool import build_id, fails, symbol, unhex
from waiting import wait_for


@pytest.fixture
def api(server):
    return Api(server)


def functions(doc):
    return [[f["function"] for f in frames] for frames in doc["frames"]]


# every route

def test_root_lists_the_routes_and_health_is_ok(server):
    anyone = Api(server, token="")
    status, doc, headers = anyone("GET", "/")
    assert status == 200 and doc is None and headers["Content-Type"].startswith("text/plain")
    assert anyone("GET", "/healthz")[:2] == (200, {"status": "ok"})
    assert anyone("HEAD", "/healthz")[0] == 200


def test_an_upload_is_answered_in_both_ways(api, prog, gsym):
    name, (start, size) = build_id(prog), symbol(prog, "outer")
    status, doc, _ = api.upload([name, "go:some/thing"], gsym, description="by hand", file="prog")
    assert (status, doc["status"], doc["quality"]) == (200, "uploaded", "inlines")
    body = {"modules": [{"id": name, "addresses": [hex(start), start, str(start), 1]},
                        {"id": "gnu:00", "addresses": ["0x1"]}]}
    status, doc, _ = api("POST", "/v1/symbolize", body)
    assert status == 200
    found, missing = doc["modules"]
    assert found["status"] == "found" and found["quality"] == "inlines"
    first, second, third, fourth = functions(found)
    assert first == second == third and first[-1] == "outer" and fourth == []
    assert missing == {"id": "gnu:00", "status": "missing"}
    frames = found["frames"][0]
    assert all(f["inlined"] for f in frames[:-1]) and "inlined" not in frames[-1]
    assert frames[-1]["file"] == str(prog.with_suffix(".c")) and frames[-1]["line"] > 0
    for path in (f"/v1/symbolize/{name}", "/v1/symbolize/go:some%2Fthing"):
        status, doc, _ = api("GET", f"{path}?addr={start:#x},1")
        assert status == 200 and functions(doc) == [first, []]
    status, doc, _ = api("GET", f"/v1/symbolize/{name}?addr={start + size}&return_addresses=true")
    assert functions(doc)[0][-1] == "outer"


def test_demangling_is_a_choice(api, tmp_path):
    source = "namespace n { int f(int x) { return x + 1; } }\nint main() { return n::f(1); }\n"
    path = tmp_path / "p"
    path.with_suffix(".cc").write_text(source)
    subprocess.run(["g++", "-g", "-O0", "-Wl,--build-id", "-o", path, path.with_suffix(".cc")],
                   check=True)
    assert unhex("extract", path, "-o", path.with_suffix(".gsym")).returncode == 0
    name, (start, _) = build_id(path), symbol(path, "_ZN1n1fEi")
    assert api.upload([name], path.with_suffix(".gsym").read_bytes())[0] == 200
    for choice, text in (("", "n::f(int)"), ("&demangle=full", "n::f(int)"),
                         ("&demangle=short", "n::f"), ("&demangle=none", "_ZN1n1fEi")):
        status, doc, _ = api("GET", f"/v1/symbolize/{name}?addr={start}{choice}")
        assert status == 200 and functions(doc) == [[text]]


def test_modules_are_listed_shown_fetched_and_deleted(api, prog, gsym):
    name = build_id(prog)
    others = [bytes([i]) * 20 for i in range(1, 6)]
    for uuid in others:
        assert api.upload([f"gnu:{uuid.hex()}"], with_uuid(gsym, uuid))[0] == 200
    assert api.upload([name, "file:" + "ab" * 16], gsym, description="d", file="f")[0] == 200
    seen, after = [], ""
    while True:
        status, doc, _ = api("GET", f"/v1/modules?limit=4{after}")
        assert status == 200 and len(doc["modules"]) <= 4
        seen += [m["id"] for m in doc["modules"]]
        if "next" not in doc:
            break
        after = f"&after={doc['next']}"
    assert seen == [f"gnu:{uuid.hex()}" for uuid in others] + [name]
    status, doc, _ = api("GET", f"/v1/modules/file:{'ab' * 16}")
    assert status == 200 and doc["ids"] == [name, "file:" + "ab" * 16]
    (candidate,) = doc["candidates"]
    assert candidate["sha256"] == hashlib.sha256(gsym).hexdigest()
    assert candidate["size"] == len(gsym) and candidate["counts"]["functions"] > 0
    assert (candidate["description"], candidate["file"]) == ("d", "f")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", candidate["created"])
    api.connection.request("GET", f"/v1/gsym/{name}")
    answer = api.connection.getresponse()
    assert answer.read() == gsym
    tag = answer.headers["ETag"]
    assert api("GET", f"/v1/gsym/{name}", headers={"If-None-Match": tag})[0] == 304
    assert api("DELETE", f"/v1/modules/{name}")[0] == 204
    api.refused(404, "not_found", "GET", f"/v1/modules/{name}")
    api.refused(404, "not_found", "GET", f"/v1/symbolize/{name}?addr=1")
    api.refused(404, "not_found", "DELETE", f"/v1/modules/{name}")


def test_query_says_what_to_upload(api, prog, gsym):
    name = build_id(prog)
    ask = {"modules": [{"ids": [name], "quality": q} for q in ("symtab", "inlines")]}
    assert [a["status"] for a in api("POST", "/v1/query", ask)[1]["answers"]] == ["wanted"] * 2
    assert api.upload([name], gsym)[0] == 200
    answers = api("POST", "/v1/query", ask)[1]["answers"]
    assert [a["status"] for a in answers] == ["better-there", "already-there"]
    assert all(a["reason"] and a["id"] == name for a in answers)
    forced = api("POST", "/v1/query", {**ask, "force": True})[1]["answers"]
    assert [a["status"] for a in forced] == ["wanted"] * 2
    mixed = api("POST", "/v1/query", {"ids": [name, "gnu:00", "what"]})[1]["answers"]
    assert [a["status"] for a in mixed] == ["already-there", "wanted", "invalid"]


# uploads that go wrong

def test_an_upload_in_pieces_goes_on_where_it_broke_off(server, api, gsym):
    name = "gnu:" + gsym[28:48].hex()
    uid = api.announce([name], gsym)
    third = len(gsym) // 3
    # A client that vanishes in the middle of its body: what came is kept.
    with socket.create_connection((api.url.hostname, api.url.port)) as s:
        s.sendall(f"PUT /v1/uploads/{uid} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(gsym)}\r\n"
                  f"Authorization: Bearer {server.token}\r\n\r\n".encode() + gsym[:third])
    def arrived():
        answer = api("GET", f"/v1/uploads/{uid}")
        return answer[1]["offset"] == third and answer
    status, state, _ = wait_for(arrived)
    assert (status, state["state"], state["offset"]) == (200, "open", third)
    status, doc, headers = api.finish(uid)
    assert (status, doc["error"]["code"]) == (409, "incomplete")
    assert headers["Upload-Offset"] == str(third)
    def refused():  # the lost connection may still hold the upload
        answer = api.put(uid, gsym, 0)
        return "working" not in answer[1]["error"]["message"] and answer
    status, doc, headers = wait_for(refused)
    assert (status, headers["Upload-Offset"]) == (409, str(third))
    last = len(gsym) - 1
    status, doc, _ = api("PUT", f"/v1/uploads/{uid}", gsym[third:],
                         {"Content-Range": f"bytes {third}-{last}/{len(gsym)}"})
    assert (status, doc["offset"]) == (200, len(gsym))
    assert api.finish(uid)[1]["status"] == "uploaded"
    assert api.finish(uid)[1]["status"] == "uploaded"
    assert api("GET", f"/v1/uploads/{uid}")[1]["state"] == "done"


def test_bytes_of_another_hash_are_dropped(api, gsym):
    name = "gnu:" + gsym[28:48].hex()
    uid = api.announce([name], gsym)
    assert api.put(uid, bytes(len(gsym)))[0] == 200
    status, doc, _ = api.finish(uid)
    assert (status, doc["error"]["code"]) == (422, "hash_mismatch")
    api.refused(404, "not_found", "GET", f"/v1/modules/{name}")
    assert api.put(uid, gsym)[0] == 200
    assert api.finish(uid)[0] == 200


@pytest.mark.parametrize("damage, word, say", [
    (lambda g: g[:4] + b"\x07" + g[5:], "unsupported", "version"),
    (lambda g: b"\x7fELF" + g[4:], "unsupported", ""),
    (lambda g: g[:len(g) * 3 // 4], "corrupt", ""),  # less cuts only the segments, which may be missing
    (lambda g: g[:60], "corrupt", ""),
    (lambda g: g[:48] + b"\xff" * (len(g) - 48), "corrupt", ""),
    (lambda g: b"x", "corrupt", "1 found"),
])
def test_a_gsym_that_is_none_is_refused_with_the_reason(api, gsym, damage, word, say):
    name = "gnu:" + gsym[28:48].hex()
    status, doc, _ = api.upload([name], damage(gsym))
    assert (status, doc["error"]["code"]) == (422, word), doc
    assert say in doc["error"]["message"] and doc["error"]["message"]
    api.refused(404, "not_found", "GET", f"/v1/modules/{name}")


def test_a_gsym_of_another_module_is_refused(api, gsym):
    status, doc, _ = api.upload(["gnu:0102030405"], gsym)
    assert (status, doc["error"]["code"]) == (409, "conflict")
    assert gsym[28:48].hex() in doc["error"]["message"]
    assert api("GET", "/v1/modules")[1]["modules"] == []


def test_a_poorer_upload_is_refused_unless_forced(api, prog, gsym):
    name = build_id(prog)
    poor = prog.with_suffix(".poor.gsym")
    assert unhex("extract", prog, "-o", poor, "--no-dwarf").returncode == 0
    assert api.upload([name], gsym)[0] == 200
    status, doc, _ = api.upload([name], poor.read_bytes(), quality="symtab")
    assert (status, doc["error"]["code"]) == (409, "better_there")
    status, doc, _ = api.upload([name], poor.read_bytes(), quality="symtab", force=True)
    assert (status, doc["status"], doc["quality"]) == (200, "uploaded", "symtab")
    qualities = [c["quality"] for c in api("GET", f"/v1/modules/{name}")[1]["candidates"]]
    assert qualities == ["inlines", "symtab"]


# bad input

@pytest.mark.parametrize("path", ["/v1/symbolize", "/v1/query", "/v1/uploads"])
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"nonsense", b"\xff\xfe", b'{"modules":',
                                  b'{"a":1,"a":2}', b'{"modules":' + b"[" * 5000])
def test_json_that_is_none_is_refused(api, path, body):
    message = api.refused(400, "invalid", "POST", path, body=body)
    assert "JSON" in message or "expected" in message


def test_a_body_over_the_limit_is_refused(server, api):
    assert "16777216" in api.refused(413, "too_large", "POST", "/v1/query",
                                     body=b" " * ((16 << 20) + 1))
    # announced only: the answer comes before the body
    with socket.create_connection((api.url.hostname, api.url.port), timeout=30) as s:
        s.sendall(f"POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n"
                  f"Authorization: Bearer {server.token}\r\n\r\n".encode())
        assert b" 413 " in s.recv(4096).split(b"\r\n")[0]
    # and one that tells no length
    with socket.create_connection((api.url.hostname, api.url.port), timeout=30) as s:
        s.sendall(f"POST /v1/query HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
                  f"Authorization: Bearer {server.token}\r\n\r\n".encode())
        piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
        with pytest.raises(OSError):
            for _ in range(1000):
                s.sendall(piece)
    assert Api(server)("GET", "/healthz")[0] == 200


def test_unknown_things_are_not_found(api):
    api.refused(404, "not_found", "GET", "/v1/nothing")
    api.refused(404, "not_found", "GET", "/v1/modules/gnu:0011")
    api.refused(404, "not_found", "GET", "/v1/gsym/gnu:0011")
    api.refused(404, "not_found", "GET", "/v1/symbolize/gnu:0011?addr=1")
    api.refused(404, "not_found", "GET", "/v1/uploads/" + "0" * 32)
    api.refused(404, "not_found", "PUT", "/v1/uploads/..%2F..%2Flock", body=b"x")
    api.refused(404, "not_found", "POST", "/v1/uploads/" + "f" * 32 + "/finish")
    api.refused(400, "invalid", "GET", "/v1/modules/zz")
    assert "not an address" in api.refused(400, "invalid", "GET", "/v1/symbolize/gnu:00?addr=seven")
    api.refused(405, "method_not_allowed", "PATCH", "/v1/modules")
    assert api("POST", "/v1/modules")[2]["Allow"] == "GET, HEAD"


def test_tokens_are_required_and_checked(server, gsym):
    ids = {"ids": ["gnu:00"]}
    message = Api(server, token="").refused(401, "unauthorized", "POST", "/v1/query", body=ids)
    assert "scope upload" in message
    wrong = server.token[:-1] + ("a" if server.token[-1] != "a" else "q")
    for token in ("nonsense", wrong):
        message = Api(server, token=token).refused(401, "unauthorized", "POST", "/v1/query",
                                                   body=ids)
        assert token not in message
    assert Api(server, token="")("GET", "/v1/modules")[0] == 200  # reading is open on loopback
    Api(server, token="").refused(401, "unauthorized", "DELETE", "/v1/modules/gnu:00")


def test_keyed_reading_is_keyed(tmp_path):
    server = Server(tmp_path / "server", options=("--reading", "keyed")).start()
    try:
        for path in ("/v1/modules", "/v1/symbolize/gnu:00?addr=1", "/v1/gsym/gnu:00"):
            Api(server, token="").refused(401, "unauthorized", "GET", path)
        assert Api(server, token="")("GET", "/healthz")[0] == 200
        assert Api(server)("GET", "/v1/modules")[0] == 200
    finally:
        assert server.stop() == 0


def test_the_first_token_is_in_its_file_and_nowhere_else(server, api, gsym):
    assert api.upload(["gnu:" + gsym[28:48].hex()], gsym)[0] == 200
    token = server.token
    assert re.fullmatch(r"ux_[a-z2-7]{52}", token)
    assert server.stop() == 0
    server.token = ""
    server.start()
    assert server.token == ""  # no second key
    assert Api(server, token=token)("POST", "/v1/query", {"ids": ["gnu:00"]})[0] == 200
    assert server.stop() == 0
    first = server.data / "admin-key"  # where standard output is no terminal: test_first_key.py
    assert first.read_text() == token + "\n"
    for path in server.data.parent.rglob("*"):
        if path.is_file() and path != first:
            assert token[3:].encode() not in path.read_bytes(), path


def test_many_idle_connections_leave_descriptors_for_the_work(tmp_path, gsym):
    few = (200, 200)
    server = Server(tmp_path / "server",
                    before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, few)).start()
    try:
        api = Api(server)
        uid = api.announce(["gnu:" + gsym[28:48].hex()], gsym)
        with contextlib.ExitStack() as idle:
            for _ in range(300):
                s = idle.enter_context(socket.create_connection((api.url.hostname, api.url.port)))
                s.sendall(b"GET /healthz HTTP/1.1\r\n")
            # Each on a connection of its own: in a crowd, one that is idle is cut.
            assert Api(server).put(uid, gsym)[0] == 200
            assert Api(server).finish(uid)[1]["status"] == "uploaded"
    finally:
        started = time.monotonic()
        assert server.stop() == 0
        # All of them have gone, those too that had gone before they were accepted.
        assert time.monotonic() - started < 55


def test_a_page_of_another_name_cannot_read_without_a_key(server):
    anyone = Api(server, token="")
    assert anyone("GET", "/v1/modules", headers={"Host": "localhost"})[0] == 200
    anyone.refused(401, "unauthorized", "GET", "/v1/modules", headers={"Host": "rebound.example"})


# stopping and starting

def test_a_second_server_on_the_folder_is_refused(server):
    result = unhex("serve", "--listen", "127.0.0.1:0", "--data", server.data)
    assert result.returncode != 0
    assert "another server" in result.stderr and len(result.stderr.splitlines()) == 1


def test_a_taken_address_is_refused(server, tmp_path):
    address = server.url.removeprefix("http://")
    result = unhex("serve", "--listen", address, "--data", tmp_path / "other")
    assert result.returncode == 3 and address in result.stderr


@pytest.mark.parametrize("address", ["foo", "127.0.0.1", "127.0.0.1:99999", "127.0.0.1:x"])
def test_an_address_that_is_none_makes_no_folder_and_no_key(tmp_path, address):
    result = unhex("serve", "--listen", address, "--data", tmp_path / "data")
    fails(result, 2, "expected")
    assert result.stdout == "" and not (tmp_path / "data").exists()


def takes_connections(api):
    try:
        socket.create_connection((api.url.hostname, api.url.port), timeout=5).close()
    except OSError:
        return False
    return True


def test_sigterm_lets_a_request_end(server, gsym):
    api = Api(server)
    uid = api.announce(["gnu:" + gsym[28:48].hex()], gsym)
    with socket.create_connection((api.url.hostname, api.url.port), timeout=30) as s:
        s.sendall(f"PUT /v1/uploads/{uid} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(gsym)}\r\n"
                  f"Authorization: Bearer {server.token}\r\nExpect: 100-continue\r\n\r\n".encode())
        assert b" 100 " in s.recv(4096)  # it has begun with the request
        s.sendall(gsym[:10])
        server.process.send_signal(signal.SIGTERM)
        wait_for(lambda: not takes_connections(api))
        s.sendall(gsym[10:])
        assert b" 200 " in s.recv(4096).split(b"\r\n")[0]
    assert server.process.wait(30) == 0
