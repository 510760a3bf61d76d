# SPDX-License-Identifier: Apache-2.0
"""Running the server: TLS, reload, passed sockets, a service manager, stopping, the log."""
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import sys
import urllib.parse

import pytest

from unhex_server import Server
from http_api import Api
from tool import ROOT, UNHEX, build_id, compile_c, fails, unhex
from waiting import wait_for


@contextlib.contextmanager
def serving(path, *options, **more):
    server = Server(path, options=options, **more).start()
    try:
        yield server
    finally:
        assert server.stop() in (0, None)


def log_of(server):
    return server.data.with_suffix(".log").read_text()


def events(server, event):
    """Of a text log: {key: value} of each line of that event."""
    out = []
    for line in log_of(server).splitlines():
        fields = dict(re.findall(r'([a-z_]+)=("(?:[^"\\]|\\.)*"\S*|\S*)', line))
        if fields.get("event") == event:
            out.append(fields)
    return out


def reload(server):
    """Sends SIGHUP and waits until it is done."""
    before = len(events(server, "reload"))
    server.process.send_signal(signal.SIGHUP)
    wait_for(lambda: len(events(server, "reload")) > before)
    return events(server, "reload")[-1]


# TLS

def certificate(folder, name):
    """A certificate that signs itself, for localhost."""
    key, cert = folder / f"{name}.key", folder / f"{name}.crt"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert,
                    "-days", "30", "-subj", f"/CN={name}", "-addext",
                    "subjectAltName=DNS:localhost,IP:127.0.0.1", "-addext",
                    "keyUsage=critical,digitalSignature,keyCertSign"], check=True, capture_output=True)
    return cert, key


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    return {name: certificate(folder, name) for name in ("first", "second")}


class Place:
    """The two files that a server reads, and what is in them now."""

    def __init__(self, folder, pair):
        self.certificate, self.key = folder / "server.crt", folder / "server.key"
        self.put(pair)
        self.options = ("--set", f"tls-certificate={self.certificate}",
                        "--set", f"tls-key={self.key}")

    def put(self, pair):
        self.certificate.write_bytes(pair[0].read_bytes())
        self.key.write_bytes(pair[1].read_bytes())


def curl(url, *options):
    return subprocess.run(["curl", "--silent", "--show-error", "--max-time", "60", *map(str, options),
                           url], capture_output=True, text=True, check=False)


def test_https_is_spoken_with_the_file_and_nothing_else(tmp_path, pairs, gsym):
    with serving(tmp_path / "server", *Place(tmp_path, pairs["first"]).options) as server:
        assert server.url.startswith("https://127.0.0.1:")
        port = urllib.parse.urlsplit(server.url).port
        trusted = ("--cacert", pairs["first"][0])
        assert json.loads(curl(server.url + "/healthz", *trusted).stdout) == {"status": "ok"}
        assert curl(server.url + "/healthz").returncode == 60  # signed by no known authority
        assert curl(f"http://127.0.0.1:{port}/healthz").returncode != 0
        for version in ("1.2", "1.3"):
            done = curl(server.url + "/healthz", *trusted, f"--tlsv{version}", "--tls-max", version)
            assert done.returncode == 0, done.stderr
        for version in ("-tls1", "-tls1_1"):
            done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", version,
                                   "-cipher", "ALL:@SECLEVEL=0"], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=60, check=False)
            assert "Cipher is (NONE)" in done.stdout, done.stdout
        # bytes of size come whole both ways
        body = tmp_path / "body"
        body.write_bytes(b'{"ids":["gnu:' + b"0" * (1 << 20) + b'"]}')
        done = curl(server.url + "/v1/query", *trusted, "--data-binary", f"@{body}", "--header",
                    f"Authorization: Bearer {server.token}")
        assert json.loads(done.stdout)["answers"][0]["status"] == "invalid"


def test_our_own_clients_trust_the_configured_authorities(tmp_path, pairs):
    prog = compile_c(tmp_path)
    with serving(tmp_path / "server", *Place(tmp_path, pairs["first"]).options) as server:
        fails(server.unhex("push", prog), 3, "certificate")
        done = server.unhex("push", prog, "--cacert", pairs["first"][0])
        assert done.returncode == 0, done.stderr
        trusted = {"UNHEX_CACERT": str(pairs["first"][0])}
        done = server.unhex("lookup", build_id(prog), "1", env=trusted)
        assert done.returncode in (0, 1) and not done.stderr, done.stderr
        fails(server.unhex("push", prog, "--cacert", pairs["second"][0]), 3, "certificate")


