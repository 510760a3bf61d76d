# SPDX-License-Identifier: Apache-2.0
"""A page of another site in a browser on the server's own machine, which needs no key there."""
import http.client
import urllib.parse

import pytest
import yaml

import otlp_message
from otlp_receiver import Receiver
from tool import ROOT
from unhex_server import Server

# Routes that only read although their method is not GET.
READING = {"/v1/symbolize", "/v1/symbolize/otlp", "/symbolicate/v5", "/source/v1", "/asm/v1", "/pprof/{id}/symbol",
           "/p/{id}/pprof/symbol", "/symbolize"}
PAGES = [{"Origin": "https://evil.example"}, {"Origin": "https://profiler.firefox.com"}, {"Origin": "null"},
         {"Sec-Fetch-Site": "cross-site"}]


def writing_routes():
    paths = yaml.safe_load((ROOT / "docs/api/openapi.yaml").read_text())["paths"]
    return [(method.upper(), path) for path, item in paths.items() if path not in READING
            for method in item if method in ("post", "put", "delete", "patch")]


@pytest.fixture(scope="module")
def own_machine(tmp_path_factory):
    """A server that keeps and forwards profiles, and takes them from its own machine without a key."""
    with Receiver() as receiver:
        server = Server(tmp_path_factory.mktemp("pages") / "server", options=(
            "--set", f"otlp-forward={receiver.url}", "--set", "keep-profiles=1d")).start()
        yield server, receiver
        assert server.stop() in (0, None)


def send(server, method, path, body, headers):
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(server.url).netloc, timeout=60)
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    answer.read()
    return answer


def message(text):
    b = otlp_message.Builder()
    b.sample([b.named(text)], values=[1])
    return b.data()


def test_a_page_of_another_site_writes_nothing_on_any_route(own_machine):
    server, receiver = own_machine
    routes = writing_routes()
    assert ("POST", "/v1development/profiles") in routes and ("PUT", "/v1/uploads/{uid}") in routes
    before = len(receiver.attempts)
    for method, pattern in routes:
        path = "/".join("gnu:00" if "{" in part else part for part in pattern.split("/"))
        for page in PAGES:
            headers = {**page, "Content-Type": "application/x-protobuf"}
            answer = send(server, method, path, message("evil"), headers)
            assert answer.status in (401, 403), (method, path, page, answer.status)
            assert "Access-Control-Allow-Origin" not in answer.headers
            if "Origin" in page:
                asks = {**page, "Access-Control-Request-Method": method}
                assert "Access-Control-Allow-Origin" not in send(server, "OPTIONS", path, None, asks).headers
    assert len(receiver.attempts) == before


def test_a_program_of_this_machine_needs_no_key(own_machine):
    server, _ = own_machine
    kind = {"Content-Type": "application/x-protobuf"}
    assert send(server, "POST", "/v1development/profiles", message("ours"), kind).status == 200
    page = {"Origin": "https://evil.example", "Authorization": f"Bearer {server.token}"}
    assert send(server, "POST", "/v1development/profiles", message("keyed"), {**kind, **page}).status == 200
