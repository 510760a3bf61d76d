# SPDX-License-Identifier: Apache-2.0
"""nginx and HAProxy in front, configured as docs/operation.md says: everything works, and nothing is smuggled."""
import contextlib
import json
import re
import socket
import ssl
import subprocess
import time

import pytest

from unhex_server import Server
from hostile_gsym import KINDS
from http_api import Api
from test_ambiguous_requests import AMBIGUOUS, ONLY_LAST
from tool import ROOT, compile_c, unhex
from waiting import wait_for

PROGRAMS = {"nginx": "/usr/sbin/nginx", "haproxy": "/usr/sbin/haproxy"}  # not in everybody's PATH
# How long the names are that they give to requests; those of the server itself have 16 characters.
NAME = {"nginx": r"[0-9a-f]{32}", "haproxy": r"[0-9a-f-]{36}"}


def free_port():
    """A port that is free now."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def documented(language):
    """The configuration in the documentation."""
    text = (ROOT / "docs/operation.md").read_text()
    return re.search(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)[1]


def certificate(folder):
    """A certificate that signs itself, its key, and a file with both."""
    key, cert, both = folder / "unhex.key", folder / "unhex.crt", folder / "unhex.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", key, "-out", cert, "-days", "30", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost", "-addext", "keyUsage=critical,digitalSignature,keyCertSign"],
                   check=True, capture_output=True)
    both.write_text(cert.read_text() + key.read_text())
    return cert


class Front:
    """A proxy in front of a server."""

    def __init__(self, kind, folder, server):
        self.kind, self.server, self.port = kind, server, free_port()
        self.cert = certificate(folder)
        conf = documented(kind).replace("127.0.0.1:8420", server.url.partition("//")[2])
        conf = conf.replace("/etc/ssl", str(folder))
        if kind == "nginx":
            conf = conf.replace("listen 443", f"listen 127.0.0.1:{self.port}")
            paths = "".join(f"{name}_temp_path {folder}/{name};\n"
                            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
            conf = (f"daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log; user root;\n"
                    f"events {{}}\nhttp {{\naccess_log off;\n{paths}{conf}}}\n")
            command = [PROGRAMS[kind], "-e", folder / "error.log", "-p", folder, "-c", folder / "conf"]
        else:
            conf = conf.replace("bind :443", f"bind 127.0.0.1:{self.port}")
            command = [PROGRAMS[kind], "-db", "-f", folder / "conf"]
        (folder / "conf").write_text(conf)
        self.log = open(folder / "proxy.log", "wb")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        wait_for(self.answers)

    def connect(self):
        """A TLS connection to it."""
        context = ssl.create_default_context(cafile=self.cert)
        return context.wrap_socket(socket.create_connection(("127.0.0.1", self.port), timeout=3),
                                   server_hostname="localhost")

    def answers(self):
        assert self.process.poll() is None, open(self.log.name, encoding="utf-8").read()
        with contextlib.suppress(OSError), self.connect() as s:
            s.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return b" 200 " in s.recv(4096)
        return False

    def exchange(self, data):
        """What comes back for these bytes until nothing more does."""
        got = b""
        with contextlib.suppress(OSError), self.connect() as s:
            s.settimeout(0.4)
            s.sendall(data)
            while chunk := s.recv(65536):
                got += chunk
        return got

    def close(self):
        self.process.terminate()
        self.process.wait(30)
        self.log.close()


@pytest.fixture(scope="module", params=list(PROGRAMS))
def front(request, tmp_path_factory):
    """One of them, in front of a server."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "serve.conf").write_text("memory = 64M\ntrusted-proxies = 127.0.0.1\n")
    server = Server(folder / "server", options=("--config", str(folder / "serve.conf"))).start()
    f = Front(request.param, folder, server)
    yield f
    f.close()
    assert server.stop() == 0


def requests_logged(front):
    """(name, path) of all requests that reached the server."""
    with open(front.server.log.name, encoding="utf-8") as log:
        return re.findall(r'event=request request=(\S+) method=\S+ path="([^"]*)"', log.read())