def test_a_new_certificate_is_shown_after_sighup_and_connections_stay(tmp_path, pairs):
    place = Place(tmp_path, pairs["first"])
    with serving(tmp_path / "server", *place.options) as server:
        url = urllib.parse.urlsplit(server.url)
        context = ssl.create_default_context(cafile=pairs["first"][0])
        context.verify_flags |= ssl.VERIFY_X509_STRICT  # what newer Pythons ask for
        old = http.client.HTTPSConnection("localhost", url.port, timeout=60, context=context)
        old.request("GET", "/healthz")
        assert old.getresponse().read()
        place.put(pairs["second"])
        assert reload(server)["level"] == "info"
        assert curl(server.url + "/healthz", "--cacert", pairs["second"][0]).returncode == 0
        assert curl(server.url + "/healthz", "--cacert", pairs["first"][0]).returncode == 60
        kept = old.sock
        old.request("GET", "/healthz")
        assert old.getresponse().read() and old.sock is kept
        # a pair that is none is refused, and what was shown stays
        place.certificate.write_bytes(pairs["first"][0].read_bytes())
        failed = reload(server)
        assert failed["level"] == "error" and "does not belong to the certificate" in failed["error"]
        place.certificate.write_text("nonsense")
        assert place.certificate.name in reload(server)["error"]
        assert curl(server.url + "/healthz", "--cacert", pairs["second"][0]).returncode == 0
        old.close()


def test_a_pair_that_is_none_does_not_start(tmp_path, pairs):
    place = Place(tmp_path, (pairs["first"][0], pairs["second"][1]))
    result = unhex("serve", "--listen", "127.0.0.1:0", "--data", tmp_path / "d", *place.options)
    assert result.returncode == 2 and "does not belong to the certificate" in result.stderr
    assert not (tmp_path / "d").exists()


# reload

def test_sighup_takes_over_what_may_change_and_says_what_may_not(tmp_path):
    config = tmp_path / "unhex.conf"
    config.write_text("body-bytes = 1K\nthreads = 4\n")
    with serving(tmp_path / "server", "--config", config) as server:
        api = Api(server)
        big = b'{"ids":[' + b" " * 2000 + b"]}"
        assert api("POST", "/v1/query", big)[0] == 413
        config.write_text("body-bytes = 1M\nthreads = 8\nkeep-days = 5\nlisten = 127.0.0.1:1\n")
        assert reload(server)["level"] == "info"
        assert api("POST", "/v1/query", big)[0] == 200
        said = {e["key"]: (e["level"], e["changed"]) for e in events(server, "setting")}
        assert said == {"body-bytes": ("info", "yes"), "keep-days": ("info", "yes"),
                        "threads": ("warning", "no")}  # --listen is stronger than the file
        # a mistake leaves what was
        config.write_text("body-bytes = 1K\nnope = 1\n")
        failed = reload(server)
        assert failed["level"] == "error" and ":2: unknown key" in failed["error"]
        assert api("POST", "/v1/query", big)[0] == 200
        config.unlink()
        assert reload(server)["level"] == "error"
        assert api("POST", "/v1/query", big)[0] == 200
        # the log changes its form
        config.write_text("log-format = json\n")
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: '"event":"reload"' in log_of(server))
        assert api("POST", "/v1/query", big)[0] == 200
        assert api("GET", "/no/such", headers={"X-Request-Id": "mine-1"})[0] == 404
        wait_for(lambda: "mine-1" in log_of(server))  # the line comes after the answer
        lines = [json.loads(line) for line in log_of(server).splitlines() if line[0] == "{"]
        requested = [line for line in lines if line.get("request") == "mine-1"]
        assert requested[0]["status"] == 404 and requested[0]["path"] == "/no/such"


