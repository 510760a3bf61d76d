# SPDX-License-Identifier: Apache-2.0
"""Profiles that a server passes on: in order, again where that helps, and none is lost."""
import random
import re
import signal
import socket
import urllib.request

import pytest

import otlp_message
from unhex_server import Server
from otlp_receiver import Receiver
from test_otlp_server import TAKE, message_of, oracle, send, status_of
from tool import compile_c, symbol
from waiting import wait_for


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compile_c(tmp_path_factory.mktemp("forward"))


def serve(tmp_path, receiver, *settings):
    options = (f"otlp-forward={receiver if isinstance(receiver, str) else receiver.url}", *settings)
    return Server(tmp_path / "server", options=tuple(x for o in options for x in ("--set", o))).start()


def message(n):
    """A message that can be told from others."""
    b = otlp_message.Builder()
    b.sample([b.named(f"message {n}")], values=[n])
    return b.data()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def metric(server, name):
    request = urllib.request.Request(server.url + "/metrics", headers={"Authorization": f"Bearer {server.token}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return int(re.search(rf"^{re.escape(name)} (\d+)$", answer.read().decode(), re.M)[1])


def files(tmp_path):
    return sorted((tmp_path / "server/otlp-queue").glob("*.pb.gz*"))


def test_messages_are_passed_on_with_names_in_order(tmp_path, program):
    with Receiver() as receiver:
        server = serve(tmp_path, receiver)
        assert server.unhex("push", program).returncode == 0
        named = message_of(program, [symbol(program, "outer")[0]])
        status, kind, answer, _ = send(server, TAKE, named.data())
        assert (status, kind, answer) == (200, "application/x-protobuf", b"")
        sent = [message(i) for i in range(50)]
        for one in sent:
            assert send(server, TAKE, one)[0] == 200
        wait_for(lambda: len(receiver.taken) == 51)
        got = otlp_message.Request.FromString(receiver.taken[0])
        assert otlp_message.frames(got, 2) == oracle(program, symbol(program, "outer")[0])
        assert receiver.taken[1:] == sent
        assert {path for _, path, _ in receiver.attempts} == {"/v1development/profiles"}
        wait_for(lambda: not files(tmp_path))
        assert metric(server, "unhex_otlp_forwarded_total") == 51
        assert metric(server, "unhex_otlp_queue_messages") == 0
        assert server.stop() == 0


def test_headers_and_a_path_of_ones_own(tmp_path):
    (tmp_path / "headers").write_text("# of the receiver\nAuthorization: Bearer secret\nX-Scope-OrgID: 7\n")
    with Receiver() as receiver:
        server = serve(tmp_path, receiver.url + "/otlp/v1", f"otlp-forward-headers={tmp_path}/headers")
        assert send(server, TAKE, message(1))[0] == 200
        wait_for(lambda: receiver.taken)
        _, path, headers = receiver.attempts[0]
        assert path == "/otlp/v1"
        assert headers["Authorization"] == "Bearer secret" and headers["X-Scope-OrgID"] == "7"
        assert headers["Content-Type"] == "application/x-protobuf" and headers["Content-Encoding"] == "gzip"
        assert server.stop() == 0
    assert "secret" not in (tmp_path / "server.log").read_text()


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_is_refused_for_now_is_sent_again_after_retry_after(tmp_path, status):
    with Receiver([(status, {"Retry-After": "2"}), (status, {})]) as receiver:
        server = serve(tmp_path, receiver)
        for i in range(2):
            assert send(server, TAKE, message(i))[0] == 200
        wait_for(lambda: len(receiver.taken) == 2)
        assert receiver.taken == [message(0), message(1)]
        times = [at for at, _, _ in receiver.attempts]
        assert times[1] - times[0] >= 1.99 and times[2] - times[1] >= 0.99  # the server rounds to milliseconds
        assert metric(server, "unhex_otlp_forward_retries_total") == 2
        assert server.stop() == 0


def test_what_is_refused_for_good_holds_up_nothing(tmp_path):
    with Receiver([(400, {}), (413, {})]) as receiver:
        server = serve(tmp_path, receiver)
        for i in range(3):
            assert send(server, TAKE, message(i))[0] == 200
        wait_for(lambda: receiver.taken)
        assert receiver.taken == [message(2)]
        assert metric(server, "unhex_otlp_forward_refused_total") == 2
        assert server.stop() == 0
    assert (tmp_path / "server.log").read_text().count("event=forward_refused") == 2


def test_a_receiver_that_knows_no_such_key_loses_nothing(tmp_path):
    with Receiver([(401, {"Retry-After": "1"}), (403, {"Retry-After": "1"}), (404, {"Retry-After": "1"})]) as receiver:
        server = serve(tmp_path, receiver)
        assert send(server, TAKE, message(1))[0] == 200
        wait_for(lambda: receiver.taken)
        assert len(receiver.attempts) == 4
        assert server.stop() == 0


def test_rejected_profiles_are_counted(tmp_path):
    with Receiver() as receiver:
        receiver.answer = b"\x0a\x02\x08\x03"
        server = serve(tmp_path, receiver)
        assert send(server, TAKE, message(1))[0] == 200
        wait_for(lambda: metric(server, "unhex_otlp_forward_rejected_profiles_total") == 3)
        assert server.stop() == 0


def test_a_receiver_may_be_away_for_a_while(tmp_path):
    port = free_port()
    server = serve(tmp_path, f"http://127.0.0.1:{port}")
    for i in range(20):
        assert send(server, TAKE, message(i))[0] == 200
    assert metric(server, "unhex_otlp_queue_messages") == 20
    with Receiver(port=port) as receiver:
        wait_for(lambda: len(receiver.taken) == 20)
        assert receiver.taken == [message(i) for i in range(20)]
    assert server.stop() == 0


def test_nothing_is_lost_when_the_server_is_killed(tmp_path):
    port = free_port()
    server = serve(tmp_path, f"http://127.0.0.1:{port}")
    for i in range(10):
        assert send(server, TAKE, message(i))[0] == 200
    server.stop(signal.SIGKILL)
    # What a killed process was writing, and what somebody else has put there.
    (tmp_path / "server/otlp-queue/0000000000000099-0000000000000000.pb.gz.tmp-abcdef").write_bytes(b"half")
    (tmp_path / "server/otlp-queue/README").write_text("mine")
    server = serve(tmp_path, f"http://127.0.0.1:{port}")
    for i in range(10, 15):
        assert send(server, TAKE, message(i))[0] == 200
    with Receiver(port=port) as receiver:
        wait_for(lambda: len(receiver.taken) == 15)
        assert receiver.taken == [message(i) for i in range(15)]
        wait_for(lambda: not files(tmp_path))
    assert (tmp_path / "server/otlp-queue/README").exists()
    assert server.stop() == 0


def test_a_kill_in_the_middle_of_sending_loses_nothing(tmp_path):
    with Receiver() as receiver:
        for part in range(4):
            server = serve(tmp_path, receiver)
            for i in range(part * 25, part * 25 + 25):
                assert send(server, TAKE, message(i))[0] == 200
            server.stop(signal.SIGKILL)
        server = serve(tmp_path, receiver)
        wait_for(lambda: not files(tmp_path))
        firsts = list(dict.fromkeys(receiver.taken))
        assert firsts == [message(i) for i in range(100)]
        assert len(receiver.taken) <= 104  # the one under way at each kill may come twice
        assert server.stop() == 0


def test_a_full_queue_asks_senders_to_come_again(tmp_path):
    server = serve(tmp_path, f"http://127.0.0.1:{free_port()}", "otlp-queue-bytes=1M")
    noise = random.Random(1)
    big = [otlp_message.Request(resource_profiles=[{"schema_url": noise.randbytes(150000).hex()}]).SerializeToString()
           for _ in range(10)]
    got = [send(server, TAKE, one) for one in big]
    statuses = [status for status, _, _, _ in got]
    taken = statuses.count(200)
    assert 3 <= taken <= 8 and statuses == [200] * taken + [429] * (len(big) - taken)
    assert got[-1][3]["Retry-After"] == "5" and status_of(got[-1][2])[0] == 8
    assert sum(p.stat().st_size for p in files(tmp_path)) <= 1 << 20
    assert metric(server, "unhex_otlp_queue_messages") == taken
    assert server.stop() == 0


def test_two_servers_do_not_share_a_queue(tmp_path):
    server = serve(tmp_path, "http://127.0.0.1:1")
    other = Server(tmp_path / "other", options=("--set", "otlp-forward=http://127.0.0.1:1", "--set",
                                                f"otlp-queue={tmp_path}/server/otlp-queue"))
    with pytest.raises((RuntimeError, OSError)):  # it may have ended while its key is looked for
        other.start()
    assert other.process.wait(60) != 0
    assert "in use by another process" in (tmp_path / "other.log").read_text()
    assert server.stop() == 0


def test_strangers_pass_nothing_on(tmp_path):
    with Receiver() as receiver:
        server = serve(tmp_path, receiver, "reading=open")
        status, _, answer, headers = send(server, TAKE, message(1))
        assert status == 401 and status_of(answer)[0] == 16 and headers["WWW-Authenticate"] == "Bearer"
        assert send(server, "/v1/symbolize/otlp", message(1))[0] == 200
        assert send(server, TAKE, message(2), server.token)[0] == 200
        wait_for(lambda: receiver.taken)
        assert receiver.taken == [message(2)]
        assert server.stop() == 0


@pytest.mark.parametrize("setting", ["otlp-forward=nonsense", "otlp-forward=http://x/?q", "otlp-forward-headers=/nowhere"])
def test_what_cannot_be_a_receiver_is_said_at_the_start(tmp_path, setting):
    options = ("--set", "otlp-forward=http://127.0.0.1:1", "--set", setting)
    server = Server(tmp_path / "server", options=options)
    with pytest.raises(RuntimeError):
        server.start()
    assert server.process.wait(60) != 0
    assert not (tmp_path / "server").exists()