def test_nothing_reaches_the_server_that_the_proxy_has_not_sent(front):
    """Each request that the proxy passes on has a name of the proxy; one that was smuggled has none."""
    hidden = b"GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"
    auth = f"Authorization: Bearer {front.server.token}\r\n".encode()
    for what, data in {**AMBIGUOUS, **ONLY_LAST}.items():
        for sent in (data + hidden, data.replace(b"Host:", auth + b"Host:", 1) + hidden):
            got = front.exchange(sent)
            assert got.count(b"HTTP/1.1 200 ") + got.count(b"HTTP/1.1 401 ") <= 2, what
    # Bodies that are requests themselves, and shorter or longer than announced.
    for size in (0, 1, len(hidden) - 1, len(hidden), len(hidden) + 40):
        for head in (f"Content-Length: {size}", f"Content-Length: {size}\r\nTransfer-Encoding: chunked",
                     f"Transfer-Encoding: chunked\r\nContent-Length: {size}", f"Content-Length: 0{size}"):
            front.exchange(f"POST /v1/query HTTP/1.1\r\nHost: localhost\r\n{head}\r\n\r\n".encode() + hidden * 2)
    front.exchange(b"GET /last HTTP/1.1\r\nHost: localhost\r\n\r\n")
    wait_for(lambda: any(path == "/last" for _, path in requests_logged(front)))
    seen = [(name, path) for name, path in requests_logged(front) if path != "/healthz"]
    assert len(seen) > 10
    foreign = [pair for pair in seen if not re.fullmatch(NAME[front.kind], pair[0])]
    assert not foreign, foreign


def test_the_server_knows_the_client_behind_it(front):
    front.exchange(b"GET /v1/whoami HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 192.0.2.1\r\n"
                   b"Forwarded: for=192.0.2.2\r\n\r\n")
    with open(front.server.log.name, encoding="utf-8") as log:
        lines = [line for line in log if 'path="/v1/whoami"' in line]
    assert lines and " from=127.0.0.1" in lines[-1], lines


def test_clients_work_through_it(front, tmp_path):
    """Push, symbolization, a large body in chunks and an answer of some megabytes."""
    program = compile_c(tmp_path, "behind")
    env = {"UNHEX_URL": f"https://localhost:{front.port}", "UNHEX_TOKEN": front.server.token,
           "UNHEX_CACERT": str(front.cert)}
    done = unhex("push", program, env=env)
    assert done.returncode == 0, done.stderr
    data, addresses = KINDS["colliding_addresses"](bytes(range(20)))
    name = "gnu:" + bytes(range(20)).hex()
    assert Api(front.server).upload([name], data)[0] in (200, 202)
    body = json.dumps({"modules": [{"id": name, "addresses": addresses}]}).encode()
    (tmp_path / "body").write_bytes(body)
    for more in ((), ("-H", "Transfer-Encoding: chunked")):
        got = subprocess.run(["curl", "-sS", "--cacert", front.cert, "-H", f"Authorization: Bearer {front.server.token}",
                              *more, "--data-binary", f"@{tmp_path}/body",
                              f"https://localhost:{front.port}/v1/symbolize"], capture_output=True, check=True)
        assert len(got.stdout) > 1 << 20 and b'"plain"' in got.stdout, got.stdout[:300]


def test_a_server_that_stops_is_taken_out_of_service(front):
    """Behind HAProxy; nginx has no checks of its own. The last test: the server is started again behind it."""
    listen = front.server.url.partition("//")[2]
    assert front.server.stop() == 0
    begun = time.monotonic()
    got = wait_for(lambda: front.exchange(b"GET /v1/whoami HTTP/1.1\r\nHost: localhost\r\n\r\n"))
    assert re.match(rb"HTTP/1.1 50[234] ", got) and time.monotonic() - begun < 20
    front.server.start(listen)
    wait_for(front.answers)
