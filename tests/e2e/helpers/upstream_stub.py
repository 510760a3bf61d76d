# SPDX-License-Identifier: Apache-2.0
"""A server that answers as a test configures it: well, badly, slowly, or without end"""
import http.client
import http.server
import threading
import urllib.parse
import zlib


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        stub = self.server.stub
        with stub.lock:
            stub.requested.append((self.path, dict(self.headers)))
        answer = stub.answers.get(self.path, stub.otherwise)
        try:
            answer(self, stub)
        except OSError:
            self.close_connection = True

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.do_GET()

    def log_message(self, *args):
        pass


def send(status, body=b"", **headers):
    """Answers with this."""
    def answer(handler, _):
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
    return answer


def forward(server):
    """Hands the question on, and the answer back."""
    def answer(handler, stub):
        url = urllib.parse.urlsplit(server.url)
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
        connection.request("GET", handler.path, headers=dict(handler.headers))
        got = connection.getresponse()
        body, again = got.read(), got.headers.get("Retry-After")
        connection.close()
        send(got.status, body, **({"Retry-After": again} if again else {}))(handler, stub)
    return answer


def hang(handler, stub):
    """Says nothing until the end."""
    stub.over.wait(120)
    handler.close_connection = True


def drip(handler, stub):
    """Promises much and sends a byte, then another."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    for _ in range(1000):
        handler.wfile.write(b"\x7f")
        if stub.over.wait(0.5):
            break
    handler.close_connection = True


def endless(handler, stub):
    handler.send_response(200)
    handler.end_headers()
    while not stub.over.is_set():
        handler.wfile.write(b"\x7fELF" * 16384)
    handler.close_connection = True


def endless_gzip(handler, stub):
    """Zeros without end, a thousandth as large on the wire."""
    packer = zlib.compressobj(9, wbits=31)
    handler.send_response(200)
    handler.send_header("Content-Encoding", "gzip")
    handler.end_headers()
    while not stub.over.is_set():
        handler.wfile.write(packer.compress(bytes(1 << 20)))
    handler.close_connection = True


def endless_text(handler, stub):
    """What is no file of any format, without end."""
    handler.send_response(200)
    handler.end_headers()
    while not stub.over.is_set():
        handler.wfile.write(b"no ELF file " * 4096)
    handler.close_connection = True


class Stub:
    def __init__(self):
        self.answers = {}
        self.otherwise = send(404)
        self.requested = []
        self.lock = threading.Lock()
        self.over = threading.Event()

    def __enter__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.stub = self
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.server.shutdown()
        self.server.server_close()

    def count(self, part):
        with self.lock:
            return sum(part in path for path, _ in self.requested)
