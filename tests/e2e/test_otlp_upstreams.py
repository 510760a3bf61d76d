# SPDX-License-Identifier: Apache-2.0
"""Modules that are not there when a message of OTLP comes: it passes without their names, an upstream is queried, and
the next message has them."""
import threading

import pytest

import otlp_message
from unhex_server import Server
from http_api import Api
from otlp_receiver import Receiver
from test_otlp_forward import metric
from test_otlp_server import TAKE, message_of, oracle, send
from test_otlp_sidecar import Sidecar
from test_upstreams import own
from tool import build_id, compile_c, symbol
from upstream_stub import Stub, forward
from waiting import wait_for


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compile_c(tmp_path_factory.mktemp("otlp_upstreams"))


@pytest.fixture(scope="module")
def central(tmp_path_factory, program):
    """The server that has the program."""
    server = Server(tmp_path_factory.mktemp("central") / "server").start()
    assert server.unhex("push", program).returncode == 0
    yield server
    assert server.stop() == 0


class Gate:
    """An upstream that holds all answers back until it is opened."""

    def __init__(self, behind):
        self.open, self.answer = threading.Event(), forward(behind)

    def __call__(self, handler, stub):
        assert self.open.wait(120)
        self.answer(handler, stub)


@pytest.fixture
def gate(central):
    return Gate(central)


@pytest.fixture
def stub(gate):
    with Stub() as one:
        one.otherwise = gate
        yield one
        gate.open.set()


def frames_of(receiver, number):
    """Of the location that the program's address is, once the message with that number has come."""
    wait_for(lambda: len(receiver.taken) > number)
    return otlp_message.frames(otlp_message.Request.FromString(receiver.taken[number]), 2)


def is_fetched(server, program):
    status, doc, _ = Api(server)("GET", f"/v1/modules/{build_id(program)}")
    return status == 200 and doc["candidates"] != []


def start(tmp_path, stub, *settings):
    options = ("--upstream", own(stub.url, "central"), *(x for one in settings for x in ("--set", one)))
    return Server(tmp_path / "server", options=options).start()


def test_the_message_after_the_upstreams_answer_has_names_at_a_server(tmp_path, program, stub, gate):
    pc = symbol(program, "outer")[0]
    data = message_of(program, [pc]).data()
    with Receiver() as receiver:
        server = start(tmp_path, stub, f"otlp-forward={receiver.url}")
        assert send(server, TAKE, data)[0] == 200
        assert frames_of(receiver, 0) == []
        assert receiver.taken[0] == data
        wait_for(lambda: stub.requested)  # by itself: nothing else has named the module
        assert metric(server, 'unhex_otlp_locations_total{result="pending"}') == 1
        gate.open.set()
        wait_for(lambda: is_fetched(server, program))
        assert send(server, TAKE, data)[0] == 200
        assert frames_of(receiver, 1) == oracle(program, pc)
        assert metric(server, 'unhex_otlp_locations_total{result="named"}') == 1
        assert server.stop() == 0


def test_the_message_after_the_upstreams_answer_has_names_beside_an_agent(tmp_path, program, stub, gate):
    pc = symbol(program, "outer")[0]
    data = message_of(program, [pc]).data()
    server = start(tmp_path, stub)
    with Receiver() as receiver:
        sidecar = Sidecar(tmp_path / "queue", receiver.url, "--no-local", "--url", server.url)
        assert sidecar.send(data)[0] == 200
        assert frames_of(receiver, 0) == []
        wait_for(lambda: stub.requested)  # by the server, while the sidecar waits for nothing
        gate.open.set()
        wait_for(lambda: is_fetched(server, program))
        assert sidecar.send(data)[0] == 200
        assert frames_of(receiver, 1) == oracle(program, pc)
        assert sidecar.stop()[0] == 0
    assert server.stop() == 0
