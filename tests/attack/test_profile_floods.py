# SPDX-License-Identifier: Apache-2.0
"""Small OpenTelemetry messages that ask for much: thousands of resources, each of which becomes a kept profile."""
import functools
import gzip
import http.client
import subprocess
import threading
import time
import urllib.parse

import pytest

import otlp_message
from http_api import Api
from test_fairness import LEFT_SECONDS_MAX, SIMPLE_SECONDS_MAX, running
from tool import UNHEX
from waiting import pause_for, wait_for

TAKE = "/v1development/profiles"
RESOURCES_MAX = 4096  # UX_OTLP_RESOURCES_MAX
THREAD_SECONDS_MAX = 4.0  # of one message with so many
SENT = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}


@functools.lru_cache
def message(resources, name="work", change=0):
    """As many services, each with one sample of the same stack."""
    b = otlp_message.Builder()
    b.sample([b.named(name)], [1 + change])
    first = b.request.resource_profiles[0]
    first.resource.attributes.add(key="service.name").value.string_value = "s0"
    for i in range(1, resources):
        one = b.request.resource_profiles.add()
        one.CopyFrom(first)
        one.resource.attributes[0].value.string_value = f"s{i}"
    return gzip.compress(b.data(), mtime=0)


@pytest.fixture
def settings():
    return "keep-profiles = 7d\n"


def new_key(server, namespace):
    """A token that sends profiles to a namespace of its own."""
    made = subprocess.run([UNHEX, "key", "create", "--data", server.data, "--namespace", namespace,
                           "--scopes", "read,symbolize"], check=True, capture_output=True, text=True)
    return made.stdout.strip()


def connect(server):
    url = urllib.parse.urlsplit(server.url)
    return http.client.HTTPConnection(url.hostname, url.port, timeout=120)


