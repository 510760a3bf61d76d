# SPDX-License-Identifier: Apache-2.0
"""Nine hundred connections with requests whose answers are never read do not silence probes."""
import contextlib
import resource
import time

import pytest

from test_slow_bodies import connect
from waiting import pause_for
from watched_server import HEALTH_SECONDS_MAX

CONNECTIONS = 900
PIPELINE = 4000  # requests on each


@pytest.fixture(autouse=True)
def descriptors():
    """As many as the connections need."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, before[1]), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("path", ["/metrics", "/healthz"])
def test_pipelines_that_are_not_read_do_not_silence_probes(server, watched, path):
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n\r\n".encode() * PIPELINE
    watched.begun = time.monotonic()
    with contextlib.ExitStack() as stack:
        for _ in range(CONNECTIONS):
            s = stack.enter_context(connect(server, receive=4096))
            s.setblocking(False)
            with contextlib.suppress(OSError):
                s.send(request)
        pause_for(5, "the server works on what was sent")
        watched.probing.settle()
    took = sorted(watched.probing.since(watched.begun, "requests"))
    print(f"    where requests are answered: {len(took)} probes, half within {took[len(took) // 2] * 1000:.0f} ms, "
          f"the slowest {took[-1] * 1000:.0f} ms")
    assert watched.probing.delays(watched.begun, "requests")[0] < HEALTH_SECONDS_MAX  # 13 s when threads accepted one a turn
    watched.check_probes(path)
