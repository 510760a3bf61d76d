# SPDX-License-Identifier: Apache-2.0
"""A proxy before an object store, which makes chosen requests fail as networks and servers do."""
import socket
import threading

from waiting import pause_for

REFUSE = "refuse"  # 503, without passing the request on
CUT_REQUEST = "cut request"  # the store gets half of the body
CUT_ANSWER = "cut answer"  # the store does it, and the client gets half of the answer
DROP_ANSWER = "drop answer"  # the store does it, and the client hears nothing
DELAY = "delay"
LACKING = "lacking"  # 501, as of a store that cannot do that; not among those that pass
HTML = "html"  # 200 and a page, as of a proxy for logins or maintenance
FAULTS = (REFUSE, CUT_REQUEST, CUT_ANSWER, DROP_ANSWER, DELAY, HTML)
PAGE = b"<html><body>Please log in</body></html>"


class FaultProxy:
    """Each request goes through `plan(number, method, path)`, which returns a fault or None."""

    def __init__(self, port, plan=lambda number, method, path: None):
        self.port_of_store = port
        self.plan = plan
        self.lock = threading.Lock()
        self.requests = 0
        self.faults = 0
        self.going = self.most = 0  # requests at the same time
        self.sent = 0  # bytes of bodies that clients got
        self.received = 0  # and that they sent
        self.sent_of = {}  # of each path: requests, and bytes that clients got
        self.log = []

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            with client:
                while self.one(client):
                    pass
        except OSError:
            pass

    def one(self, client):
        """Passes one request on; False: the connection has ended."""
        head = read_head(client)
        if not head:
            return False
        method, path = head.split(b" ", 2)[:2]
        with self.lock:
            number = self.requests
            self.requests += 1
            fault = self.plan(number, method.decode(), path.decode())
            self.faults += fault is not None
            self.log.append((number, method.decode(), path.decode(), fault))
        body = read_exactly(client, content_length(head))
        with self.lock:
            self.received += len(body)
        if fault == DELAY:
            with self.lock:
                self.going += 1
                self.most = max(self.most, self.going)
            pause_for(0.5, "the fault is a delay")
            with self.lock:
                self.going -= 1
        if fault == REFUSE:
            text = b"<Error><Code>SlowDown</Code><RequestId>proxy</RequestId></Error>"
            client.sendall(b"HTTP/1.1 503 Slow Down\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
            return True
        if fault == HTML:
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: \"65f0-27\"\r\nContent-Length: %d\r\n\r\n" % len(PAGE)
            client.sendall(head + (b"" if method == b"HEAD" else PAGE))
            return True
        if fault == LACKING:
            client.sendall(b"HTTP/1.1 501 Not Implemented\r\nContent-Length: 0\r\n\r\n")
            return True
        with socket.create_connection(("127.0.0.1", self.port_of_store), timeout=60) as store:
            store.sendall(head)
            if fault == CUT_REQUEST:
                store.sendall(body[:len(body) // 2])
                return False
            store.sendall(body)
            answer_head = read_head(store)
            while answer_head.startswith(b"HTTP/1.1 100 "):
                answer_head = read_head(store)
            if not answer_head or fault == DROP_ANSWER:
                return False
            size = 0 if method == b"HEAD" or answer_head.split(b" ", 2)[1] in (b"204", b"304") else answer_size(answer_head)
            answer = read_chunks(store) if size is None else read_exactly(store, size)
            if fault == CUT_ANSWER:
                client.sendall((answer_head + answer)[:-max(len(answer) // 2, 3)])
                return False
            client.sendall(answer_head + answer)
            with self.lock:
                self.sent += len(answer)
                requests, size = self.sent_of.get(path.decode(), (0, 0))
                self.sent_of[path.decode()] = requests + 1, size + len(answer)
        return b"connection: close" not in answer_head.lower()


def read_head(s):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = s.recv(1)
        if not byte:
            return b""
        head += byte
    return head


def field(head, name):
    for line in head.lower().split(b"\r\n"):
        if line.startswith(name + b":"):
            return line.split(b":", 1)[1].strip()
    return None


def content_length(head):
    return int(field(head, b"content-length") or 0)


def answer_size(head):
    return None if field(head, b"transfer-encoding") == b"chunked" else content_length(head)


def read_exactly(s, n):
    parts = []
    while n > 0:
        part = s.recv(min(n, 1 << 20))
        if not part:
            raise OSError("ended")
        parts.append(part)
        n -= len(part)
    return b"".join(parts)


def read_chunks(s):
    body = b""
    while not body.endswith(b"0\r\n\r\n"):
        part = s.recv(65536)
        if not part:
            break
        body += part
    return body
