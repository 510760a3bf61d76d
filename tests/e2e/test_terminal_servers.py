# SPDX-License-Identifier: Apache-2.0
"""What a hostile server says, on the terminal of whoever asks it: its texts act on nothing, whatever the verb."""
import contextlib
import http.client
import http.server
import json
import subprocess
import threading
import urllib.parse

import pytest

from test_terminal import HOSTILE, NAMED, assert_harmless, on_terminal
from tool import UNHEX, build_id

ACTS = "".join(text for text in HOSTILE)  # appended to the texts of a server


class Liar:
    """Hands requests on to a server and changes its answers: one member of JSON, or all to an error."""

    def __init__(self, server):
        self.to = urllib.parse.urlsplit(server.url).netloc
        self.member = self.status = self.kind = None
        self.seen = set()  # names of members with texts

    def change(self, value, name=None):
        if isinstance(value, dict):
            return {k: self.change(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [self.change(v, name) for v in value]
        if isinstance(value, str) and name is not None:
            self.seen.add(name)
            return value + ACTS if name == self.member else value
        return value

    def error(self):
        text = {"error": {"code": "x" + ACTS, "message": "no" + ACTS}} if self.kind == "document" else ACTS
        return (json.dumps(text, ensure_ascii=False) if self.kind == "document" else text).encode()

    def answer(self, handler):
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        if self.status:
            data, status, headers = self.error(), self.status, {
                "Content-Type": "application/json", "Server": "evil" + HOSTILE[0] + HOSTILE[2],
                **({"Location": "http://evil.example/" + HOSTILE[0]} if self.status == 302 else {})}
        else:
            far = http.client.HTTPConnection(self.to, timeout=60)
            far.request(handler.command, handler.path, body, dict(handler.headers))
            answer = far.getresponse()
            data, status = answer.read(), answer.status
            headers = {"Content-Type": answer.headers["Content-Type"] or "x"}
            with contextlib.suppress(ValueError):
                data = json.dumps(self.change(json.loads(data)), ensure_ascii=False).encode()
        handler.send_response_only(status)
        for name, value in headers.items():
            handler.wfile.write(f"{name}: {value}\r\n".encode())
        handler.wfile.write(f"Content-Length: {len(data)}\r\n\r\n".encode())
        handler.wfile.write(b"" if handler.command == "HEAD" else data)


@pytest.fixture(scope="module")
def liar(server_of_module):
    liar = Liar(server_of_module)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self):
            self._headers_buffer = []
            liar.answer(self)

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = handle_any

        def send_response_only(self, code, message=None):
            self.wfile.write(f"HTTP/1.1 {code} x\r\n".encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        liar.url = f"http://127.0.0.1:{listener.server_address[1]}"
        yield liar
        listener.shutdown()


@pytest.fixture(scope="module")
def library(server_of_module, tmp_path_factory):
    """A library whose functions and source have hostile names, pushed under a hostile name and description."""
    folder = tmp_path_factory.mktemp("liar")
    functions = "\n".join(f"void {name}(void) {{ __asm__(\"nop\"); }}" for name in NAMED)
    (folder / "a.c").write_text('#line 1 "ev\\033]0;title\\007il\\nfile.c"\n' + functions + "\n")
    path = folder / "hostile.so"
    subprocess.run(["gcc", "-g", "-shared", "-fPIC", "-Wl,--build-id", "-o", path, folder / "a.c"], check=True)
    content = path.read_bytes()
    for name, text in zip(NAMED, HOSTILE):
        content = content.replace(name.encode(), text.encode())
    bad = folder / ("evil" + HOSTILE[0] + HOSTILE[1] + ".so")
    bad.write_bytes(content)
    result = server_of_module.unhex("push", "--with-debuginfo", "--no-git", "--description", "made" + ACTS, bad)
    assert result.returncode == 0, result.stderr
    return bad


# Everything that a person asks a server with.
ASK = "--url {url} --token {token}"
VERBS = {
    "modules list": f"modules list {ASK}", "modules list --json": f"modules list --json {ASK}",
    "modules show": f"modules show {{id}} {ASK}", "modules show --json": f"modules show --json {{id}} {ASK}",
    "modules delete": f"modules delete --dry-run {{id}} {ASK}",
    "lookup": f"lookup {{id}} 0x1100 0x1109 {ASK}", "lookup --json": f"lookup --json {{id}} 0x1100 0x1109 {ASK}",
    "lookup by name": f"lookup {{id}} main {ASK}",
    "explain": f"explain {{id}} 0x1100 {ASK}", "explain --json": f"explain --json {{id}} 0x1100 {ASK}",
    "push": f"push --no-retries --no-git --force {ASK} {{library}}",
    "push --json": f"push --json --no-retries --no-git --force {ASK} {{library}}",
    "crawl status": f"crawl status {ASK}", "crawl status --json": f"crawl status --json {ASK}",
    "crawl work": f"crawl work {{library}} {ASK}",
    "clone": "clone --from-token-file {key} {url} {folder}/copy",
    "clone to it": "clone --to-token-file {key} {folder}/store {url}",
    "symbolize": f"symbolize {{folder}}/crash {ASK}",
    "symbolize --no-local": f"symbolize --no-local {{folder}}/crash {ASK}",
    "store check": "store check --data {data}", "store usage": "store usage --data {data}",
    "store sweep": "store sweep --dry-run --data {data}",
    "key list": "key list --data {data}",
    "agent": "agent --once --state {folder}/agent --exclude /usr/* --exclude /work/* --exclude /opt/* " + ASK,
    "agent --json": "agent --once --json --verbose --state {folder}/agent2 --exclude /usr/* --exclude /work/* "
                    "--exclude /opt/* " + ASK,
}
ERRORS = [(status, kind) for status in (302, 400, 401, 404, 409, 503) for kind in ("document", "text")]


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A process whose program has a hostile name, for the agent."""
    path = tmp_path_factory.mktemp("running") / ("evil" + HOSTILE[0] + HOSTILE[1])
    subprocess.run(["gcc", "-g", "-x", "c", "-Wl,--build-id", "-o", path, "-"], check=True, text=True,
                   input="#include <unistd.h>\nint main(void) { pause(); return 0; }\n")
    process = subprocess.Popen([path])
    yield
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def places(liar, server_of_module, library, running, tmp_path_factory):
    """What the words in braces stand for."""
    folder = tmp_path_factory.mktemp("asking")
    name = build_id(library)
    (folder / "crash").write_text(f"#0 0x1100 in ?? () from /lib/x.so (BuildId: {name.split(':')[1]})\n")
    (folder / "key").write_text(server_of_module.token + "\n")
    subprocess.run([UNHEX, "clone", "--from-token-file", folder / "key", server_of_module.url, folder / "store"],
                   check=True, capture_output=True)
    yield {"url": liar.url, "token": server_of_module.token, "id": name, "library": str(library), "folder": str(folder),
            "key": str(folder / "key"), "data": str(server_of_module.data)}


def run(verb, places):
    status, text = on_terminal(*(word.format(**places) for word in VERBS[verb].split()))
    assert_harmless(text)
    return status, text


@pytest.mark.parametrize("verb", VERBS)
def test_no_text_of_a_server_acts_on_a_terminal(liar, places, verb):
    """Each member of an answer in turn: changed all at once, the first one would hide the others."""
    liar.member = liar.status = None
    liar.seen.clear()
    _, text = run(verb, places)
    assert "evil" in text or verb not in ("modules list", "push", "agent", "agent --json"), text
    assert liar.seen or verb.split()[0] not in ("modules", "explain", "push", "agent"), "it asked the server"
    for member in sorted(liar.seen):
        liar.member = member
        run(verb, places)


@pytest.mark.parametrize("verb", VERBS)
def test_no_error_of_a_server_acts_on_a_terminal(liar, places, verb):
    for liar.status, liar.kind in ERRORS:
        if liar.status == 503 and verb.split()[0] in ("clone", "crawl", "agent"):
            continue  # they try again for minutes
        run(verb, places)
    liar.status = None
