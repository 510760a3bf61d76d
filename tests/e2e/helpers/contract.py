# SPDX-License-Identifier: Apache-2.0
"""docs/api/openapi.yaml against what servers of the tests answer: nothing may be answered that it lacks."""
import functools
import json
import re

import yaml

from tool import ROOT

DOCUMENT = ROOT / "docs/api/openapi.yaml"

# The document has no place for what every path may answer: no such route, no such method (which the log calls a
# GET where it has no name), and a preflight.
OPTIONS = {204, 400, 404, 413, 431, 500, 503}
REQUEST = re.compile(r' event=request .*? method=(\S+) path="((?:[^"\\]|\\.)*)"(\.\.\.)? status=(\d+) ')
# A key and a namespace in front of the path.
PREFIX = re.compile(r"^(/k/[^/]*)?(/n/[^/]*)?(?=/|$)")


class Contract:
    """The operations of the document."""

    def __init__(self, document):
        self.document = document
        self.routes = [(self._pattern(path, item), path, item) for path, item in document["paths"].items()]

    @staticmethod
    def _pattern(path, item):
        """What the path matches; a parameter that is the rest of the path has slashes in it."""
        rest = {p["name"] for p in item.get("parameters", []) if p.get("x-rest-of-path")}
        pieces = re.split(r"\{(\w+)\}", path)
        text = "".join(re.escape(piece) if i % 2 == 0 else ".+" if piece in rest else "[^/]+"
                       for i, piece in enumerate(pieces))
        return re.compile(text)

    def operation(self, method, path):
        """Path and operation of a request; the path alone where it takes other methods; (None, None) for no route."""
        method = "get" if method == "HEAD" else method.lower()
        found = (None, None)
        for pattern, name, item in sorted(self.routes, key=lambda r: r[1].count("{")):
            if not pattern.fullmatch(path):
                continue
            if method in item:
                return name, item[method]
            found = found if found[0] else (name, None)
        return found

    def response(self, operation, status):
        """The response of an operation, without its reference; None when it has no such status."""
        response = operation["responses"].get(str(status))
        if response and "$ref" in response:
            return self.document["components"]["responses"][response["$ref"].rsplit("/", 1)[1]]
        return response

    def complaint(self, method, path, status, content_type=None):
        """Why an answer is not as the document has it; None when it is. path: without a prefix."""
        name, operation = self.operation(method, path)
        if status == 405 or (status == 404 and name is None):
            return None
        if method == "OPTIONS":
            return None if status in OPTIONS else f"OPTIONS {path} answered {status}"
        if operation is None:
            # Where no route was looked up, or found: the head of the request was refused.
            return None if status in (400, 413, 431, 500, 503) else f"{method} {path} answered {status}; no such route"
        response = self.response(operation, status)
        if response is None:
            return f"{method} {name} answered {status}"
        if content_type:
            plain = content_type.split(";")[0].strip()
            if plain not in response.get("content", {}):
                return f"{method} {name} answered {status} with {plain}"
        return None

    def error_codes(self):
        """The words that an error document may have."""
        return set(self.document["components"]["schemas"]["error"]["properties"]["error"]["properties"]["code"]["enum"])


@functools.cache
def contract():
    """The document as it is in the tree."""
    return Contract(yaml.safe_load(DOCUMENT.read_text()))


def requests_of(log):
    """(method, path, status) of each line of a request, in either form of the log, which leaves out prefixes."""
    for line in log.splitlines():
        if line.startswith("{") and '"event":"request"' in line:
            event = json.loads(line)
            if not event["path"].endswith("..."):
                yield event["method"], event["path"], event["status"]
        elif (found := REQUEST.search(line)) and not found[3]:
            yield found[1], json.loads(f'"{found[2]}"'), int(found[4])


# What the log has of a client that left: before there was an answer, and before the work was done.
UNSENT = {0, 499}


def check_log(log):
    """Every request that a server answered: whoever sent it, the document has its answer."""
    complaints = {contract().complaint(*request) for request in set(requests_of(log)) if request[2] not in UNSENT} - {None}
    assert not complaints, "docs/api/openapi.yaml lacks:\n" + "\n".join(sorted(complaints))


def check_answer(method, target, status, content_type, document):
    """One answer, with its content type and the word of an error."""
    path = PREFIX.sub("", target.split("?")[0], count=1) or "/"
    complaint = contract().complaint(method, path, status, content_type)
    assert not complaint, f"docs/api/openapi.yaml lacks: {complaint}"
    if status >= 400 and isinstance(document, dict) and "error" in document:
        assert document["error"]["code"] in contract().error_codes(), f"docs/api/openapi.yaml lacks: {document}"
