# SPDX-License-Identifier: Apache-2.0
"""Keys over HTTP, as JSON and on a page: what an admin may give away, and that nothing goes further."""
import re
import urllib.parse

import pytest

from http_api import Api
from test_access import log_of, new_key, serving
from test_privileges import id_of, page, sign_in
from tool import lines, unhex

FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def keyed(tmp_path):
    """A server that cannot be read without a key."""
    with serving(tmp_path, reading="keyed", rate_key=0) as server:
        yield server


def create(api, **more):
    status, doc, headers = api("POST", "/v1/keys", {"scopes": ["read"], **more})
    assert status == 201, doc
    assert headers["Cache-Control"] == "no-store"
    return doc


def listed(api, query=""):
    status, doc, _ = api("GET", f"/v1/keys{query}")
    assert status == 200, doc
    return {key["id"]: key for key in doc["keys"]}


def test_a_key_is_created_used_rotated_and_revoked(keyed):
    admin = Api(keyed)
    made = create(admin, scopes=["upload", "read"], description="build <farm>", expires="90d", rate=7, uploads=3)
    assert re.fullmatch(r"ux_[a-z2-7]{52}", made["token"]) and made["scopes"] == ["read", "upload"]
    assert (made["namespace"], made["rate"], made["uploads"]) == ("default", 7, 3) and made["expires"] > made["created"]
    assert Api(keyed, made["token"])("GET", "/v1/whoami")[1]["key"] == made["id"]
    path = f"/v1/keys/{made['id']}"
    status, again, _ = admin("POST", f"{path}/rotate", {"overlap": "1h"})
    assert status == 200 and again["id"] == made["id"] and again["token"] != made["token"] and again["tokens"] == 2
    for token in (made["token"], again["token"]):
        assert Api(keyed, token)("GET", "/v1/whoami")[0] == 200
    status, last, _ = admin("POST", f"{path}/rotate", {"overlap": "0"})
    assert [Api(keyed, doc["token"])("GET", "/v1/whoami")[0] for doc in (made, again, last)] == [401, 401, 200]
    assert admin("POST", f"{path}/rotate")[0] == 200  # a week, when nothing is said
    assert Api(keyed, last["token"])("GET", "/v1/whoami")[0] == 200
    assert admin("DELETE", path)[0] == 204 and admin("DELETE", path)[0] == 204
    assert Api(keyed, last["token"])("GET", "/v1/whoami")[0] == 401
    admin.refused(409, "conflict", "POST", f"{path}/rotate", {})
    audit = [(a["what"], a["subject"]) for a in admin("GET", "/v1/audit")[1]["lines"] if a["subject"] == made["id"]]
    assert [what for what, _ in audit] == ["key-create", "key-rotate", "key-rotate", "key-rotate", "key-revoke",
                                           "key-revoke"]
    keyed.stop()
    assert not any(doc["token"] in log_of(keyed) for doc in (made, again, last))


def test_the_command_and_the_server_say_the_same_of_keys(keyed):
    admin = Api(keyed)
    create(admin, scopes=["admin"], description="x", expires="2099-12-31", namespace="team", rate=2)
    made = create(admin)
    assert admin("POST", f"/v1/keys/{made['id']}/rotate", {})[0] == 200
    assert admin("DELETE", f"/v1/keys/{made['id']}")[0] == 204
    new_key(keyed, "--scopes", "metrics", "--uploads", "4")
    by_command = {key["id"]: key for key in lines(unhex("key", "list", "--json", "--data", keyed.data))}
    by_server = listed(admin)
    for key in [*by_command.values(), *by_server.values()]:
        key.pop("last_used", None)  # written every few minutes
        assert "token" not in key
    assert by_command == by_server and len(by_server) == 4


def test_an_admin_of_a_namespace_gives_away_no_more_than_it_has(keyed):
    server = Api(keyed)
    team = Api(keyed, new_key(keyed, "--namespace", "team", "--scopes", "admin"))
    other = create(server, namespace="other", scopes=["read"])
    over = create(server, namespace="team", scopes=["server"])
    mine = create(team, scopes=["admin"])
    assert mine["namespace"] == "team"
    for more in ({"scopes": ["metrics"]}, {"scopes": ["server"]}, {"scopes": ["read", "server"]},
                 {"namespace": "other"}, {"namespace": "default"}):
        team.refused(403, "denied", "POST", "/v1/keys", {"scopes": ["read"], **more})
    team.refused(403, "denied", "GET", "/v1/keys?namespace=other")
    assert set(listed(team)) == {mine["id"], over["id"], id_of(keyed, team.token)}
    assert other["id"] in listed(server) and set(listed(server, "?namespace=other")) == {other["id"]}
    # a key of another namespace is not there; one that is more powerful gets no token, and stays
    for path, body in ((f"/v1/keys/{other['id']}/rotate", {}), ("/v1/keys/0123456789ab/rotate", {})):
        team.refused(404, "not_found", "POST", path, body)
    team.refused(404, "not_found", "DELETE", f"/v1/keys/{other['id']}")
    team.refused(403, "denied", "POST", f"/v1/keys/{over['id']}/rotate", {})
    team.refused(403, "denied", "DELETE", f"/v1/keys/{over['id']}")
    assert Api(keyed, over["token"])("GET", "/v1/whoami")[0] == 200
    # who is no admin does nothing of it, nor does a token in a path
    reader = Api(keyed, new_key(keyed, "--namespace", "team", "--scopes", "read,symbolize,upload,delete,metrics"))
    for method, path, body in (("GET", "/v1/keys", None), ("POST", "/v1/keys", {"scopes": ["read"]}), ("GET", "/keys", None),
                               ("POST", f"/v1/keys/{mine['id']}/rotate", {}), ("DELETE", f"/v1/keys/{mine['id']}", None),
                               ("POST", "/keys", "read=on"), ("POST", f"/keys/{mine['id']}/rotate", "overlap=0"),
                               ("POST", f"/keys/{mine['id']}/revoke", None)):
        assert reader(method, path, body)[0] == 403, path
        assert Api(keyed, "")(method, path, body)[0] == 401, path
        assert Api(keyed, "")(method, f"/k/{keyed.token}{path}", body)[0] == 403, path


