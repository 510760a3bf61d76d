# SPDX-License-Identifier: Apache-2.0
"""The recorder itself: what it finds in a log, and what it complains about."""
import re

import pytest

from contract import Contract, check_answer, check_log, contract, requests_of
from tool import ROOT

LINE = ('time=2026-11-21T17:08:00.384Z level=info event=request request=x method={} path="{}" status={} sent=yes '
        'duration_us=1 in=0 out=1 key=- from=127.0.0.1')


def test_it_finds_requests_in_both_forms_of_the_log():
    text = "\n".join([LINE.format("GET", "/healthz", 200), "time=x level=info event=start version=1",
                      LINE.format("POST", '/v1/\\"x', 404), LINE.format("GET", '/cut"...', 200)[:-1],
                      '{"time":"x","level":"info","event":"request","method":"PUT","path":"/v1/uploads/x","status":200}'])
    assert list(requests_of(text)) == [("GET", "/healthz", 200), ("POST", '/v1/"x', 404), ("PUT", "/v1/uploads/x", 200)]


@pytest.mark.parametrize("method, path, status", [("GET", "/healthz", 418), ("POST", "/v1/symbolize", 202),
                                                  ("GET", "/nosuch", 200), ("OPTIONS", "/v1/modules", 200),
                                                  ("GET", "/buildid/00/source/a/b/c.c", 201)])
def test_an_answer_that_the_document_lacks_fails_the_run(method, path, status):
    with pytest.raises(AssertionError, match="lacks"):
        check_log(LINE.format(method, path, status))


def test_answers_that_the_document_has_are_fine():
    check_log("\n".join(LINE.format(*request) for request in [
        ("GET", "/healthz", 200), ("HEAD", "/v1/modules", 200), ("GET", "/k/…/v1/modules", 404), ("GET", "/nosuch", 404),
        ("DELETE", "/v1/modules", 405), ("OPTIONS", "/v1/modules", 204), ("GET", "/buildid/00/source/a/b/c.c", 206)]))


def test_content_types_and_words_of_errors_are_held_to_it():
    check_answer("GET", "/v1/modules", 200, "application/json", {"modules": []})
    with pytest.raises(AssertionError, match="text/html"):
        check_answer("GET", "/v1/modules", 200, "text/html; charset=utf-8", None)
    with pytest.raises(AssertionError, match="lacks"):
        check_answer("GET", "/v1/modules", 400, "application/json", {"error": {"code": "oops", "message": "x"}})


def test_a_route_that_is_more_exact_goes_first():
    both = Contract({"paths": {"/a/{x}": {"get": {"n": 1}}, "/a/b": {"get": {"n": 2}}}})
    assert both.operation("GET", "/a/b") == ("/a/b", {"n": 2}) and both.operation("GET", "/a/c")[0] == "/a/{x}"
    assert contract().operation("GET", "/a/b/c") == (None, None)


def test_every_word_of_an_error_in_the_sources_is_in_the_document():
    """Also of errors that no test meets: a field `word` is set, or the table of codes has it."""
    words = set()
    for folder in ("net", "server"):
        for source in (ROOT / folder).rglob("*.c"):
            text = source.read_text()
            words |= set(re.findall(r'\bword = (?:[^;"]*\? )?"([a-z_]+)"', text))
    words |= set(re.findall(r'\{\d{3}, "([a-z_]+)"\}', (ROOT / "net/http.c").read_text())) - {"ok"}
    assert {"pending", "disk_full", "not_found"} <= words
    assert words - contract().error_codes() == set()
