# SPDX-License-Identifier: Apache-2.0
"""A receiver of OTLP profiles, which answers as it is told and keeps what it took, in order."""
import gzip
import http.server
import threading
import time


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        receiver = self.server.receiver
        size = int(self.headers["Content-Length"])
        body = self.rfile.read(size)
        if len(body) < size:  # the sender was killed
            self.close_connection = True
            return
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        with receiver.lock:
            receiver.attempts.append((time.monotonic(), self.path, dict(self.headers)))
            status, headers = receiver.script.pop(0) if receiver.script else (200, {})
            if status == 200:
                receiver.taken.append(body)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        answer = receiver.answer if status == 200 else b""
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True


class Receiver:
    """script: (status, headers) of the next answers; afterwards 200."""

    def __init__(self, script=(), port=0):
        self.script, self.taken, self.attempts, self.answer = list(script), [], [], b""
        self.lock = threading.Lock()
        self.port = port

    def __enter__(self):
        self.server = _Server(("127.0.0.1", self.port), _Handler)
        self.server.receiver = self
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