def test_limits_and_the_end_of_a_key_are_inherited(keyed):
    short = Api(keyed, new_key(keyed, "--namespace", "team", "--scopes", "admin", "--expires", "2d", "--rate", "10",
                               "--uploads", "5"))
    (own,) = [key for key in listed(short).values()]
    made = create(short)
    assert (made["expires"], made["rate"], made["uploads"]) == (own["expires"], 10, 5)
    assert create(short, expires="1d", rate=9, uploads=1)["expires"] < own["expires"]
    for more in ({"expires": "3d"}, {"rate": 11}, {"uploads": 6}):
        short.refused(403, "denied", "POST", "/v1/keys", {"scopes": ["read"], **more})
    # a new token for a key that lives longer would outlive its maker
    longer = new_key(keyed, "--namespace", "team", "--scopes", "read")
    short.refused(403, "denied", "POST", f"/v1/keys/{id_of(keyed, longer)}/rotate", {})


def test_what_is_no_key_is_refused(keyed):
    admin = Api(keyed)
    for body in ("", "[]", "{}", '{"scopes":[]}', '{"scopes":["fly"]}', '{"scopes":["read,admin"]}', '{"scopes":[1]}',
                 '{"scopes":"read"}', '{"scopes":["read"],"expires":"yesterday"}',
                 '{"scopes":["read"],"expires":"2001-01-01"}', '{"scopes":["read"],"namespace":"Up/../x"}',
                 '{"scopes":["read"],"rate":-1}', '{"scopes":["read"],"rate":"many"}',
                 '{"scopes":["read"],"description":7}'):
        admin.refused(400, "invalid", "POST", "/v1/keys", body)
    assert admin("POST", "/v1/keys", {"scopes": ["read"] * 17})[0] == 413
    made = create(admin)
    for body in ("[]", '{"overlap":"soon"}', '{"overlap":-1}'):
        admin.refused(400, "invalid", "POST", f"/v1/keys/{made['id']}/rotate", body)
    assert len(listed(admin)) == 2


def post(server, path, cookie, body="", **headers):
    return page(server, path, cookie=cookie, method="POST", body=body, Content_Type=FORM, **headers)


def test_the_page_makes_rotates_and_revokes_keys_for_admins_alone(keyed):
    team = new_key(keyed, "--namespace", "team", "--scopes", "admin", "--description", "<b>of the team</b>")
    cookie = sign_in(keyed, team)
    status, text, headers = page(keyed, "/keys", cookie=cookie)
    assert status == 200 and "&lt;b&gt;of the team" in text and 'name="upload"' in text
    assert 'name="metrics"' not in text and 'name="server"' not in text and 'href="/keys"' in text
    assert headers["Cache-Control"] == "no-store"
    same = {"Sec_Fetch_Site": "same-origin"}
    body = urllib.parse.urlencode({"namespace": "team", "read": "on", "upload": "on", "description": "from a page",
                                   "expires": "1d"})
    status, text, headers = post(keyed, "/keys", cookie, body, **same)
    assert status == 200 and headers["Cache-Control"] == "no-store"
    (token,) = re.findall(r"ux_[a-z2-7]{52}", text)
    made = Api(keyed, token)("GET", "/v1/whoami")[1]
    assert made["namespace"] == "team" and made["scopes"] == ["read", "upload"] and made["expires"]
    status, text, _ = post(keyed, f"/keys/{made['key']}/rotate", cookie, "overlap=0", **same)
    (second,) = re.findall(r"ux_[a-z2-7]{52}", text)
    assert status == 200 and Api(keyed, token)("GET", "/v1/whoami")[0] == 401
    # of a page of another site, or of no page, the session counts for nothing
    for headers in ({}, {"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"},
                    {"Origin": "https://evil.example"}):
        for path, body in (("/keys", "read=on"), (f"/keys/{made['key']}/rotate", "overlap=0"),
                           (f"/keys/{made['key']}/revoke", "")):
            status, text, _ = post(keyed, path, cookie, body, **headers)
            assert status == 401 and not re.search(r"ux_[a-z2-7]{52}", text), (path, headers)
    assert Api(keyed, second)("GET", "/v1/whoami")[0] == 200
    status, _, headers = post(keyed, f"/keys/{made['key']}/revoke", cookie, **same)
    assert (status, headers["Location"]) == (303, "/keys") and Api(keyed, second)("GET", "/v1/whoami")[0] == 401
    status, text, _ = page(keyed, "/keys", cookie=cookie)
    assert "revoked" in text and not re.search(r"ux_[a-z2-7]{52}", text)
    # what is refused over HTTP is refused here
    for body in ("server=on&namespace=team", "read=on&namespace=default", "metrics=on"):
        assert post(keyed, "/keys", cookie, body, **same)[0] == 403
    for body in ("namespace=team", "read=on&expires=soon"):
        assert post(keyed, "/keys", cookie, body, **same)[0] == 400
    reader = sign_in(keyed, new_key(keyed, "--namespace", "team", "--scopes", "read"))
    status, text, _ = page(keyed, "/keys", cookie=reader)
    assert status == 403 and 'href="/keys"' not in text
