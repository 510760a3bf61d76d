# SPDX-License-Identifier: Apache-2.0
"""Jobs of a crawl against a hostile key of CI: what it announces makes no worker open what it should not, and what it
leases holds up no other namespace."""
import hashlib

import pytest

from http_api import Api
from tool import lines, unhex


@pytest.fixture
def settings(settings):
    return settings + "crawl-host-jobs = 2\n"


def new_key(server, scopes, namespace="default"):
    (key,) = lines(unhex("key", "create", "--json", "--data", server.data, "--namespace", namespace, "--scopes", scopes))
    return key["token"]


def package(name, url, **more):
    return {"key": hashlib.sha256(f"{name} {url}".encode()).hexdigest(), "name": name, "version": "1", "url": url,
            "kind": "deb", "role": "debug", **more}


def announce(api, *packages):
    status, doc, _ = api("POST", "/v1/crawl/packages", {"repository": "debian", "packages": list(packages)})
    assert status == 200, doc


def take(api, most=1, **more):
    status, doc, _ = api("POST", "/v1/crawl/jobs/take", {"worker": "w", "most": most, **more})
    assert status == 200, doc
    return doc["jobs"]


# --- who may ----------------------------------------------------------------------------------------------------------

def test_a_key_for_uploads_neither_announces_nor_leases_nor_ends(server):
    worker, ci = Api(server), Api(server, new_key(server, "read,symbolize,upload"))
    announce(worker, package("one", "http://mirror.example/one.deb"))
    (job,) = take(worker)
    lease = {"lease": job["lease"]}
    for path, body in (("packages", {"repository": "r", "packages": []}), ("jobs/take", {"worker": "w"}),
                       (f"jobs/{job['id']}/renew", lease), (f"jobs/{job['id']}/end", {**lease, "outcome": "done"})):
        assert "no scope crawl" in ci.refused(403, "denied", "POST", f"/v1/crawl/{path}", body), path
    assert ci("GET", "/v1/crawl/status")[1]["states"]["leased"]["packages"] == 1
    crawler = Api(server, new_key(server, "crawl"))
    assert crawler("POST", f"/v1/crawl/jobs/{job['id']}/end", {**lease, "outcome": "done"})[0] == 200
    assert crawler("POST", "/v1/uploads", {})[0] == 403  # and the other way round
