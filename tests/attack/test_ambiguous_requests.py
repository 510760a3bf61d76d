# SPDX-License-Identifier: Apache-2.0
"""Requests that two programs could read differently: refused, and nothing behind them is read as a request."""
import re
import socket
import time
import urllib.parse

import pytest

HOST = b"Host: localhost\r\n"
GET = b"GET /healthz HTTP/1.1\r\n"
POST = b"POST /v1/query HTTP/1.1\r\n" + HOST
CHUNKS = b"2\r\n{}\r\n0\r\n\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
NEXT = GET + HOST + b"\r\n"  # sent behind each of them


def length(value):
    """A body with this Content-Length."""
    return POST + b"Content-Length:" + value + b"\r\n\r\n{}"


def coding(value):
    """A body with this Transfer-Encoding."""
    return POST + b"Transfer-Encoding:" + value + b"\r\n\r\n" + CHUNKS


def target(value):
    """A request line with this target."""
    return b"GET " + value + b" HTTP/1.1\r\n" + HOST + b"\r\n"


def field(line):
    """A request with one more header line."""
    return GET + HOST + line + b"\r\n\r\n"


AMBIGUOUS = {
    "two lengths": POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "the same length twice": POST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "a list of lengths": length(b" 2, 2"),
    "a length before chunks": POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS,
    "a length after chunks": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n" + CHUNKS,
    "negative length": length(b" -2"),
    "length with a plus": length(b" +2"),
    "hexadecimal length": length(b" 0x2"),
    "length over 64 bits": length(b" 18446744073709551618"),
    "length of 64 bits": length(b" 18446744073709551615"),
    "no length": length(b""),
    "length of two words": length(b" 2 2"),
    "space before the colon": POST + b"Transfer-Encoding : chunked\r\n\r\n" + CHUNKS,
    "tab before the colon": POST + b"Transfer-Encoding\t: chunked\r\n\r\n" + CHUNKS,
    "coding gzip": coding(b" gzip"),
    "codings gzip and chunked": coding(b" gzip, chunked"),
    "coding twice": POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS,
    "coding identity": POST + b"Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}",
    "coding after a vertical tab": coding(b" \x0bchunked"),
    "unknown coding": coding(b" xchunked"),
    "list of codings with an empty one": coding(b" chunked, "),
    "folded coding": coding(b"\r\n chunked"),
    "coding in HTTP/1.0": b"POST /v1/query HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS,
    "two hosts": field(b"Host: other"),
    "no host": GET + b"\r\n",
    "no host beside another header": GET + b"X: y\r\n\r\n",
    "empty host": GET + b"Host:\r\n\r\n",
    "host of two words": GET + b"Host: a b\r\n\r\n",
    "host with a path": GET + b"Host: a/b\r\n\r\n",
    "host with a user": GET + b"Host: a@b\r\n\r\n",
    "NUL in a value": field(b"X-A: a\0b"),
    "NUL behind a value": field(b"X-A: a\0"),
    "two NULs like an end of line": field(b"X-A: a\0\0b: c"),
    "header hidden by NULs": GET + b"Host: localhost\0\0Host: b\r\n\r\n",
    "NUL in a name": field(b"X\0A: a"),
    "NUL in the target": target(b"/healthz\0x"),
    "NUL in the version": b"GET /healthz HTTP/1.1\0\r\n" + HOST + b"\r\n",
    "NUL in the method": b"GET\0X /healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    "space in a name": field(b"X A: b"),
    "empty name": field(b": b"),
    "line without a colon": field(b"abc"),
    "bracket in a name": field(b"X(A): b"),
    "first header indented": GET + b" Host: localhost\r\n\r\n",
    "folded header": field(b"X-A: b\r\n c"),
    "header folded by a tab": field(b"X-A: b\r\n\tc"),
    "control character in a value": field(b"X: a\x01b"),
    "DEL in a value": field(b"X: a\x7fb"),
    "lines that end in LF": b"GET /healthz HTTP/1.1\nHost: localhost\n\n",
    "one line that ends in LF": GET + HOST + b"X: a\nY: b\r\n\r\n",
    "head that ends in LF": GET + HOST + b"\n",
    "request line that ends in LF": b"GET /healthz HTTP/1.1\n" + HOST + b"\r\n",
    "one line that ends in CR": GET + HOST + b"X: a\rY: b\r\n\r\n",
    "request line that ends in CR": b"GET /healthz HTTP/1.1\r" + HOST + b"\r\n",
    "CR before the end of a line": field(b"X: a\r"),
    "absolute target of another host": target(b"http://evil/healthz"),
    "absolute target of another port": target(b"http://localhost:1/healthz"),
    "relative target": target(b"healthz"),
    "star": target(b"*"),
    "control character in the target": target(b"/healthz\x01"),
    "tab in the target": target(b"/healthz\tx"),
    "space in the target": target(b"/healthz?a b"),
    "fragment": target(b"/healthz#x"),
    "two spaces before the target": target(b" /healthz"),
    "two spaces before the version": target(b"/healthz "),
    "space behind the version": b"GET /healthz HTTP/1.1 \r\n" + HOST + b"\r\n",
    "tabs between the words": b"GET\t/healthz\tHTTP/1.1\r\n" + HOST + b"\r\n",
    "version 2.0": b"GET /healthz HTTP/2.0\r\n" + HOST + b"\r\n",
    "version 1.2": b"GET /healthz HTTP/1.2\r\n" + HOST + b"\r\n",
    "version 1.10": b"GET /healthz HTTP/1.10\r\n" + HOST + b"\r\n",
    "version in small letters": b"GET /healthz http/1.1\r\n" + HOST + b"\r\n",
    "no version": b"GET /healthz\r\n" + HOST + b"\r\n",
    "chunk size with a prefix": CHUNKED + b"0x2\r\n{}\r\n0\r\n\r\n",
    "chunk size with a plus": CHUNKED + b"+2\r\n{}\r\n0\r\n\r\n",
    "negative chunk size": CHUNKED + b"-2\r\n{}\r\n0\r\n\r\n",
    "indented chunk size": CHUNKED + b" 2\r\n{}\r\n0\r\n\r\n",
    "chunk size with a space behind": CHUNKED + b"2 \r\n{}\r\n0\r\n\r\n",
    "chunk size over 64 bits": CHUNKED + b"10000000000000002\r\n{}\r\n0\r\n\r\n",
    "no chunk size": CHUNKED + b"\r\n{}\r\n0\r\n\r\n",
    "chunk without an end of line": CHUNKED + b"2\r\n{}xx0\r\n\r\n",
}

