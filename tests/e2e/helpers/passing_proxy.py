# SPDX-License-Identifier: Apache-2.0
"""A proxy of plain HTTP."""
import http.server
import urllib.request


class Proxy(http.server.BaseHTTPRequestHandler):
    """Passes plain HTTP on, and counts it."""
    protocol_version = "HTTP/1.1"

    def pass_on(self):
        self.server.seen.append(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "proxy-connection", "connection")}
        request = urllib.request.Request(self.path, data=body or None, method=self.command, headers=headers)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
            data = answer.read()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.headers["Content-Type"])
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    do_GET = do_POST = do_PUT = pass_on

    def log_message(self, *args):
        pass
