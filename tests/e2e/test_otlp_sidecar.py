# SPDX-License-Identifier: Apache-2.0
"""unhex symbolize --otlp-listen: the same as the server does, with the files of this machine."""
import http.client
import re
import signal
import subprocess
import urllib.parse

import pytest

import otlp_message
from otlp_receiver import Receiver
from test_otlp_forward import free_port, message
from test_otlp_server import field, message_of, oracle
from tool import UNHEX, compile_c, fails, symbol, unhex
from waiting import wait_for

PATH = "/v1development/profiles"


class Sidecar:
    def __init__(self, queue, forward, *options):
        self.process = subprocess.Popen(
            [UNHEX, "symbolize", "--otlp-listen", "127.0.0.1:0", "--otlp-forward", forward, "--otlp-queue", queue,
             *map(str, options)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"})
        line = self.process.stdout.readline()
        self.url = re.fullmatch(r"unhex: taking profiles on (http://\S+)\n", line)[1]

    def send(self, body, path=PATH, method="POST", **headers):
        url = urllib.parse.urlsplit(self.url)
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
        connection.request(method, path, body, {"Content-Type": "application/x-protobuf", **headers})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        _, text = self.process.communicate(timeout=60)
        return self.process.returncode, text


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compile_c(tmp_path_factory.mktemp("sidecar"))


def test_names_from_the_files_of_this_machine_are_passed_on(tmp_path, program):
    pc = symbol(program, "outer")[0]
    with Receiver() as receiver:
        sidecar = Sidecar(tmp_path / "queue", receiver.url)
        b = message_of(program, [pc])
        text = b.tables.string_table
        text[list(text).index(program.name)] = str(program)
        assert sidecar.send(b.data()) == (200, b"")
        wait_for(lambda: receiver.taken)
        got = otlp_message.Request.FromString(receiver.taken[0])
        assert otlp_message.frames(got, 1) == [("already named", "", 7)]
        assert otlp_message.frames(got, 2) == oracle(program, pc)
        assert got.resource_profiles == b.request.resource_profiles
        assert sidecar.send(None, "/healthz", "GET")[0] == 200
        metrics = sidecar.send(None, "/metrics", "GET")[1].decode()
        assert "unhex_otlp_messages_total 1\n" in metrics and "unhex_otlp_forwarded_total 1\n" in metrics
        assert sidecar.stop() == (0, "")


def test_names_from_a_server_are_passed_on(tmp_path, program, server):
    assert server.unhex("push", program).returncode == 0
    pc = symbol(program, "outer")[0]
    with Receiver() as receiver:
        sidecar = Sidecar(tmp_path / "queue", receiver.url, "--no-local", "--url", server.url)
        assert sidecar.send(message_of(program, [pc]).data())[0] == 200
        wait_for(lambda: receiver.taken)
        assert otlp_message.frames(otlp_message.Request.FromString(receiver.taken[0]), 2) == oracle(program, pc)
        assert sidecar.stop()[0] == 0


def test_a_server_that_is_away_holds_up_nothing(tmp_path, program):
    with Receiver() as receiver:
        sidecar = Sidecar(tmp_path / "queue", receiver.url, "--no-local", "--url", f"http://127.0.0.1:{free_port()}")
        data = message_of(program, [0x1000]).data()
        assert sidecar.send(data)[0] == 200
        wait_for(lambda: receiver.taken)
        assert receiver.taken == [data]
        assert sidecar.stop()[0] == 0


def test_nothing_is_lost_when_it_is_killed(tmp_path):
    port = free_port()
    sidecar = Sidecar(tmp_path / "queue", f"http://127.0.0.1:{port}")
    for i in range(5):
        assert sidecar.send(message(i))[0] == 200
    sidecar.stop(signal.SIGKILL)
    sidecar = Sidecar(tmp_path / "queue", f"http://127.0.0.1:{port}")
    assert sidecar.send(message(5))[0] == 200
    with Receiver(port=port) as receiver:
        wait_for(lambda: len(receiver.taken) == 6)
        assert receiver.taken == [message(i) for i in range(6)]
    assert sidecar.stop()[0] == 0


def test_bad_messages_are_refused(tmp_path):
    sidecar = Sidecar(tmp_path / "queue", "http://127.0.0.1:1", "--otlp-queue-bytes", "4K")
    assert sidecar.send(field(2, field(1, b"") + field(2, b"\x08\x05")))[0] == 400
    assert sidecar.send(b"", **{"Content-Encoding": "br"})[0] == 415
    assert sidecar.send(b"", "/v1/traces")[0] == 404
    assert sidecar.send(message(1))[0] == 200
    assert sidecar.send(message(2))[0] == 429
    assert sidecar.stop()[0] == 0


@pytest.mark.parametrize("options", [
    ["--otlp-listen", "127.0.0.1:0"], ["--otlp-listen", "127.0.0.1:0", "--otlp-forward", "http://x"],
    ["--otlp-listen", "127.0.0.1:0", "--otlp-queue", "x"]])
def test_what_is_missing_is_said(options):
    fails(unhex("symbolize", *options), 2, "--otlp-forward", "--otlp-queue")


def test_other_machines_may_send_only_if_they_are_let(tmp_path):
    forward = ["--otlp-forward", "http://127.0.0.1:9", "--otlp-queue", tmp_path / "queue"]
    for address in ("0.0.0.0:0", "[::]:0", ":0"):
        fails(unhex("symbolize", "--otlp-listen", address, *forward), 1, address, "no keys", "--otlp-open")
    process = subprocess.Popen([UNHEX, "symbolize", "--otlp-listen", "0.0.0.0:0", "--otlp-open", *map(str, forward)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline().startswith("unhex: taking profiles on http://0.0.0.0:")
    process.send_signal(signal.SIGTERM)
    _, text = process.communicate(timeout=60)
    assert process.returncode == 0 and "warning: --otlp-open: everyone who reaches 0.0.0.0:0 forwards profiles" in text


def test_no_page_in_a_browser_may_send(tmp_path):
    with Receiver() as receiver:
        sidecar = Sidecar(tmp_path / "queue", receiver.url)
        for page in ({"Origin": "https://evil.example"}, {"Origin": sidecar.url}, {"Sec-Fetch-Site": "cross-site"}):
            status, text = sidecar.send(message(1), **page)
            assert status == 403 and b"no page in a browser" in text
        assert sidecar.send(message(2))[0] == 200
        wait_for(lambda: receiver.taken)
        assert receiver.taken == [message(2)]
        assert sidecar.stop()[0] == 0
