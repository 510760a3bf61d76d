# SPDX-License-Identifier: Apache-2.0
"""A shared cache in front of the server, which stores all that it may: no client gets another's answer."""
import contextlib
import http.client
import os
import socket
import subprocess

import pytest

from unhex_server import Server
from http_api import Api, with_uuid
from test_access import new_key
from tool import compile_c, lines, unhex
from waiting import wait_for

NAME = bytes.fromhex("5a" * 20)
ID = f"gnu:{NAME.hex()}"

# Stores every answer that has no header against it, errors too, under the URL alone.
NGINX = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log info;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    proxy_cache_path {folder}/cache keys_zone=all:1m;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass {url};
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_cache all;
            proxy_cache_key $request_uri;
            proxy_cache_valid any 10m;
            add_header X-Cache $upstream_cache_status always;
        }}
    }}
}}
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


@contextlib.contextmanager
def cache_before(server, folder):
    """The address of an nginx with a cache in front of the server."""
    folder.mkdir()
    port = free_port()
    config = folder / "nginx.conf"
    user = "user root;\n" if os.getuid() == 0 else ""
    config.write_text(user + NGINX.format(folder=folder, port=port, url=server.url))
    process = subprocess.Popen(["/usr/sbin/nginx", "-c", config, "-p", folder, "-e", folder / "error.log"],
                               stdin=subprocess.DEVNULL)

    def answers():
        assert process.poll() is None, (folder / "error.log").read_text()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
            return True
        return False
    try:
        wait_for(answers)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


def ask(address, path, token=None, **headers):
    """Status, body and what the cache said."""
    connection = http.client.HTTPConnection(address, timeout=60)
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    if token:
        fields["Authorization"] = f"Bearer {token}"
    connection.request("GET", path, headers=fields)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body, answer.headers.get("X-Cache")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A server that is open, with a file under the same ID in three namespaces."""
    folder = tmp_path_factory.mktemp("caches")
    config = folder / "serve.conf"
    config.write_text("reading = open\ntrusted-proxies = 127.0.0.1\n")
    server = Server(folder / "server", options=("--config", config)).start()
    tokens = {"default": server.token}
    for namespace in ("a", "b", "shown"):
        tokens[namespace] = new_key(server, "--namespace", namespace, "--scopes", "admin")
    assert unhex("store", "limit", "shown", "--reading", "open", "--data", server.data).returncode == 0
    for namespace, token in tokens.items():
        prog, gsym = compile_c(folder, f"of_{namespace}"), folder / f"{namespace}.gsym"
        assert unhex("extract", prog, "-o", gsym).returncode == 0
        status, doc, _ = Api(server, token).upload([ID], with_uuid(gsym.read_bytes(), NAME), file=f"/{namespace}.so")
        assert status == 200, doc
    wait_for(lambda: ask(server.url.removeprefix("http://"), "/n/shown/v1/modules")[0] == 200)
    yield server, tokens, folder
    assert server.stop() in (0, None)


def unhex_keys(server):
    """The keys of the server's folder."""
    return lines(unhex("key", "list", "--json", "--data", server.data))


PATHS = [f"/v1/gsym/{ID}", f"/v1/modules/{ID}", "/v1/modules", "/v1/whoami", f"/v1/explain/{ID}", "/v1/audit",
         f"/v1/symbolize/{ID}?addr=0x1", f"/pprof/{ID}/symbol", "/metadata?key=glob&value=*",
         f"/buildid/{NAME.hex()}/executable", f"/modules/{ID}", "/modules", "/status", "/uploads", "/", "/nosuch",
         "/search?q=so", "/metrics", "/assets/style.css", "/readyz"]
VARYING = ("/metrics", "/status", "/audit", "/v1/modules", "/v1/explain", "/modules")  # with the time


def test_a_cache_stores_what_is_open_to_all(world, tmp_path):
    server, _, _ = world
    with cache_before(server, tmp_path / "nginx") as cache:
        first = ask(cache, f"/v1/gsym/{ID}")
        assert first[0] == 200 and first[2] == "MISS"
        assert ask(cache, f"/v1/gsym/{ID}") == (200, first[1], "HIT")
        assert ask(cache, f"/n/shown/v1/gsym/{ID}")[2] == "MISS"
        status, body, said = ask(cache, f"/n/shown/v1/gsym/{ID}")
        assert (status, said) == (200, "HIT") and body != first[1]


def test_an_answer_of_one_namespace_reaches_no_client_of_another(world, tmp_path):
    server, tokens, _ = world
    with cache_before(server, tmp_path / "nginx") as cache:
        # What is stored for everyone first must not be what a key gets later, nor the other way round.
        requested = [(None, {}), (tokens["a"], {}), (None, {"Unhex_Namespace": "shown"}), (tokens["b"], {}), (None, {}),
                 (tokens["a"], {}), (None, {"Unhex_Namespace": "shown"})]
        for order in (requested, requested[::-1]):
            for path in PATHS:
                for token, headers in order:
                    status, body, said = ask(cache, path, token, **headers)
                    direct = ask(server.url.removeprefix("http://"), path, token,
                                 X_Forwarded_For="127.0.0.1", **headers)
                    assert status == direct[0], (path, token, headers, said)
                    if not path.startswith(VARYING):
                        assert body == direct[1], (path, token, headers, said)
                    if token or headers:
                        assert said != "HIT" or path.startswith("/assets/"), (path, token, headers)
                    others = {f"/{name}.so".encode() for name in tokens
                              if token != tokens[name] and headers.get("Unhex_Namespace") != name}
                    if token or headers:
                        assert not any(other in body for other in others), (path, body)


def test_what_a_token_in_a_path_got_is_kept_by_no_cache(world, tmp_path):
    server, _, _ = world
    token = new_key(server, "--namespace", "a", "--scopes", "read,symbolize")
    with cache_before(server, tmp_path / "nginx") as cache:
        paths = [f"/k/{token}{path}" for path in PATHS]
        first = [ask(cache, path) for path in paths]
        assert 200 in [status for status, _, _ in first]
        (key,) = [k["id"] for k in unhex_keys(server) if k["scopes"] == ["read", "symbolize"]]
        assert unhex("key", "revoke", key, "--data", server.data).returncode == 0
        for path, (status, _, _) in zip(paths, first):
            again, _, said = ask(cache, path)
            assert said != "HIT", path
            assert again in (401, 404) or "/assets/" in path or path.endswith(("/readyz", "/")), (path, status, again)
        on_disk = [f.read_bytes() for f in (tmp_path / "nginx/cache").rglob("*") if f.is_file()]
        assert not any(token.encode() in text for text in on_disk)
