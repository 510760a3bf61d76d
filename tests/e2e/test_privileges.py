# SPDX-License-Identifier: Apache-2.0
"""What a key of one namespace does not see of the server, and how long a session lives."""
import http.client
import urllib.parse

import pytest

from http_api import Api
from test_access import new_key, serving
from tool import lines, unhex
from waiting import wait_for

UPSTREAM = "symbols.internal.invalid"
NAME = "gnu:" + "7e" * 20


def page(server, path, token=None, cookie=None, method="GET", body=None, **headers):
    """Status, text and headers of a request of a browser."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(server.url).netloc, timeout=60)
    fields = {"Accept": "text/html", **{k.replace("_", "-"): v for k, v in headers.items()}}
    if token:
        fields["Authorization"] = f"Bearer {token}"
    if cookie:
        fields["Cookie"] = cookie
    connection.request(method, path, body, fields)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text, answer.headers


def sign_in(server, token):
    """The cookie of a session."""
    status, _, headers = page(server, "/sign-in", method="POST", body=f"token={token}&next=%2F",
                              Sec_Fetch_Site="same-origin", Content_Type="application/x-www-form-urlencoded")
    assert status == 303
    return headers["Set-Cookie"].split(";")[0]


def id_of(server, token):
    return Api(server, token)("GET", "/v1/whoami")[1]["key"]


def rotate(server, key, overlap):
    (doc,) = lines(unhex("key", "rotate", key, "--overlap", overlap, "--json", "--data", server.data))
    return doc["token"]


def test_a_session_ends_with_the_token_that_began_it(tmp_path):
    with serving(tmp_path, reading="keyed") as server:
        token = new_key(server, "--namespace", "team", "--scopes", "read")
        key = id_of(server, token)
        first = sign_in(server, token)
        assert page(server, "/modules", cookie=first)[0] == 200
        second = sign_in(server, rotate(server, key, "1h"))
        assert page(server, "/modules", cookie=first)[0] == 200  # its token has an hour left
        third = sign_in(server, rotate(server, key, "0"))
        for cookie in (first, second):
            assert page(server, "/modules", cookie=cookie)[0] == 401
        assert page(server, "/modules", cookie=third)[0] == 200
        assert unhex("key", "revoke", key, "--data", server.data).returncode == 0
        assert page(server, "/modules", cookie=third)[0] == 401


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A server with two namespaces and an upstream inside of a company, and its keys by their scopes."""
    folder = tmp_path_factory.mktemp("privileges")
    with serving(folder, reading="keyed", upstreams=f"debuginfod+http://{UPSTREAM}:8002") as server:
        keys = {scopes: new_key(server, "--namespace", "team", "--scopes", scopes)
                for scopes in ("read", "admin", "metrics", "server")}
        new_key(server, "--namespace", "rival", "--scopes", "read")
        yield server, keys


def test_the_status_page_shows_an_admin_its_own_namespace_alone(world):
    server, keys = world
    for scopes, rival, counters in (("read", False, False), ("admin", False, False), ("server", True, True)):
        status, text, _ = page(server, "/status", keys[scopes])
        assert status == 200 and "team" in text
        assert ("rival" in text) == rival, scopes
        assert ("memory of requests" in text) == counters, scopes
        status, text, _ = page(server, "/", keys[scopes])
        assert status == 200 and ("files being extracted" in text) == counters


def test_the_counters_of_the_server_are_for_keys_of_their_own_scope(world):
    server, keys = world
    for scopes, expected in (("read", 403), ("admin", 403), ("metrics", 200), ("server", 200)):
        assert page(server, "/metrics", keys[scopes])[0] == expected, scopes
        assert page(server, f"/k/{keys[scopes]}/metrics")[0] == 403  # a token in a path only reads
    assert page(server, "/metrics")[0] == 401
    # it can do nothing else
    api = Api(server, keys["metrics"])
    assert api("GET", "/v1/modules")[0] == 403 and api("GET", "/v1/whoami")[1]["scopes"] == ["metrics"]


@pytest.mark.parametrize("setting, here, elsewhere", [("auto", 200, 401), ("open", 200, 200), ("keyed", 401, 401)])
def test_who_reads_the_counters_without_a_key_is_a_setting(tmp_path, setting, here, elsewhere):
    with serving(tmp_path, metrics=setting) as server:
        assert page(server, "/metrics")[0] == here
        assert page(server, "/metrics", Via="1.1 proxy")[0] == elsewhere
        assert page(server, "/metrics", server.token)[0] == 200


def test_auto_opens_the_counters_of_no_server_that_is_open_to_all(tmp_path):
    with serving(tmp_path, reading="open") as server:
        assert page(server, "/v1/modules")[0] == 200
        assert page(server, "/metrics")[0] == 401


def test_the_addresses_of_upstreams_are_for_admins_of_the_server(world):
    server, keys = world

    def requested():
        Api(server, keys["read"])("GET", f"/v1/gsym/{NAME}")
        doc = Api(server, keys["server"])("GET", f"/v1/explain/{NAME}")[1]
        return doc["upstreams"][0]["answers"] and doc
    doc = wait_for(requested)
    assert doc["upstreams"][0]["name"].startswith(UPSTREAM) and doc["upstreams"][0]["answers"][0]["says"]
    for scopes in ("read", "admin"):
        for path in (f"/v1/explain/{NAME}", f"/explain?id={NAME}", f"/v1/gsym/{NAME}", f"/v1/symbolize/{NAME}?addr=0x1",
                     f"/buildid/{'7e' * 20}/debuginfo", "/status", "/uploads", "/v1/whoami", "/v1/modules"):
            status, text, headers = page(server, path, keys[scopes])
            assert status < 500 or (status == 503 and "does not answer" in text) or "pending" in text, (path, status, text)
            assert UPSTREAM not in text and "8002" not in text and UPSTREAM not in str(headers), (path, text)
        reported = Api(server, keys[scopes])("GET", f"/v1/explain/{NAME}")[1]["upstreams"][0]
        assert reported["answers"][0]["outcome"] == "failed" and "says" not in reported["answers"][0]


def test_every_answer_below_a_token_forbids_to_send_its_url_on(world):
    server, keys = world
    token = keys["read"]
    for path in (f"/k/{token}/nosuch", f"/k/{token}/v1/modules", f"/k/{token}/modules", f"/k/{token}/n/rival/status",
                 f"/k/{token}/v1/modules?%zz", f"/k/{token}/assets/style.css", f"/k/{token}", "/k/ux_wrong/modules"):
        for method in ("GET", "HEAD", "POST", "OPTIONS", "BREW"):
            status, _, headers = page(server, path, method=method)
            assert headers.get_all("Referrer-Policy") == ["no-referrer"], (method, path, status)
            assert len(headers.get_all("Cache-Control")) == 1 and "public" not in headers["Cache-Control"]
