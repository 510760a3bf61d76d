# SPDX-License-Identifier: Apache-2.0
"""The HTTP API, spoken by hand: what no client of ours would ever send included."""
import hashlib
import http.client
import json
import struct
import urllib.parse

import contract


class Api:
    """One connection."""

    def __init__(self, server, token=None):
        self.url = urllib.parse.urlsplit(server.url)
        self.token = server.token if token is None else token
        self.connection = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=60)

    def __call__(self, method, path, body=None, headers=None):
        """Status, document (None when it is no JSON) and header lines."""
        headers = dict(headers or {})
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        self.connection.request(method, path, body=body, headers=headers)
        answer = self.connection.getresponse()
        text = answer.read()
        json_type = (answer.headers.get("Content-Type") or "").startswith("application/json")
        document = json.loads(text) if json_type and text else None
        contract.check_answer(method, path, answer.status, answer.headers.get("Content-Type") if text else None,
                              document)
        return answer.status, document, dict(answer.headers)

    def refused(self, status, word, *args, **more):
        """The message of an answer that refuses with this status and word."""
        got, doc, _ = self(*args, **more)
        assert got == status, (got, doc)
        assert doc["error"]["code"] == word, doc
        assert doc["error"]["message"]
        return doc["error"]["message"]

    def announce(self, ids, gsym, **more):
        status, doc, _ = self("POST", "/v1/uploads",
                              {"ids": ids, "size": len(gsym),
                               "sha256": hashlib.sha256(gsym).hexdigest(), "kind": "gsym", **more})
        assert status == 201, doc
        return doc["uid"]

    def put(self, uid, data, offset=0):
        return self("PUT", f"/v1/uploads/{uid}?offset={offset}", data)

    def finish(self, uid):
        return self("POST", f"/v1/uploads/{uid}/finish")

    def upload(self, ids, gsym, **more):
        uid = self.announce(ids, gsym, **more)
        status, doc, _ = self.put(uid, gsym)
        assert status == 200, doc
        return self.finish(uid)


def listed(api):
    """The IDs of all modules."""
    names, after = [], ""
    while True:
        status, doc, _ = api("GET", f"/v1/modules?limit=1000{after}")
        assert status == 200, doc
        names += [m["id"] for m in doc["modules"]]
        if "next" not in doc:
            return set(names)
        after = f"&after={doc['next']}"


def with_uuid(gsym, uuid):
    """The same GSYM for another module: a 20-byte UUID in its header (offset 28) exchanged."""
    magic, _, _, size = struct.unpack_from("<IHBB", gsym)
    assert magic == 0x4753594D and size == 20 and len(uuid) == 20
    return gsym[:28] + uuid + gsym[48:]
