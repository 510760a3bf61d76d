# SPDX-License-Identifier: Apache-2.0
"""Many costly requests of one client: other clients, probes and the threads themselves are not held."""
import http.client
import json
import random
import re
import threading
import time
import urllib.request

import pytest

from hostile_gsym import KINDS
from http_api import Api
from waiting import pause_for, wait_for

SIMPLE_SECONDS_MAX = 0.5  # of a simple request beside the costliest ones
LEFT_SECONDS_MAX = 1.0  # until the threads of disconnected clients are free
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


def upload_hostile(server):
    """Uploads a function that is costly to read, and returns what makes bodies that make the server read it.

    It has more inlined calls than the index of a GSYM takes, so that each new address costs the whole record.
    """
    data, addresses = KINDS["many_calls"](bytes(range(20)), count=(1 << 20) + 16)
    assert Api(server).upload([NAME], data)[0] == 200
    return lambda modules: costly_body(list(addresses), modules)


@pytest.fixture
def hostile(server):
    """Makes costly bodies for the server."""
    return upload_hostile(server)


def flood(client, hostile, n, until):
    """n connections that send costly requests until the event is set."""
    def one():
        while not until.is_set():
            client("POST", "/v1/symbolize", hostile(1))
    threads = [threading.Thread(target=one, daemon=True) for _ in range(n)]
    for t in threads:
        t.start()
    return threads


def test_another_client_is_answered_at_once_beside_sixteen_costly_connections(server, hostile):
    until = threading.Event()
    threads = flood(Client(server, "127.0.0.2"), hostile, 16, until)
    other = Client(server, "127.0.0.3")
    try:
        wait_for(lambda: running(server)["unhex_work_waiting"] > 4, 20)  # all threads that the client may have are taken
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
    assert max(slowest.values()) <= SIMPLE_SECONDS_MAX, slowest


def test_cached_addresses_do_not_wait_behind_costly_requests_of_the_same_client(server, hostile):
    """They are answered without the queue, in which the costly requests fill the client's part."""
    client = Client(server, "127.0.0.2")
    cached = {"modules": [{"id": NAME, "addresses": json.loads(hostile(1))["modules"][0]["addresses"][:1]}]}
    path = "/v1/symbolize"
    _, first, _ = client("POST", path, json.dumps(cached))
    until = threading.Event()
    threads = flood(client, hostile, 16, until)
    took = []
    try:
        wait_for(lambda: running(server)["unhex_work_waiting"] > 4, 20)
        for _ in range(20):
            before = time.monotonic()
            status, body, _ = client("POST", path, json.dumps(cached))
            took.append(time.monotonic() - before)
            assert (status, body) == (200, first)
            pause_for(0.05, "the rate of the client")
    finally:
        until.set()
        for t in threads:
            t.join(60)
    print(sorted(took))
    assert sorted(took)[len(took) // 2] <= SIMPLE_SECONDS_MAX, took


def running(server):
    """Requests whose handlers hold a thread, or wait for one."""
    text = urllib.request.urlopen(server.url + "/metrics", timeout=10).read().decode()
    return {m: int(re.search(rf"^{m} (\d+)$", text, re.M)[1]) for m in ("unhex_work_running", "unhex_work_waiting")}


def test_a_client_that_disconnects_frees_its_thread_within_a_second(server, hostile):
    connections = []
    for _ in range(8):
        connection = Client(server, "127.0.0.2").connect()
        connection.request("POST", "/v1/symbolize", hostile(2000))
        connections.append(connection)
    wait_for(lambda: running(server)["unhex_work_running"] > 0, 20)
    for connection in connections:
        connection.close()
    before = time.monotonic()
    wait_for(lambda: sum(running(server).values()) == 0, 20)
    took = time.monotonic() - before
    assert took <= LEFT_SECONDS_MAX, took


def test_a_request_over_its_work_budget_is_refused(server, watched, hostile):
    with watched.request("two thousand modules of seven new addresses each"):
        status, body, _ = Client(server, "127.0.0.2")("POST", "/v1/symbolize", hostile(2000))
    assert status == 413, body[:200]
    error = json.loads(body)["error"]
    assert error["code"] == "too_large" and "request fewer addresses" in error["message"]


@pytest.mark.parametrize("settings", ["memory = 64M\nrequest-time = 1s\n"])
def test_a_request_over_its_time_is_refused(server, hostile):
    """Several requests share the two threads of a client, so that some wait for longer than the deadline."""
    answers = []

    def one():
        answers.append(Client(server, "127.0.0.2")("POST", "/v1/symbolize", hostile(6)))
    threads = [threading.Thread(target=one) for _ in range(24)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    late = [json.loads(body)["error"] for status, body, _ in answers if status == 503]
    assert len(late) > 0 and {e["code"] for e in late} == {"deadline"}, [a[0] for a in answers]
    assert {status for status, _, _ in answers} <= {200, 503}


@pytest.mark.parametrize("settings", ["memory = 64M\nclient-queue = 2\n"])
def test_a_client_with_too_many_waiting_requests_gets_retry_after(server, hostile):
    answers = []

    def one():
        answers.append(Client(server, "127.0.0.2")("POST", "/v1/symbolize", hostile(1)))
    threads = [threading.Thread(target=one) for _ in range(24)]
    for t in threads:
        t.start()
    assert Client(server, "127.0.0.3")("GET", "/v1/modules")[0] == 200
    for t in threads:
        t.join(60)
    refused = [(json.loads(body)["error"], headers) for status, body, headers in answers if status == 429]
    assert refused, [a[0] for a in answers]
    for error, headers in refused:
        assert error["code"] == "too_many_requests" and headers["Retry-After"] == "1"
