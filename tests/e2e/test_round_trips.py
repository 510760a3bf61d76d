# SPDX-License-Identifier: Apache-2.0
"""How often a route waits for a database on another machine, which does not depend on how much it lists."""
import hashlib
import json
import re
import time
import urllib.error
import urllib.request

from fleet import Fleet
from http_api import with_uuid
from test_fleet import gsym_of, index  # noqa: F401  # pylint: disable=unused-import
from waiting import pause_for

MODULES, TIMES, IDLE_S = 40, 10, 3
MANY = 5000
FILE = "/usr/lib/libsame.so"
NOISE = 1.5  # of the node's own work beside the requests, which is measured and subtracted, but is not even
MOST = {
    "GET /v1/modules?limit=40": 4,
    "GET /v1/modules?file={file}": 6,
    "GET /v1/modules/{id}": 5,
    "GET /v1/explain/{id}": 9,  # three of them for other files with the build ID
    "GET /v1/gsym/{id}": 4,
    "GET /v1/export?limit=40": 5,
    "GET /v1/audit": 2,
    "GET /v1/keys": 3,
    "GET /v1/whoami": 1,
    "GET /v1/crawl/repositories": 2,
    "GET /v1/crawl/status": 8,
    "GET /v1/profiles": 2,
    "GET /v1/profiles/services": 2,
    "GET /buildid/{hex}/debuginfo": 4,
    "GET /metadata?key=file&value={file}": 8,
    "POST /v1/query": 2,
    "GET /modules": 8,
    "GET /modules/{id}": 12,
    "GET /search?q=libsame": 8,
    "GET /uploads": 8,
    "GET /status": 20,
    "GET /keys": 4,
    "GET /profiles": 4,
    "GET /crawl": 12,
}


class Counted:
    """A node, and the answers of the database that it waited for."""

    def __init__(self, node):
        self.node = node

    def count(self):
        with urllib.request.urlopen(self.node.url + "/metrics", timeout=60) as answer:
            return int(re.search(r'^unhex_index_round_trips_total\{pool="database"\} (\d+)$', answer.read().decode(), re.M)[1])

    def send(self, method, path, body=None):
        request = urllib.request.Request(self.node.url + path, method=method, data=json.dumps(body).encode() if body else None,
                                         headers={"Authorization": f"Bearer {self.node.token}"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read()

    def idle(self):
        """Round trips a second of the node's own work."""
        before, began = self.count(), time.monotonic()
        pause_for(IDLE_S, "the time that is measured")
        return (self.count() - before) / (time.monotonic() - began)

    def each(self, method, path, body, idle):
        """Round trips of a request, where the node's own work is taken off."""
        status, _ = self.send(method, path, body)  # which prepares the statements
        before, began = self.count(), time.monotonic()
        for _ in range(TIMES):
            assert self.send(method, path, body)[0] == status, path
        spent = (time.monotonic() - began) * idle
        return status, max(0, self.count() - before - spent) / TIMES


def test_routes_wait_for_the_database_a_bounded_number_of_times(index, prog, tmp_path):  # noqa: F811  # pylint: disable=redefined-outer-name
    gsym = gsym_of(prog, tmp_path)
    with Fleet(tmp_path, index, 1) as fleet:
        api, node = fleet.api(0), Counted(fleet.nodes[0])
        ids = [f"gnu:{hashlib.sha1(str(i).encode()).hexdigest()}" for i in range(MODULES)]
        for one in ids:
            assert api.upload([one, "file:" + one[4:36]], with_uuid(gsym, bytes.fromhex(one[4:])), file=FILE)[0] == 200
            api.announce([one], gsym + b"x")  # which stays open
        idle, wrong = node.idle(), []
        print(f"\n{idle:.1f} round trips a second of the node's own work")
        for route, most in MOST.items():
            method, path = route.format(id=ids[0], hex=ids[0][4:], file=FILE).split(" ")
            status, each = node.each(method, path, {"ids": ids} if method == "POST" else None, idle)
            print(f"{route:40} {status} {each:5.1f} of at most {most}")
            if each > most + NOISE or status not in (200, 404):
                wrong.append((route, status, each))
        many = {"ids": [*ids, *(f"gnu:{i:040x}" for i in range(MANY))]}  # two halves, each on a connection of its own
        status, each = node.each("POST", "/v1/query", many, idle)
        print(f"{'POST /v1/query of many IDs':40} {status} {each:5.1f} of at most {2 * MOST['POST /v1/query']}")
        if each > 2 * MOST["POST /v1/query"] + NOISE or status != 200:
            wrong.append(("many", status, each))
        assert not wrong, wrong
