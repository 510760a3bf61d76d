# SPDX-License-Identifier: Apache-2.0
"""A thread that never comes back: probes and the service manager notice, and a signal ends the process all the same."""
import contextlib
import http.client
import re
import resource
import signal
import socket
import subprocess
import threading
import time

import pytest

from unhex_server import Server
from http_api import Api
from tool import UNHEX
from waiting import wait_for

# A JSON document with this text never ends to be read, and while a file exists no folder is listed to its end.
PRELOAD = r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *json_loadb(const char *text, size_t size, size_t flags, void *error)
{
	void *(*next)(const char *, size_t, size_t, void *) = dlsym(RTLD_NEXT, "json_loadb");
	while (memmem(text, size, "stuck here", 10))
		pause();
	return next(text, size, flags, error);
}

DIR *fdopendir(int fd)
{
	DIR *(*next)(int) = dlsym(RTLD_NEXT, "fdopendir");
	while (getenv("STUCK_FILE") && access(getenv("STUCK_FILE"), F_OK) == 0)
		pause();
	return next(fd);
}

DIR *opendir(const char *path)
{
	DIR *(*next)(const char *) = dlsym(RTLD_NEXT, "opendir");
	while (getenv("STUCK_FILE") && access(getenv("STUCK_FILE"), F_OK) == 0)
		pause();
	return next(path);
}
"""


@pytest.fixture(scope="module")
def preload(tmp_path_factory):
    """The library that makes threads get stuck."""
    folder = tmp_path_factory.mktemp("preload")
    (folder / "stuck.c").write_text(PRELOAD)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", folder / "stuck.so", folder / "stuck.c"], check=True)
    return folder / "stuck.so"


class Manager:
    """What a service manager gets from the server, with the time of the last sign of life."""

    def __init__(self, path):
        self.path, self.last = path, None
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        with contextlib.suppress(OSError):
            while message := self.socket.recv(4096):
                if b"WATCHDOG=1" in message:
                    self.last = time.monotonic()

    def silent(self):
        """Seconds since the last sign of life."""
        return time.monotonic() - (self.last or 0)


@pytest.fixture
def manager(tmp_path):
    m = Manager(tmp_path / "notify")
    yield m
    m.socket.close()


@pytest.fixture
def server(tmp_path, preload, manager):
    """A server whose threads may be busy for three seconds."""
    (tmp_path / "conf").write_text("memory = 64M\nwatchdog = 3s\nrequest-time = 2s\nstop = 1s\nsweep-every = 1s\n")
    s = Server(tmp_path / "server", options=("--config", str(tmp_path / "conf")), environment={
        "LD_PRELOAD": str(preload), "NOTIFY_SOCKET": str(manager.path), "WATCHDOG_USEC": "2000000",
        "STUCK_FILE": str(tmp_path / "stuck")})
    yield s.start()
    if s.process and s.process.poll() is None:
        s.process.kill()
        s.process.wait()


def health(server):
    """Status and document of /healthz; 0 without an answer, as from a thread that is stuck."""
    with contextlib.closing(http.client.HTTPConnection(server.url.partition("//")[2], timeout=2)) as c:
        try:
            c.request("GET", "/healthz")
            answer = c.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""


def ends_by_itself(server, within):
    """SIGTERM, and nothing else: status, and the log."""
    begun = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    status = server.process.wait(within)
    print(f"    it ended after {time.monotonic() - begun:.1f} s")
    with open(server.log.name, encoding="utf-8") as log:
        return status, log.read()


# The one runs on a thread that works, the other on one that serves connections.
@pytest.mark.parametrize("path", ["/symbolicate/v5", "/v1/uploads"])
def test_a_stuck_request_makes_the_probe_fail_and_the_process_end(server, manager, path):
    wait_for(lambda: manager.last)
    assert health(server)[0] == 200
    with contextlib.closing(Api(server).connection) as stuck:
        stuck.request("POST", path, '{"stuck here": 1}', {"Authorization": f"Bearer {server.token}"})
        text = wait_for(lambda: (lambda status, text: text if status == 503 else None)(*health(server)), 30)
        assert '"stuck"' in text and "a request on a " in text, text
        wait_for(lambda: Api(server)("GET", "/v1/whoami")[0] == 200)  # others are served
        wait_for(lambda: manager.silent() > 4, 30)
        status, log = ends_by_itself(server, 30)
        assert status == 1
        assert re.search(r"level=error event=watchdog stuck=yes", log), log
        assert re.search(r"level=error event=stopped forced=yes", log), log


def test_periodic_work_that_is_stuck_is_noticed_and_a_signal_ends_the_process(server, manager, tmp_path):
    wait_for(lambda: manager.last)
    (tmp_path / "stuck").touch()
    wait_for(lambda: health(server)[0] == 503, 30)
    assert "the main thread" in health(server)[1]
    wait_for(lambda: manager.silent() > 4, 30)
    status, log = ends_by_itself(server, 30)
    assert status == 1 and re.search(r'level=error event=stopped forced=yes waits_for="the main thread"', log), log


def test_a_server_that_is_fine_ends_at_once(server):
    assert health(server) == (200, '{"status":"ok"}\n')
    begun = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - begun < 5


def start_with_files(tmp_path, soft, hard, *more):
    """A server under this limit of open files, and its output."""
    done = Server(tmp_path / "server", options=more,
                               before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)))
    return done


def test_a_limit_of_open_files_that_is_too_low_is_named_at_the_start(tmp_path):
    done = subprocess.run([UNHEX, "serve", "--listen", "127.0.0.1:0", "--data", tmp_path / "data"],
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode not in (0, None)
    found = re.search(r"the limit of open files is 64; the server needs (\d+)", done.stderr)
    assert found and "serving on" not in done.stdout, done
    # With as many as it names it starts, and says how many connections there are.
    enough = int(found[1])
    s = start_with_files(tmp_path, 64, enough).start()
    try:
        assert health(s)[0] == 200
        with open(s.log.name, encoding="utf-8") as log:
            text = log.read()
        assert re.search(rf"level=warning event=limit connections=16 instead_of=1024 open_files={enough} ", text), text
        with contextlib.ExitStack() as stack:  # so many, and the descriptors for what they ask
            for _ in range(14):
                c = stack.enter_context(contextlib.closing(Api(s).connection))
                c.request("GET", "/v1/modules", headers={"Authorization": f"Bearer {s.token}"})
                assert c.getresponse().read()
    finally:
        assert s.stop() == 0
