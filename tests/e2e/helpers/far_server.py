# SPDX-License-Identifier: Apache-2.0
"""A server whose answers take 100 ms, and which takes every upload. Waiting is all that it costs."""
import collections
import contextlib
import http.server
import itertools
import json
import threading
import time

from waiting import pause_for

DELAY_S = 0.1


class FarAnswers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, document):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        pause_for(DELAY_S, "the server is far away")
        text = json.dumps(document(body)).encode()
        # In one packet: a head and a body of their own would cost the client's delayed acknowledgement.
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(text) + text)

    @staticmethod
    def state(uid, offset):
        return {"uid": uid, "offset": offset, "chunk_size": 1 << 20}

    def announced(self, body):
        uid = f"{next(self.server.numbers):032x}"
        self.server.announced[uid] = json.loads(body)["file"]
        return self.state(uid, 0)

    def finished(self, _):
        self.server.there[self.server.announced.pop(self.path.split("/")[3])].append(time.monotonic())
        return {"status": "uploaded"}

    def do_GET(self):
        self.answer(lambda body: {"status": "ok"})

    def do_POST(self):
        self.answer(lambda body: {"answers": [{"status": "wanted"}] * len(json.loads(body)["modules"])}
                    if self.path == "/v1/query" else
                    self.announced(body) if self.path == "/v1/uploads" else self.finished(body))

    def do_PUT(self):
        uid, _, offset = self.path.split("/")[3].partition("?offset=")
        self.answer(lambda body: self.state(uid, int(offset) + len(body)))

    def handle(self):
        with self.server.connected():
            super().handle()

    def log_message(self, *args):
        pass


class FarServer(http.server.ThreadingHTTPServer):
    """.there has of each file when its modules were uploaded; .connections is how many were open together at most."""
    request_queue_size = 128
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), FarAnswers)
        self.numbers, self.announced, self.there = itertools.count(), {}, collections.defaultdict(list)
        self.open = self.connections = 0
        self.lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.env = {"UNHEX_URL": self.url, "UNHEX_TOKEN": ""}

    @contextlib.contextmanager
    def connected(self):
        with self.lock:
            self.open += 1
            self.connections = max(self.connections, self.open)
        try:
            yield
        finally:
            with self.lock:
                self.open -= 1


@contextlib.contextmanager
def far_server():
    far = FarServer()
    threading.Thread(target=far.serve_forever, daemon=True).start()
    try:
        yield far
    finally:
        far.shutdown()
        far.server_close()
