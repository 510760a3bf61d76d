# SPDX-License-Identifier: Apache-2.0
"""Hostile uploads times every route that reads them: each answer is bounded in time, memory and size."""
import json
import re

import pytest

import otlp_message
from hostile_gsym import IMAGE, KINDS
from http_api import Api
from tool import ROOT

ANSWER_MAX = 64 << 20  # bytes of one answer


def debug_id(name):
    """Mozilla's ID of a module: its build ID as a GUID of little-endian fields, then an age of 0."""
    b = bytes.fromhex(name.split(":")[1])
    return (b[3::-1] + b[5:3:-1] + b[7:5:-1] + b[8:16]).hex().upper() + "0"


def frames_of_mozilla(name, addresses):
    """The body of /symbolicate/v5."""
    return {"jobs": [{"memoryMap": [["x", debug_id(name)]], "stacks": [[[0, a - IMAGE] for a in addresses]]}]}


def otlp_of(name, addresses):
    """A message of profiles whose locations are those addresses."""
    b = otlp_message.Builder()
    mapping = b.mapping("x", {"gnu": name.split(":")[1]})
    for address in addresses[:2000]:
        b.tables.location_table.add(mapping_index=mapping, address=address)
    return b.data()


# The requests to each route about a hostile module. Routes that read no module are in NO_MODULE.
REQUESTS = {
    "/v1/symbolize": lambda n, a: ("POST", "/v1/symbolize", {"modules": [{"id": n, "addresses": list(a)}]}),
    "/v1/symbolize/{id}": lambda n, a: ("GET", f"/v1/symbolize/{n}?addr=" + ",".join(hex(x) for x in a[:400])),
    "/v1/explain/{id}": lambda n, a: ("GET", f"/v1/explain/{n}?addr={a[-1]:#x}"),
    "/v1/modules/{id}": lambda n, a: ("GET", f"/v1/modules/{n}"),
    "/v1/modules": lambda n, a: ("GET", "/v1/modules?limit=1000"),
    "/v1/export": lambda n, a: ("GET", "/v1/export?limit=10000"),
    "/v1/gsym/{id}": lambda n, a: ("GET", f"/v1/gsym/{n}"),
    "/v1/query": lambda n, a: ("POST", "/v1/query", {"ids": [n]}),
    "/pprof/{id}/symbol": lambda n, a: ("POST", f"/pprof/{n}/symbol", "+".join(hex(x) for x in a[:400])),
    "/symbolicate/v5": lambda n, a: ("POST", "/symbolicate/v5", frames_of_mozilla(n, a[:400])),
    "/v1development/profiles": lambda n, a: ("POST", "/v1development/profiles", otlp_of(n, a)),
    "/v1/symbolize/otlp": lambda n, a: ("POST", "/v1/symbolize/otlp", otlp_of(n, a)),
    "/source/v1": lambda n, a: ("POST", "/source/v1", {
        "debugName": "x", "debugId": debug_id(n), "moduleOffset": hex(a[-1] - IMAGE),
        "file": "/src/long.c"}),
    "/asm/v1": lambda n, a: ("POST", "/asm/v1", {
        "debugName": "x", "debugId": debug_id(n), "name": "x", "codeId": n.split(":")[1],
        "startAddress": "0x0", "size": "0x10"}),
    "/modules/{id}": lambda n, a: ("GET", f"/modules/{n}"),
    "/modules": lambda n, a: ("GET", "/modules"),
    "/modules/{id}/functions": lambda n, a: ("GET", f"/modules/{n}/functions?q=::x"),
    "/modules/{id}/sources": lambda n, a: ("GET", f"/modules/{n}/sources?dir=/src"),
    "/modules/{id}/source/{path}": lambda n, a: ("GET", f"/modules/{n}/source/src/long.c"),
    "/search": lambda n, a: ("GET", "/search?q=std::x&what=functions"),
    "/symbolize": lambda n, a: ("POST", "/symbolize", f"id={n}&text=" + "%0A".join(hex(x) for x in a[:200])),
    "/frame": lambda n, a: ("GET", f"/frame?id={n}&addr={a[-1]:#x}"),
    "/explain": lambda n, a: ("GET", f"/explain?id={n}&addr={a[-1]:#x}"),
    "/buildid/{id}/debuginfo": lambda n, a: ("GET", f"/buildid/{n.split(':')[1]}/debuginfo"),
    "/buildid/{id}/executable": lambda n, a: ("GET", f"/buildid/{n.split(':')[1]}/executable"),
    "/buildid/{id}/section/{name}": lambda n, a: ("GET", f"/buildid/{n.split(':')[1]}/section/.text"),
    "/buildid/{id}/source/{path}": lambda n, a: ("GET", f"/buildid/{n.split(':')[1]}/source/src/long.c"),
    "/metadata": lambda n, a: ("GET", "/metadata?key=glob&value=/src/*"),
}

NO_MODULE = {"/", "/healthz", "/readyz", "/metrics", "/v1/uploads", "/v1/uploads/{uid}", "/v1/uploads/{uid}/finish",
             "/v1/modules/{id}/pins/{label}", "/v1/audit", "/v1/whoami", "/v1/export/{sha256}", "/uploads", "/status", "/sign-in",
             "/sign-out", "/assets/{name}", "/v1/keys", "/v1/keys/{id}", "/v1/keys/{id}/rotate", "/keys",
             "/keys/{id}/rotate", "/keys/{id}/revoke", "/v1/crawl/packages", "/v1/crawl/repositories",
             "/v1/crawl/jobs/take", "/v1/crawl/jobs/{id}/renew", "/v1/crawl/jobs/{id}/end", "/v1/crawl/status", "/crawl",
             "/v1/profiles", "/v1/profiles/services", "/v1/profiles/{id}",
             "/v1/profiles/merged", "/p/{id}/pprof/profile", "/p/{id}/pprof/symbol", "/profiles",
             "/profiles/{service}", "/profiles/{service}/flame", "/profiles/{service}/picture",
             "/profiles/{service}/speedscope", "/viewers/speedscope/{name}"}


def test_each_route_is_listed_here():
    text = (ROOT / "docs/api/openapi.yaml").read_text()
    routes = set(re.findall(r"^  (/\S*):$", text, re.M))
    assert routes == set(REQUESTS) | NO_MODULE


@pytest.mark.parametrize("kind", KINDS)
def test_a_hostile_upload_costs_no_route_more_than_its_bounds(server, watched, kind):
    data, addresses = KINDS[kind](bytes(range(20)))
    name = "gnu:" + bytes(range(20)).hex()
    api = Api(server)
    with watched.request(f"upload of {kind}"):
        status, doc, _ = api.upload([name], data)
    assert status in (200, 422), doc
    if status != 200:
        return
    for route, make in REQUESTS.items():
        method, path, *body = make(name, list(addresses))
        body = json.dumps(body[0]) if body and isinstance(body[0], dict) else (body or [None])[0]
        with watched.request(f"{kind} {method} {route}"):
            api.connection.request(method, path, body, {
                "Authorization": f"Bearer {server.token}",
                **({"Content-Type": "application/x-protobuf"} if isinstance(body, bytes) else {})})
            answer = api.connection.getresponse()
            size = sum(map(len, iter(lambda: answer.read(1 << 20), b"")))
        print(f"    {answer.status}, {size} bytes")
        assert answer.status < 500, (route, answer.status)
        assert size <= max(ANSWER_MAX, 2 * len(data)), (route, size)
