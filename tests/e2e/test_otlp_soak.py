# SPDX-License-Identifier: Apache-2.0
"""200 messages a second through a server and through a sidecar, with names, to a receiver that is away and busy in
between: none is lost, and the rate is held. UNHEX_SOAK=SECONDS runs it longer: 120 is the run in bench/journal/otlp.md."""
import http.client
import os
import threading
import time
import urllib.parse

import pytest

import otlp_message
from interpreters import cpu_time
from otlp_receiver import Receiver
from test_otlp_forward import free_port, serve
from test_otlp_server import TAKE, message_of, oracle
from test_otlp_sidecar import Sidecar
from tool import compile_c, symbol
from waiting import pause_for, wait_for

SECONDS = int(os.environ.get("UNHEX_SOAK", "20"))
RATE, SENDERS = 200, 4
TOTAL = RATE * SECONDS
NUMBER = b"message 00000000"


class Sender(threading.Thread):
    """Sends every SENDERS-th message over one connection, at its time or as soon after it as the answers allow.
    Messages are bytes that were made before: making one in Python takes longer than naming it."""

    def __init__(self, url, body, which, begin):
        super().__init__()
        self.url, self.body, self.which, self.begin = urllib.parse.urlsplit(url), body, which, begin
        self.statuses, self.took, self.end = [], [], 0

    def run(self):
        connection = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=120)
        for i in range(self.which, TOTAL, SENDERS):
            pause_for(self.begin + i / RATE - time.monotonic(), "the rate of senders")
            at = time.monotonic()
            connection.request("POST", TAKE, self.body.replace(NUMBER, b"message %08d" % i),
                               {"Content-Type": "application/x-protobuf"})
            answer = connection.getresponse()
            answer.read()
            self.statuses.append(answer.status)
            self.end = time.monotonic()
            self.took.append(self.end - at)
        connection.close()


def start_server(tmp_path, program, url):
    server = serve(tmp_path, url)
    assert server.unhex("push", program).returncode == 0
    return server, lambda: server.stop() == 0


def start_sidecar(tmp_path, program, url):
    sidecar = Sidecar(tmp_path / "queue", url)
    return sidecar, lambda: sidecar.stop()[0] == 0


@pytest.mark.parametrize("start", [start_server, start_sidecar], ids=["server", "sidecar"])
def test_a_soak_of_messages_loses_none(tmp_path, start):
    program, port = compile_c(tmp_path), free_port()
    target, stop = start(tmp_path, program, f"http://127.0.0.1:{port}")
    first, size = symbol(program, "outer")
    message = message_of(program, range(first, first + size))
    text = message.tables.string_table
    text[list(text).index(program.name)] = str(program)
    message.request.resource_profiles[0].schema_url = NUMBER.decode()
    body = message.data()
    assert body.count(NUMBER) == 1
    begin, before = time.monotonic(), cpu_time(target.process.pid)
    senders = [Sender(target.url, body, which, begin) for which in range(SENDERS)]
    for sender in senders:
        sender.start()
    pause_for(SECONDS / 3, "the receiver is away at first")
    with Receiver([(503, {"Retry-After": "1"}), (429, {})], port=port) as receiver:
        for sender in senders:
            sender.join()
        wait_for(lambda: len(receiver.taken) >= TOTAL, seconds=600)
        forwarded = time.monotonic() - begin
        cpu = (cpu_time(target.process.pid) - before) / TOTAL
        assert [status for sender in senders for status in sender.statuses] == [200] * TOTAL
        names = [otlp_message.Request.FromString(one).resource_profiles[0].schema_url for one in receiver.taken]
        numbers = [int(name.split()[1]) for name in names]
        assert sorted(numbers) == list(range(TOTAL))
        for which in range(SENDERS):  # each waits for its answers, so its order is known
            of_one = [i for i in numbers if i % SENDERS == which]
            assert of_one == sorted(of_one)
        for one in receiver.taken[::97]:
            got = otlp_message.Request.FromString(one)
            assert otlp_message.frames(got, 2) == oracle(program, first)
    took = sorted(one for sender in senders for one in sender.took)
    last = max(sender.end for sender in senders) - begin
    print(f"{TOTAL} messages of {len(body)} bytes sent in {last:.1f} s, passed on in {forwarded:.1f} s, "
          f"{cpu * 1000:.2f} ms of the processor for each; answers: median {took[TOTAL // 2] * 1000:.1f} ms, "
          f"99 % {took[TOTAL * 99 // 100] * 1000:.1f} ms, longest {took[-1] * 1000:.0f} ms")
    assert cpu < 1 / RATE  # one processor is enough for the rate, whatever else runs on this machine
    assert stop()