def test_upstreams_are_exchanged_by_a_reload(tmp_path):
    prog = compile_c(tmp_path)
    name = build_id(prog)
    digits = name.removeprefix("gnu:")
    empty, full = tmp_path / "empty", tmp_path / "full"
    for folder in (empty, full):
        (folder / ".build-id" / digits[:2]).mkdir(parents=True)
    (full / ".build-id" / digits[:2] / f"{digits[2:]}.debug").write_bytes(prog.read_bytes())
    config = tmp_path / "unhex.conf"
    config.write_text(f"upstreams = dir:{empty},name=empty\n")
    with serving(tmp_path / "server", "--config", config) as server:
        api = Api(server)

        def status(timeout_ms):
            body = {"modules": [{"id": name, "addresses": ["0x1"]}], "timeout_ms": timeout_ms}
            return api("POST", "/v1/symbolize", body)[1]["modules"][0]["status"]
        wait_for(lambda: status(1000) == "missing")
        config.write_text("upstreams = nonsense\n")
        assert "nonsense" in reload(server)["error"]
        config.write_text(f"upstreams = dir:{full},name=full\n")
        assert reload(server)["level"] == "info"
        assert [e["changed"] for e in events(server, "setting")] == ["yes"]
        wait_for(lambda: status(5000) == "found")
        for _ in range(5):  # back and forth, and to none
            config.write_text(f"upstreams = dir:{empty},name=empty\n")
            assert reload(server)["level"] == "info"
            config.write_text("")
            assert reload(server)["level"] == "info"
        assert status(5000) == "found"
    config.write_text("")
    with serving(tmp_path / "alone", "--config", config) as server:
        config.write_text(f"upstreams = dir:{full}\n")
        assert reload(server)["level"] == "info"
        assert [e["changed"] for e in events(server, "setting")] == ["no"]


# a service manager

class Manager:
    """The socket that sd_notify() messages go to."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.socket.settimeout(60)

    def next(self):
        return dict(line.split("=", 1) for line in self.socket.recv(4096).decode().splitlines())

    def next_with(self, key):
        while key not in (message := self.next()):
            pass
        return message


LAUNCH = """import os, sys
os.dup2(int(sys.argv[1]), 3)
os.execve(sys.argv[2], sys.argv[2:], {**os.environ, "LISTEN_PID": str(os.getpid())})
"""


@contextlib.contextmanager
def passing(listener, tmp_path, manager=None, extra=None):
    """A server that is given a socket as systemd does: as descriptor 3, by two variables."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("UNHEX_", "LISTEN_"))}
    env |= {"LISTEN_FDS": "1", **(extra or {})}
    if manager:
        env["NOTIFY_SOCKET"] = str(manager.path)
    with open(tmp_path / "passed.log", "ab") as log, subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(listener.fileno()), UNHEX, "serve", "--listen",
             "127.0.0.1:1", "--data", tmp_path / "data"], env=env, pass_fds=[listener.fileno()],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True) as process:
        try:
            for line in process.stdout:
                if found := re.search(r"serving on (\S+)", line):
                    process.url = found[1]
                    break
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
            assert process.wait(60) == 0


def test_a_passed_socket_is_served_and_the_manager_notified(tmp_path):
    manager = Manager(tmp_path / "notify")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        # who comes before the server waits for it
        early = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        early.request("GET", "/readyz")
        with passing(listener, tmp_path, manager, extra={"WATCHDOG_USEC": "2000000"}) as process:
            assert process.url == f"http://127.0.0.1:{port}"
            assert json.load(early.getresponse())["status"] == "ready"
            ready = manager.next_with("READY")
            assert ready["MAINPID"] == str(process.pid) and str(port) in ready["STATUS"]
            assert manager.next_with("WATCHDOG")["WATCHDOG"] == "1"
            process.send_signal(signal.SIGHUP)
            assert manager.next_with("RELOADING")["MONOTONIC_USEC"].isdigit()
            manager.next_with("READY")
            process.terminate()
            manager.next_with("STOPPING")
            assert process.wait(60) == 0
        # the manager's own descriptor listens on, and the next server takes up
        late = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        late.request("GET", "/healthz")
        with passing(listener, tmp_path):
            assert late.getresponse().status == 200


def test_a_passed_unix_socket_is_served_and_not_open(tmp_path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "http"))
        listener.listen()
        with passing(listener, tmp_path) as process:
            assert process.url == f"unix:{tmp_path}/http"
            done = curl("http://localhost/healthz", "--unix-socket", tmp_path / "http")
            assert json.loads(done.stdout) == {"status": "ok"}
            done = curl("http://localhost/v1/modules", "--unix-socket", tmp_path / "http")
            assert json.loads(done.stdout)["error"]["code"] == "unauthorized"