def send(connection, token, body):
    connection.request("POST", TAKE, body, {**SENT, "Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    return answer.status, answer.read()


def blobs(server):
    return [f for f in (server.data / "blobs").rglob("*") if f.is_file()]


def usage(server, token=None):
    """Kept profiles of at most a thousand services."""
    _, doc, _ = Api(server, token)("GET", "/v1/profiles/services?limit=1000")
    return sum(s["profiles"] for s in doc["services"])


def test_a_message_with_thousands_of_resources_is_one_blob(server, watched):
    body = message(RESOURCES_MAX)
    with watched.request(f"{len(body)} bytes with {RESOURCES_MAX} resources", cpu_most=THREAD_SECONDS_MAX):
        status, text = send(connect(server), server.token, body)
    assert status == 200, text
    assert len(blobs(server)) == 1
    _, doc, _ = Api(server)("GET", f"/v1/profiles?limit=1000&service=s{RESOURCES_MAX - 1}")
    assert len(doc["profiles"]) == 1
    _, _, text = fetch(server, f"/v1/profiles/merged?format=folded&id={doc['profiles'][0]['id']}")
    assert text == b"work 1\n"


def fetch(server, path, token=None):
    connection = connect(server)
    connection.request("GET", path, headers={"Authorization": f"Bearer {token or server.token}"})
    answer = connection.getresponse()
    return answer.status, answer.headers, answer.read()


def test_more_resources_are_refused_and_nothing_is_kept(server):
    status, text = send(connect(server), server.token, message(RESOURCES_MAX + 1))
    assert status == 400 and b"more than 4096 resources" in text, (status, text)
    status, doc, _ = Api(server)("POST", "/v1/profiles", message(RESOURCES_MAX + 1))
    assert status == 413 and "more than 4096 resources" in doc["error"]["message"], doc
    assert usage(server) == 0 and not blobs(server)


def test_a_long_name_is_not_copied_into_thousands_of_profiles(server, watched):
    body = message(RESOURCES_MAX, "x" * (1 << 20))
    with watched.request(f"{len(body)} bytes with a name of 1 MiB in each resource"):
        status, text = send(connect(server), server.token, body)
    assert status == 400 and b"too much work" in text, (status, text)
    assert usage(server) == 0 and not blobs(server)


def test_a_client_that_leaves_frees_its_thread_and_nothing_is_half_kept(server):
    connection = connect(server)
    connection.request("POST", TAKE, message(RESOURCES_MAX), {**SENT, "Authorization": f"Bearer {server.token}"})
    wait_for(lambda: running(server)["unhex_work_running"] > 0 or usage(server) > 0, 20)
    connection.close()
    before = time.monotonic()
    wait_for(lambda: sum(running(server).values()) == 0, 60)
    took = time.monotonic() - before
    assert took <= LEFT_SECONDS_MAX, took
    assert (usage(server), len(blobs(server))) in ((0, 0), (1000, 1))


@pytest.mark.parametrize("settings", ["keep-profiles = 2s\n"])
def test_old_profiles_go_as_fast_as_they_come(server):
    """Five messages bring 20,480; a thousand in five seconds would take 100 s."""
    for i in range(5):
        assert send(connect(server), server.token, message(RESOURCES_MAX, change=i))[0] == 200
    wait_for(lambda: b"\nunhex_profiles 0\n" in fetch(server, "/metrics")[2], 60)
    wait_for(lambda: not blobs(server), 60)


class Flood:
    """Four keys of a namespace, each with connections that send such messages."""

    def __init__(self, server, namespace, connections):
        self.server, self.over, self.statuses = server, threading.Event(), []
        keys = [new_key(server, namespace) for _ in range(4)]
        self.threads = [threading.Thread(target=self.run, args=(keys[i % 4],), daemon=True) for i in range(connections)]

    def run(self, key):
        connection, body = connect(self.server), message(RESOURCES_MAX)
        while not self.over.is_set():
            self.statuses.append(send(connection, key, body)[0])

    def __enter__(self):
        for t in self.threads:
            t.start()
        wait_for(lambda: running(self.server)["unhex_work_waiting"] > 0, 60)
        return self

    def __exit__(self, *_):
        self.over.set()
        for t in self.threads:
            t.join(120)


def median(took):
    return sorted(took)[len(took) // 2]


def test_four_keys_of_one_namespace_do_not_hold_up_another(server):
    quiet = new_key(server, "quiet")
    took = {"/healthz": [], "/v1/modules": [], "/v1/symbolize/gnu:" + "77" * 20 + "?addr=0x1": []}
    with Flood(server, "busy", 16) as flood:
        for _ in range(12):
            for path, times in took.items():
                before = time.monotonic()
                status, _, _ = fetch(server, path, quiet)
                times.append(time.monotonic() - before)
                assert status in (200, 404), (path, status)
            pause_for(0.05, "another client now and then")
    for path, times in took.items():
        print(f"{path}: p50 {median(times) * 1000:.0f} ms, max {max(times) * 1000:.0f} ms")
    print(f"{len(flood.statuses)} messages of the others: {set(flood.statuses)}")
    assert set(flood.statuses) <= {200, 429, 503}
    assert all(median(times) <= SIMPLE_SECONDS_MAX for times in took.values()), took


@pytest.mark.parametrize("settings", ["keep-profiles = 7d\nprofile-count = 100\n"])
def test_a_namespace_has_a_limited_number_of_profiles(server):
    other = new_key(server, "other")
    for i in range(5):
        assert send(connect(server), server.token, message(60, change=i))[0] == 200
    assert send(connect(server), other, message(60))[0] == 200
    assert (usage(server), usage(server, other)) == (100, 60)
    _, doc, _ = Api(server)("GET", "/v1/profiles?limit=1000")
    assert sorted(p["samples"] for p in doc["profiles"]) == [4] * 40 + [5] * 60  # the newest ones
    status, text = send(connect(server), server.token, message(101))
    assert status == 400 and b"profile-count" in text, (status, text)
