# SPDX-License-Identifier: Apache-2.0
"""Many costly requests of one client: other clients, probes and the threads themselves are not held."""
import http.client
import json
import random
import threading
import time

import pytest

from hostile_gsym import KINDS
from http_api import Api

SIMPLE_SECONDS_MOST = 0.5  # of a simple request beside the costliest ones
NAME = "gnu:" + bytes(range(20)).hex()
LINES = "gnu:" + "77" * 20


def costly_body(addresses, modules):
    """Few addresses at a time, never seen before, so that the largest function is read for each of them."""
    span = range(addresses[0], addresses[-1])
    return json.dumps({"modules": [{"id": NAME, "addresses": random.sample(span, 7)} for _ in range(modules)]})


class Client:
    """Requests from an address of this machine, so that the server takes them for those of another client."""

    def __init__(self, server, source):
        self.server, self.source = server, source

    def connect(self, timeout=60):
        url = self.server.url.split("//")[1]
        host, port = url.split(":")
        return http.client.HTTPConnection(host, int(port), timeout=timeout, source_address=(self.source, 0))

    def __call__(self, method, path, body=None):
        connection = self.connect()
        connection.request(method, path, body)
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.headers)


@pytest.fixture
def hostile(server):
    """A server with a function that is costly to read; the body that makes it do so."""
    data, addresses = KINDS["long_line_table"](bytes(range(20)))
    assert Api(server).upload([NAME], data)[0] == 200
    return lambda modules: costly_body(list(addresses), modules)


def flood(client, hostile, n, until):
    """n connections that send costly requests until the event is set."""
    def one():
        while not until.is_set():
            client("POST", "/v1/symbolize", hostile(4))
    threads = [threading.Thread(target=one, daemon=True) for _ in range(n)]
    for t in threads:
        t.start()
    return threads


def test_another_client_is_answered_at_once_beside_sixteen_costly_connections(server, hostile):
    until = threading.Event()
    threads = flood(Client(server, "127.0.0.2"), hostile, 16, until)
    other = Client(server, "127.0.0.3")
    try:
        time.sleep(1)  # all threads that the client may have are taken
        slowest = {}
        for _ in range(10):
            for path in ("/healthz", "/readyz", "/metrics", f"/v1/symbolize/{LINES}?addr=0x1", "/v1/modules"):
                before = time.monotonic()
                status, _, _ = other("GET", path)
                assert status in (200, 404), (path, status)
                slowest[path] = max(slowest.get(path, 0), time.monotonic() - before)
    finally:
        until.set()
        for t in threads:
            t.join(60)
    print(slowest)
    assert max(slowest.values()) <= SIMPLE_SECONDS_MOST, slowest