def test_systemd_starts_it_when_somebody_comes(tmp_path):
    """systemd's own program for that."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("UNHEX_")}
    place = tmp_path / "http"
    with open(tmp_path / "log", "wb") as log, subprocess.Popen(
            ["systemd-socket-activate", "-l", place, UNHEX, "serve", "--data", tmp_path / "data"],
            env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log) as process:
        try:
            wait_for(place.exists)
            done = wait_for(lambda: (d := curl("http://localhost/readyz", "--unix-socket", place)
                                     ).returncode == 0 and d)
            assert json.loads(done.stdout)["status"] == "ready"
        finally:
            process.terminate()
            assert process.wait(60) == 0


@pytest.mark.parametrize("user", ["DynamicUser=yes", "User=root\nGroup=root"], ids=["dynamic", "named"])
def test_the_units_are_what_systemd_takes_and_calls_confined(tmp_path, user):
    """As packaging/meson.build fills them in, without -Dserveruser and with a user that exists here."""
    units = ROOT / "packaging/systemd"
    text = (units / "unhex.service.in").read_text()
    text = text.replace("@bindir@/unhex", str(pathlib.Path(UNHEX).resolve())).replace("@user@", user)
    assert not re.search(r"@\w+@", text)
    (tmp_path / "unhex.service").write_text(text)
    (tmp_path / "unhex.socket").write_text((units / "unhex.socket").read_text())
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", "./unhex.service",
                           "./unhex.socket"], cwd=tmp_path, capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 0 and "unhex" not in done.stderr, done.stderr
    # from 0 to 100, where a service without any confinement has 96
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=20",
                           "--no-pager", "./unhex.service"], cwd=tmp_path, capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr


def test_what_was_passed_must_be_one_socket_that_listens(tmp_path):
    def serve(**env):
        return subprocess.run(
            ["/bin/sh", "-c", 'LISTEN_PID=$$ exec "$@" 3</dev/null', "x", UNHEX, "serve", "--listen",
             "127.0.0.1:1", "--data", str(tmp_path / "d")], env={**os.environ, **env},
            capture_output=True, text=True, timeout=60, check=False)
    assert "expected one" in serve(LISTEN_FDS="2").stderr
    assert "not a listening stream socket" in serve(LISTEN_FDS="1").stderr


# stopping

def begin_upload(server, gsym):
    """A PUT that has begun, and what is left to send."""
    api = Api(server)
    uid = api.announce(["gnu:" + gsym[28:48].hex()], gsym)
    s = socket.create_connection((api.url.hostname, api.url.port), timeout=60)
    s.sendall(f"PUT /v1/uploads/{uid} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(gsym)}\r\n"
              f"Authorization: Bearer {server.token}\r\nExpect: 100-continue\r\n\r\n".encode())
    assert b" 100 " in s.recv(4096)
    s.sendall(gsym[:10])
    return s


def refuses(server):
    url = urllib.parse.urlsplit(server.url)
    try:
        socket.create_connection((url.hostname, url.port), timeout=60).close()
        return False
    except ConnectionResetError:  # it waited to be accepted when listening ended
        return False
    except ConnectionRefusedError:
        return True


def test_in_flight_requests_end_and_an_open_connection_hears_of_the_stop(tmp_path, gsym):
    with serving(tmp_path / "server", "--set", "stop=10m") as server:
        url = urllib.parse.urlsplit(server.url)
        open_one = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
        open_one.request("GET", "/readyz")
        assert open_one.getresponse().read()
        with begin_upload(server, gsym) as s:
            server.process.send_signal(signal.SIGTERM)
            wait_for(lambda: refuses(server))
            open_one.request("GET", "/readyz")
            answer = open_one.getresponse()
            assert answer.status == 503 and answer.headers["Connection"].lower() == "close"
            assert json.load(answer)["error"]["message"] == "the server is stopping"
            s.sendall(gsym[10:])
            assert b" 200 " in s.recv(4096).split(b"\r\n")[0]
        assert server.process.wait(60) == 0
        assert events(server, "stopped")[-1]["cut"] == "0"


def test_what_does_not_end_in_time_is_cut(tmp_path, gsym):
    with serving(tmp_path / "server", "--set", "stop=1s") as server:
        with begin_upload(server, gsym) as s:
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(60) == 0
            with contextlib.suppress(ConnectionResetError):
                assert s.recv(4096) == b""  # cut, and not answered
        assert events(server, "stopped")[-1]["cut"] == "1"


def test_a_slow_reader_gets_its_bytes_and_a_second_signal_ends_the_waiting(tmp_path, gsym):
    with serving(tmp_path / "server", "--set", "stop=10m", "--set", "idle=1h") as server:
        api = Api(server)
        # more than the system's buffers take: they would be all that a stop waits for
        body = {"modules": [{"id": f"go:{'x' * 900}{i:05}", "addresses": []}
                            for i in range(10000)]}
        assert api("POST", "/v1/symbolize", body)[0] == 200
        text = json.dumps(body).encode()

        def ask(room):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
            s.connect((api.url.hostname, api.url.port))
            s.settimeout(60)
            s.sendall(b"POST /v1/symbolize HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
                      + str(len(text)).encode() + b"\r\n\r\n" + text)
            assert s.recv(100).startswith(b"HTTP/1.1 200")  # the answer has begun
            return s
        with ask(1 << 20) as s, ask(4096) as never:
            server.process.send_signal(signal.SIGTERM)
            wait_for(lambda: refuses(server))
            got = b""
            while b"x09999" not in got and (piece := s.recv(1 << 16)):
                got += piece
            assert b"x09999" in got
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(60) == 0 and never.fileno() >= 0
        assert events(server, "stopped")[-1]["cut"] == "1"


# the log

def test_requests_have_names(tmp_path):
    with serving(tmp_path / "server") as server:
        api = Api(server)
        made = api("GET", "/v1/modules")[2]["X-Request-Id"]
        assert re.fullmatch(r"[0-9a-f]{16}", made)
        assert api("GET", "/v1/modules")[2]["X-Request-Id"] != made
        for name in ("mine", "a" * 64, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"):
            assert api("GET", "/healthz", headers={"X-Request-Id": name})[2]["X-Request-Id"] == name
        for name in ("a" * 65, "a b", 'a"b', "a\x01", server.token, "ä"):
            got = api("GET", "/no/such", headers={"X-Request-Id": name.encode("utf-8")})[2]
            assert re.fullmatch(r"[0-9a-f]{16}", got["X-Request-Id"]), name
        wait_for(lambda: len(events(server, "request")) == 11)
        names = [e["request"] for e in events(server, "request")]
        assert made in names and "mine" in names and "a" * 64 in names


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_token_is_ever_logged(tmp_path, gsym, form):
    """Wherever a client may put one; also of lines that try to begin another."""
    with serving(tmp_path / "server", "--set", f"log-format={form}", "--set",
                 "log-level=debug") as server:
        secret, known = server.token, server.token[3:]
        name = "gnu:" + gsym[28:48].hex()
        api = Api(server)
        assert api.upload([name], gsym, description=secret, file="f")[0] == 200
        hidden = "".join(f"%{ord(c):02x}" for c in secret)
        for path in (f"/v1/modules?after={secret}", f"/v1/modules/{secret}", f"/{secret}",
                     f"/k/{secret}/v1/modules", f"/k/{secret}", f"//k/{secret}/v1/modules",
                     f"/%6b/{secret}/x", f"/k/{hidden}/v1/modules", f"/x/{hidden}",
                     f"/v1/symbolize/{name}?addr={secret}", f"/v1/explain/{secret}",
                     f"/v1/gsym/{secret}", f"/buildid/{secret}/debuginfo",
                     f"/buildid/{gsym[28:48].hex()}/section/{secret}", f"/metadata?glob={secret}",
                     f"/v1/uploads/{secret}", "/x%0atime=0%20level=error%20event=forged"):
            for token in (None, "", secret + "x", "Basic " + secret):
                one = Api(server, token=token)
                one("GET", path)
                one("POST", path, body={"ids": [secret], "modules": [{"id": secret}]})
                one("DELETE", path.replace(name, "gnu:00"))
        for header in ("Authorization", "Cookie", "X-Forwarded-For", "User-Agent", "Host",
                       "Content-Type", "X-Request-Id", "If-None-Match", "Range"):
            Api(server, token="")("GET", "/v1/modules", headers={header: f"Bearer {secret}"})
            Api(server, token="")("GET", "/v1/modules", headers={header: secret})
        for word in ("/v1/query", "/v1/uploads", "/v1/symbolize"):
            api("POST", word, body=secret)
            api("POST", word, body={"ids": [secret], secret: 1, "modules": secret})
    text = log_of(server)
    assert known not in text and known[8:] not in text and hidden not in text
    assert "forged\n" not in text and len(text.splitlines()) > 200
    for line in text.splitlines():
        if form == "json":
            assert json.loads(line)["event"]
        else:
            assert re.match(r"time=\S+ level=(error|warning|info|debug) event=[a-z_]+ ", line), line
    assert "/k/…/v1/modules" in text
    assert b"\n\n" not in text.encode()


def test_every_event_is_in_the_page_about_operation():
    page = (ROOT / "docs/operation.md").read_text()
    found = set()
    for path in (ROOT / "server").rglob("*.c"):
        found |= set(re.findall(r'ux_log_(?:line|text)\([^;]*?"?,\s*"([a-z_]+)",', path.read_text()))
    assert {"start", "stopped", "request", "reload", "extract", "sweep"} <= found
    assert [event for event in sorted(found) if f"`{event}`" not in page] == []
