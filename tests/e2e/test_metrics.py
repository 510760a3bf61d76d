# SPDX-License-Identifier: Apache-2.0
"""/metrics and /readyz"""
import re
import time
import urllib.request

from prometheus_client.parser import text_string_to_metric_families

from http_api import Api
from tool import build_id, compile_c
from waiting import wait_for

LINE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="[^"\\\n]*",?)*)\})? (\S+)')


def scrape(server):
    """{(name, labels): value}, with the text's form checked."""
    with urllib.request.urlopen(server.url + "/metrics", timeout=30) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        text = answer.read().decode()
    values, types = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert name not in types
            types[name] = kind
        elif not line.startswith("# HELP "):
            name, labels, value = LINE.fullmatch(line).groups()
            base = re.sub(r"_(bucket|sum|count)$", "", name)
            assert types.get(name) or types.get(base) == "histogram", line
            assert (name, labels) not in values
            values[name, labels] = float(value)
    assert all(f"# HELP {name} " in text for name in types)
    return values


def scrape_when_counted(server, labels):
    """Scrapes until a request with these labels is counted, which it is after its client has the answer."""
    return wait_for(lambda: (values := scrape(server)).get(("unhex_http_requests_total", labels)) and values)


def test_requests_are_counted_by_route_and_not_by_path(server, tmp_path):
    prog = compile_c(tmp_path)
    assert server.unhex("push", prog).returncode == 0
    api = Api(server)
    for i in range(20):
        api("GET", f"/v1/modules/gnu:{i:040x}")
        api("GET", f"/no/such/{i}")
    assert api("GET", f"/v1/modules/{build_id(prog)}")[0] == 200
    requested = 'method="GET",route="/v1/modules/{id}",code="%s"'
    values = scrape_when_counted(server, requested % "2xx")
    assert values["unhex_http_requests_total", requested % "4xx"] == 20
    assert values["unhex_http_requests_total", requested % "2xx"] == 1
    assert values["unhex_http_requests_total", 'method="",route="",code="4xx"'] == 20
    assert values["unhex_modules", None] == 1 and values["unhex_stored_bytes", None] > 0
    assert abs(values["process_start_time_seconds", None] - time.time()) < 600
    labels = 'method="GET",route="/v1/modules/{id}"'
    counts = [v for (name, l), v in values.items()
              if name.endswith("_bucket") and l.startswith(labels)]
    assert counts == sorted(counts) and counts[-1] == 21
    assert values["unhex_http_request_duration_seconds_count", labels] == 21
    assert not any("0000000" in (l or "") or "such" in (l or "") for _, l in values)
    again = scrape_when_counted(server, 'method="GET",route="/metrics",code="2xx"')
    assert again["unhex_http_requests_total", 'method="GET",route="/metrics",code="2xx"'] >= 1


def test_stages_of_an_upload_are_counted(server, tmp_path):
    prog = compile_c(tmp_path)
    before = scrape(server)
    assert Api(server).upload([build_id(prog)], prog.read_bytes(), kind="executable")[0] in (200, 202)
    values = scrape(server)
    name = "unhex_upload_stage_duration_seconds"
    for stage in ("announce", "queue", "read", "check", "blob_sync", "blob_name", "index_wait", "index_write", "index_sync", "answer"):
        labels = f'stage="{stage}"'
        assert values[name + "_count", labels] == before[name + "_count", labels] + 1, stage
        assert values[name + "_sum", labels] < 60
        buckets = [v for (n, of), v in values.items() if n == name + "_bucket" and of.startswith(labels + ",")]
        assert buckets == sorted(buckets) and buckets[-1] == values[name + "_count", labels]


def test_ready_is_more_than_alive(server):
    assert Api(server, token="")("GET", "/readyz")[:2] == (200, {"status": "ready", "uploads": "accepted"})


def test_prometheus_own_parser_takes_it_and_strangers_make_no_labels(server, tmp_path):
    """With the rules of promtool check metrics: help, names of counters, base units."""
    prog = compile_c(tmp_path)
    assert server.unhex("push", prog).returncode == 0

    def families():
        with urllib.request.urlopen(server.url + "/metrics", timeout=30) as answer:
            return list(text_string_to_metric_families(answer.read().decode()))
    api = Api(server)
    for path in ("/", "/healthz", "/readyz", "/v1/modules", "/metrics"):
        api("GET", path)
    families()  # so that the answer to this route is counted
    before = {(s.name, tuple(sorted(s.labels.items()))) for f in families() for s in f.samples}
    for i in range(50):
        api("GET", f"/made/up/{i}")
        api("GET", f"/v1/modules/gnu:{i:040x}?x={i}", headers={"X-Request-Id": f"id-{i}"})
        api(f"M{i}", "/v1/modules")
    found = families()
    after = {(s.name, tuple(sorted(s.labels.items()))) for f in found for s in f.samples}
    new = after - before
    assert {dict(labels).get("route") for _, labels in new} <= {"", "/v1/modules/{id}", "/v1/modules"}
    assert len(new) < 60
    for family in found:
        assert family.documentation.endswith(".") and family.type != "unknown", family.name
        assert re.fullmatch(r"[a-z][a-z0-9_]*", family.name)
        assert not re.search(r"_(ms|milliseconds|minutes|kb|kilobytes|count|sum|bucket)$", family.name)
        names = {sample.name for sample in family.samples}
        if family.type == "counter":
            assert names == {family.name + "_total"}
        elif family.type == "histogram":
            assert names == {family.name + end for end in ("_bucket", "_sum", "_count")}
        else:
            assert not family.name.endswith("_total")
        for sample in family.samples:
            assert set(sample.labels) <= {"method", "route", "code", "le", "version", "state", "kind",
                                          "reason", "upstream", "result", "scope", "cache", "pool", "stage"}, sample
            assert all(len(value) < 80 for value in sample.labels.values())
