# SPDX-License-Identifier: Apache-2.0
"""200 messages a second through a server, with names, to a receiver that is away and busy in between: none is lost.
UNHEX_SOAK=SECONDS runs it longer: 120 is what bench/README.md reports."""
import os
import threading
import time

import otlp_message
from live import wait_for
from otlp_receiver import Receiver
from test_otlp_forward import free_port, metric, serve
from test_otlp_server import TAKE, message_of, oracle, send
from tool import compile_c, symbol

SECONDS = int(os.environ.get("UNHEX_SOAK", "3"))
RATE, SENDERS = 200, 4


def test_a_soak_of_messages_loses_none(tmp_path):
    program, port = compile_c(tmp_path), free_port()
    server = serve(tmp_path, f"http://127.0.0.1:{port}")
    assert server.unhex("push", program).returncode == 0
    start, size = symbol(program, "outer")
    pcs = list(range(start, start + size))
    begin, statuses, late = time.monotonic(), [], []

    def sender(which):
        for i in range(which, RATE * SECONDS, SENDERS):
            time.sleep(max(0, begin + i / RATE - time.monotonic()))
            b = message_of(program, pcs)
            b.request.resource_profiles[0].schema_url = f"{which} {i}"
            at = time.monotonic()
            statuses.append(send(server, TAKE, b.data())[0])
            late.append(time.monotonic() - at)

    threads = [threading.Thread(target=sender, args=(which,)) for which in range(SENDERS)]
    for thread in threads:
        thread.start()
    time.sleep(SECONDS / 3)  # the receiver is away at first
    with Receiver([(503, {"Retry-After": "1"}), (429, {})], port=port) as receiver:
        for thread in threads:
            thread.join()
        took = time.monotonic() - begin
        assert statuses == [200] * (RATE * SECONDS)
        wait_for(lambda: metric(server, "unhex_otlp_queue_messages") == 0, seconds=300)
        names = [otlp_message.Request.FromString(one).resource_profiles[0].schema_url.split() for one in receiver.taken]
        assert sorted(int(i) for _, i in names) == list(range(RATE * SECONDS))
        for which in range(SENDERS):  # each waits for its answers, so its order is known
            of_one = [int(i) for sender, i in names if int(sender) == which]
            assert of_one == sorted(of_one)
        for one in receiver.taken[::97]:
            got = otlp_message.Request.FromString(one)
            assert otlp_message.frames(got, 2) == oracle(program, pcs[0])
    late.sort()
    print(f"{len(statuses)} messages in {took:.1f} s, answers: median {late[len(late) // 2] * 1000:.1f} ms, "
          f"99 % {late[len(late) * 99 // 100] * 1000:.1f} ms, longest {late[-1] * 1000:.0f} ms")
    assert server.stop() == 0