# Version 0.9 of the HTTP library reads these. What matters is that nothing behind them is read.
ONLY_LAST = {
    "chunk size that ends in LF": CHUNKED + b"2\n{}\r\n0\r\n\r\n",
    "chunk that ends in LF": CHUNKED + b"2\r\n{}\n0\r\n\r\n",
    "chunks that end in LF": CHUNKED + b"2\r\n{}\r\n0\n\n",
    "extension of a chunk that ends in LF": CHUNKED + b"2;a\n{}\r\n0\r\n\r\n",
    "extension of a chunk": CHUNKED + b"2;a=b\r\n{}\r\n0\r\n\r\n",
    "length in the trailer": CHUNKED + b"2\r\n{}\r\n0\r\nContent-Length: 7\r\n\r\n",
    "plain chunks": CHUNKED + CHUNKS,
}

FINE = {
    "spaces around a value": (GET + b"Host:\t localhost \t\r\nX-A:\r\nX-B: \r\nX-C:   c\r\n\r\n", 200),
    "HTTP/1.0 without a host": (b"GET /healthz HTTP/1.0\r\n\r\n", 200),
    "HTTP/1.0 with a host": (b"GET /healthz HTTP/1.0\r\nHost: a:80\r\nX: y\r\n\r\n", 200),
    "an address as host": (GET + b"Host: [::1]:8420\r\n\r\n", 200),
    "a query": (target(b"/healthz?a=b%20c&x=\xc3\xa4"), 200),
    "cookies": (field(b"Cookie: a=b; c=\"d\"; e\r\nX: \xc3\xa4"), 200),
    "an absolute target": (target(b"http://LOCALHOST/healthz?a"), 200),
    "a body": (length(b" 2"), 401),
    "chunks": (coding(b" Chunked"), 401),
}


def exchange(server, data):
    """The status codes of all answers, and whether the server ended the connection."""
    url, got, ended = urllib.parse.urlsplit(server.url), b"", True
    with socket.create_connection((url.hostname, url.port), timeout=10) as s:
        try:
            s.sendall(data)
            while chunk := s.recv(65536):
                got += chunk
        except TimeoutError:
            ended = False
        except ConnectionError:
            pass
    return [int(x) for x in re.findall(rb"HTTP/1\.1 (\d+) ", got)], ended


@pytest.mark.parametrize("what", AMBIGUOUS)
def test_an_ambiguous_request_is_refused_and_ends_the_connection(server, what):
    begun = time.monotonic()
    statuses, ended = exchange(server, AMBIGUOUS[what] + NEXT)
    assert ended and set(statuses) <= {400, 413, 505}, (what, statuses, ended)
    assert time.monotonic() - begun < 8


@pytest.mark.parametrize("what", ONLY_LAST)
def test_nothing_behind_a_chunked_body_is_read_as_a_request(server, what):
    statuses, ended = exchange(server, ONLY_LAST[what] + NEXT)
    assert ended and len(statuses) == 1 and statuses[0] in (400, 401), (what, statuses, ended)


@pytest.mark.parametrize("what", FINE)
def test_a_plain_request_is_read(server, what):
    data, status = FINE[what]
    url = urllib.parse.urlsplit(server.url)
    with socket.create_connection((url.hostname, url.port), timeout=30) as s:
        s.sendall(data)
        assert s.recv(65536).startswith(b"HTTP/1.1 %d " % status), what
