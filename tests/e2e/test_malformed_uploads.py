# SPDX-License-Identifier: Apache-2.0
"""Uploads that are wrong in every way: each gets an answer, and the server lives"""
import collections
import contextlib
import hashlib
import http.client
import json
import os
import random
import socket
import struct

import pytest

from http_api import Api, listed
from tool import symbol, unhex
from waiting import wait_for

SEED = int(os.environ.get("UNHEX_SEED", "0")) or random.randrange(1, 1 << 32)
EXTREMES = (0, 1, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


@pytest.fixture
def rng():
    print(f"UNHEX_SEED={SEED}")
    return random.Random(SEED)


@pytest.fixture
def reported():
    counts = collections.Counter()
    yield counts
    print(f"{sum(counts.values())} malformed uploads: {dict(sorted(counts.items()))}")


@pytest.fixture(autouse=True)
def alive(server):
    """The same process is there afterwards, and its store is right."""
    pid = server.process.pid
    yield
    assert server.process.poll() is None and server.process.pid == pid
    assert Api(server)("GET", "/readyz")[0] == 200
    result = unhex("store", "check", "--data", server.data)
    assert result.returncode == 0, result.stdout
    assert server.stop() == 0


def damaged(gsym, rng):
    """Cut, overwritten, with extreme numbers, doubled."""
    bad = bytearray(gsym)
    how = rng.randrange(5)
    if how == 0:
        return bytes(bad[:rng.randrange(1, len(bad))])
    if how == 1:
        for _ in range(rng.randrange(1, 40)):
            bad[rng.randrange(len(bad))] = rng.randrange(256)
    elif how == 2:
        for _ in range(rng.randrange(1, 4)):
            struct.pack_into("<I", bad, rng.randrange(0, len(bad) - 4) & ~3, rng.choice(EXTREMES))
    elif how == 3:
        struct.pack_into("<I", bad, rng.choice((8, 12, 16, 20, 24)), rng.choice(EXTREMES))
    else:
        at = rng.randrange(len(bad))
        bad[at:at] = bad[rng.randrange(len(bad)):]
    return bytes(bad)


def test_gsym_files_that_are_damaged(server, prog, gsym, rng, reported):
    api, start = Api(server), symbol(prog, "outer")[0]
    for n in range(600):
        name = f"go:damaged-{n}"
        bad = damaged(gsym, rng)
        status, doc, _ = api.upload([name], bad)
        word = doc["error"]["code"] if "error" in doc else doc["status"]
        reported[f"gsym: {status} {word}"] += 1
        assert status in (200, 422), doc
        assert (status == 200) == (api("GET", f"/v1/modules/{name}")[0] == 200)
        if status == 200:  # the damage cannot be seen, or does not matter
            assert api("GET", f"/v1/symbolize/{name}?addr={start},1,0xffffffffffffffff")[0] == 200
    assert sum(reported.values()) == 600


def wrong_value(rng):
    return rng.choice([None, True, -1, 0, 1, 1 << 62, (1 << 63) - 1, 1.5, 1e300, "", "x", "0x10",
                       "gnu:", "gnu:zz", "go:" + "a" * 5000, "\u0000", "\ud7ff", "../../lock",
                       [], [[]], {}, {"a": 1}, ["gnu:00"] * 2000, ["gnu:00", 7], "sources",
                       "f" * 64, "F" * 63 + "g", "inlines", "none"])


def test_announcements_that_make_no_sense(server, gsym, rng, reported):
    api = Api(server)
    right = {"ids": ["gnu:" + gsym[28:48].hex()], "size": len(gsym), "kind": "gsym",
             "sha256": hashlib.sha256(gsym).hexdigest(), "quality": "inlines",
             "description": "d", "file": "f", "force": False}
    for _ in range(400):
        doc = dict(right)
        for key in rng.sample(sorted(doc), rng.randrange(1, 4)):
            doc[key] = wrong_value(rng)
        if rng.random() < 0.2:
            del doc[rng.choice(("ids", "size", "sha256"))]
        text = json.dumps(doc).encode()
        if rng.random() < 0.3:
            text = damaged(text, rng)
        status, doc, _ = api("POST", "/v1/uploads", text)
        reported[f"announce: {status} {doc['error']['code'] if 'error' in doc else ''}"] += 1
        assert status == 201 or 400 <= status < 500, (status, doc)
        if status == 201:  # what was announced does not come
            assert api.finish(doc["uid"])[0] in (409, 422)
    assert listed(api) == set()


def wrong_range(rng, size):
    first, last = rng.randrange(size), rng.randrange(size)
    return rng.choice([
        "", "bytes", "bytes ", "bytes -", "bytes 0-", "bytes -0/1", "bytes a-b/c",
        f"bytes {last}-{first}/{size}", f"bytes {first}-{last}/{size + 1}",
        f"bytes {first}-{last}/*", f"octets 0-{size - 1}/{size}",
        f"bytes 0-{size - 1}/{1 << 64}", f"bytes {1 << 64}-{1 << 65}/{size}",
        f"bytes 0-{size - 1}/-1", "bytes 0-0/0", "bytes */*", "bytes " + "9" * 4000])


def test_pieces_that_do_not_fit(server, gsym, rng, reported):
    api, size = Api(server), len(gsym)
    good = "gnu:" + gsym[28:48].hex()
    uid = api.announce([good], gsym)
    there = 0
    for _ in range(400):
        how = rng.randrange(6)
        offset = rng.choice([there, rng.randrange(size), size, size + 1, 1 << 63, (1 << 64) - 1,
                             1 << 64, -1, "x", "", "%00", "0x0", "1e3"])
        if how == 0:
            answer = api("PUT", f"/v1/uploads/{uid}?offset={offset}", b"" if offset == there else
                         gsym[:rng.randrange(size)])
        elif how == 1:
            answer = api("PUT", f"/v1/uploads/{uid}", gsym[:rng.randrange(size)],
                         {"Content-Range": wrong_range(rng, size)})
        elif how == 2:  # more than was announced
            answer = api.put(uid, gsym[there:] + bytes(rng.randrange(1, 100)), there)
        elif how == 3:  # too early
            answer = api.finish(uid)
            assert answer[0] in (409, 422)
        elif how == 4:  # of no format
            other = rng.choice(["0" * 32, "f" * 31, uid.upper(), uid + "0", "..", "%2e%2e%2flock",
                                "%00", uid[:-1] + "g", "." * 32, "/" * 32])
            answer = api(rng.choice(("PUT", "POST", "GET")),
                         f"/v1/uploads/{other}{rng.choice(('', '/finish'))}", b"x")
            assert answer[0] in (400, 404, 405), answer
        else:  # bytes of something else: the hash tells
            wrong = api.announce([good], gsym)
            assert api.put(wrong, bytes(size))[0] == 200
            answer = api.finish(wrong)
            assert answer[0] == 422 and answer[1]["error"]["code"] == "hash_mismatch"
        status, doc, _ = answer
        reported[f"piece: {status} {(doc or {}).get('error', {}).get('code', '')}"] += 1
        assert status < 500, doc
        state = api("GET", f"/v1/uploads/{uid}")[1]
        assert state["state"] == "open" and state["offset"] <= size
        there = state["offset"]
        assert listed(api) == set()
    # After all that, the bytes that came may be wrong ones: then all are requested again.
    if there < size:
        assert api.put(uid, gsym[there:], there)[0] == 200
    status, doc, _ = api.finish(uid)
    if status != 200:
        assert doc["error"]["code"] == "hash_mismatch"
        assert api.put(uid, gsym, 0)[0] == 200 and api.finish(uid)[0] == 200
    assert listed(api) == {good}


def test_requests_that_are_none(server, gsym, rng, reported):
    """Bytes on a connection that no client of HTTP sends."""
    api = Api(server)
    uid = api.announce(["gnu:" + gsym[28:48].hex()], gsym)
    head = (f"PUT /v1/uploads/{uid} HTTP/1.1\r\nHost: x\r\n"
            f"Authorization: Bearer {server.token}\r\n").encode()
    lengths = [b"Content-Length: -1", b"Content-Length: 1, 2",
               b"Content-Length: 99999999999999999999", b"Content-Length: 5\r\nContent-Length: 6", b"Content-Length: x",
               b"Transfer-Encoding: chunked\r\nContent-Length: 3", b"Transfer-Encoding: gzip"]
    chunks = [b"zz\r\n", b"-1\r\n", b"ffffffffffffffffff\r\nx", b"5;" + b"a" * 3000 + b"\r\nhello",
              b"3\r\nabcd\r\n0\r\n\r\n", b"0\r\nX: y\r\n\r\n", b"\r\n\r\n"]
    for _ in range(300):
        how = rng.randrange(4)
        if how == 0:
            data = head + rng.choice(lengths) + b"\r\n\r\n" + gsym[:rng.randrange(len(gsym))]
        elif how == 1:
            data = head + b"Transfer-Encoding: chunked\r\n\r\n" + \
                b"".join(rng.choice(chunks) for _ in range(rng.randrange(1, 4)))
        elif how == 2:
            data = damaged(head + b"Content-Length: 3\r\n\r\nabc", rng)
        else:
            data = rng.randbytes(rng.randrange(1, 2000))
        with contextlib.closing(socket.create_connection((api.url.hostname, api.url.port))) as s:
            s.settimeout(60)
            with contextlib.suppress(OSError):
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
            with contextlib.suppress(OSError):
                line = s.recv(100).split(b"\r\n")[0]
                reported["bytes: " + (line.split(b" ")[1].decode() if b" " in line else "closed")] += 1
    assert not {f"bytes: {status}" for status in (500, 503, 507)} & set(reported), reported

    def goes_on():  # a lost connection may still hold it
        with contextlib.suppress(http.client.HTTPException):
            return Api(server)("GET", f"/v1/uploads/{uid}")[1]["state"] == "open"
    wait_for(goes_on)
