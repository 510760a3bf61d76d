# SPDX-License-Identifier: Apache-2.0
"""Several servers over one PostgreSQL database and one place of blobs, and nginx in front of them."""
import contextlib
import os
import signal
import socket
import subprocess
import time

from unhex_server import Server
from http_api import Api
from tool import ROOT
from waiting import wait_for

HAPROXY = ROOT / "packaging/haproxy/unhex-nodes.cfg"

BALANCER = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_max_body_size 0;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream nodes {{
{servers}
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://nodes;
            proxy_http_version 1.1;
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_connect_timeout 2s;
            proxy_read_timeout 60s;
            proxy_next_upstream error timeout non_idempotent;
            proxy_next_upstream_tries 3;
        }}
    }}
}}
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


class Fleet:
    """Nodes with a folder each. Of these, the blobs and the parts of uploads are in one place, or all in a bucket. Without an
    index here, each has one in its options."""

    def __init__(self, folder, index, n=3, options=(), around=(), environment=None):
        self.folder = folder
        self.shared = folder / "shared"
        self.nodes = []
        for kind in ("blobs", "uploads"):
            (self.shared / kind).mkdir(parents=True)
        for i in range(n):
            data = folder / f"node{i}"
            data.mkdir()
            for kind in ("blobs", "uploads") if "--blobs" not in options else ():
                (data / kind).symlink_to(self.shared / kind)
            self.nodes.append(Server(data, options=(*(("--index", index) if index else ()), "--node", f"node{i}", *options),
                                     around=around[i] if around else (), environment=environment or {}))

    def __enter__(self):
        for node in self.nodes:
            self.start(node)
        return self

    def __exit__(self, *_):
        for node in self.nodes:
            if node.process and node.process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    node.process.send_signal(signal.SIGCONT)
            assert node.stop() in (0, None, -signal.SIGKILL)

    def start(self, node):
        """Starts a node again at the port that it had."""
        listen = node.url.split("//")[-1] if node.url else f"127.0.0.1:{free_port()}"
        node.start(listen)
        node.token = node.token or self.nodes[0].token

    def kill(self, node):
        node.stop(signal.SIGKILL)

    def api(self, i):
        return Api(self.nodes[i])

    @contextlib.contextmanager
    def balancer(self):
        """The URL of an nginx that passes each request to the next node that is there."""
        folder = self.folder / "nginx"
        folder.mkdir(exist_ok=True)
        port = free_port()
        servers = "\n".join(f"        server {n.url.split('//')[1]} max_fails=1 fail_timeout=2s;" for n in self.nodes)
        user = "user root;\n" if os.getuid() == 0 else ""
        config = folder / "nginx.conf"
        config.write_text(user + BALANCER.format(folder=folder, port=port, servers=servers))
        process = subprocess.Popen(["/usr/sbin/nginx", "-c", config, "-p", folder, "-e", folder / "error.log"],
                                   stdin=subprocess.DEVNULL)

        def answers():
            assert process.poll() is None, (folder / "error.log").read_text()
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
                return True
            return False
        try:
            wait_for(answers)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(20)


def with_probes(node):
    """The address of a node whose listener for probes gets the checks, for haproxy()."""
    return f"{node.url.split('//')[1]} port {node.probes.rpartition(':')[2]}"


@contextlib.contextmanager
def haproxy(folder, nodes, listen=None, around=()):
    """The URL of an HAProxy with the file that is shipped; only addresses are others. Nodes: HOST:PORT, which gets the checks,
    too, or as with_probes() has it."""
    listen, text = listen or f"127.0.0.1:{free_port()}", HAPROXY.read_text()
    for i, node in enumerate(nodes, 1):
        text = text.replace(f"unhex-{i}:8420 port 8421", node)
    config = folder / "haproxy.cfg"
    config.write_text(text.replace("bind :8420", f"bind {listen}"))
    check = subprocess.run(["/usr/sbin/haproxy", "-c", "-f", config], capture_output=True, text=True, check=False)
    assert check.returncode == 0 and "WARNING" not in check.stderr, check.stderr
    with open(folder / "haproxy.log", "wb") as log:
        process = subprocess.Popen([*around, "/usr/sbin/haproxy", "-db", "-f", config], stdout=log, stderr=log)
    try:
        yield f"http://{listen}"
    finally:
        process.terminate()
        process.wait(20)


def seconds_until(check, most=30):
    """How long it took until the check was true, by the beginning of the last one that was not: a check takes time itself."""
    begin = last = time.monotonic()

    def is_true():
        nonlocal last
        now = time.monotonic()
        done = check()
        last = last if done else now
        return done
    wait_for(is_true, most, 0.02)
    return last - begin
