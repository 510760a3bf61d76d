# SPDX-License-Identifier: Apache-2.0
"""Alert rules, the dashboard, and the sampled log: what they rely on is there in a real server."""
import json
import re
import subprocess
import urllib.request

import pytest
import yaml

from fleet import Fleet
from http_api import Api
from postgres_server import Postgres
from test_access import log_of, serving
from test_agent_operation import UnixConnection, agent, read_metrics
from tool import ROOT, build_id, compile_c
from waiting import wait_for

RULES = ROOT / "packaging/prometheus/unhex.rules.yml"
DASHBOARD = ROOT / "packaging/grafana/unhex.json"
METRIC = re.compile(r"\b((?:unhex|process)_[a-z_]+)\b")
MATCHER = re.compile(r'(\w+)(=~|=)"([^"]*)"')


def promtool(*args):
    return subprocess.run(["promtool", *map(str, args)], capture_output=True, text=True, timeout=120)


def rules():
    """The expression of each alert."""
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    return {rule["alert"]: rule["expr"] for rule in group["rules"]}


def panels():
    """The expressions of the dashboard, with the values that Grafana would put in."""
    found = {}
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel["targets"]:
            expr = target["expr"].replace("$__rate_interval", "5m").replace("$instance", ".+")
            found[f"{panel['title']} {target['refId']}"] = expr
    return found


@pytest.fixture(scope="module")
def metrics(tmp_path_factory):
    """Labels of the metrics of a server that has an upstream and has done everything once, and of an agent."""
    folder = tmp_path_factory.mktemp("monitoring")
    with serving(folder, upstreams="debuginfod+http://127.0.0.1:1,private,name=near",
                 otlp_forward="http://127.0.0.1:1") as server:
        prog = compile_c(folder)
        assert server.unhex("push", "--with-debuginfo", prog).returncode == 0
        api = Api(server)
        api("GET", f"/v1/symbolize/{build_id(prog)}?addr=0x1")
        api("POST", "/v1/symbolize", {"modules": [{"id": build_id(prog), "addresses": [1]}]})
        api("POST", "/symbolicate/v5", {"memoryMap": [], "stacks": [[]]})
        for _ in range(2):
            with urllib.request.urlopen(server.url + "/metrics", timeout=30) as answer:
                text = answer.read().decode()
        (folder / "bucket").mkdir()
        with serving(folder / "bucket", blobs="s3://bucket", s3_endpoint="http://127.0.0.1:1") as other:
            with urllib.request.urlopen(other.url + "/metrics", timeout=30) as answer:
                text += answer.read().decode()
        socket = folder / "agent.metrics"
        with agent(server, folder, "--metrics", f"unix:{socket}"):
            wait_for(socket.exists)
            of_agent = read_metrics(UnixConnection(socket))
    # up is Prometheus's own.
    return labels_of(of_a_node(folder), "unhex") | labels_of(text, "unhex") | labels_of(of_agent, "unhex-agent") | \
        {"up": {"job": {"unhex", "unhex-agent"}, "instance": {"x"}}}


def of_a_node(folder):
    """The metrics of one server of several, which has lookups from a replica."""
    with Postgres() as database:
        place = database.create("monitoring")
        with Postgres(primary=database) as replica, \
                Fleet(folder, place, 1, options=("--index-replica", replica.url("monitoring"))) as fleet:
            with urllib.request.urlopen(fleet.nodes[0].url + "/metrics", timeout=30) as answer:
                return answer.read().decode()


def labels_of(text, job):
    """{metric: {label: its values}} of an answer, as Prometheus keeps it."""
    labels = {}
    for name, within in re.findall(r"^([a-z_]+)(?:\{(.*)\})? \S+$", text, re.M):
        of = labels.setdefault(name, {"job": {job}, "instance": {"x"}})
        for label, value in re.findall(r'(\w+)="([^"]*)"', within):
            of.setdefault(label, set()).add(value)
    return labels


def test_promtool_takes_the_rules_and_each_alert_fires_where_it_should():
    for args in (("check", "rules", RULES), ("test", "rules", ROOT / "tests/monitoring/rules_test.yml")):
        done = promtool(*args)
        assert done.returncode == 0, done.stdout + done.stderr
    tested = (ROOT / "tests/monitoring/rules_test.yml").read_text()
    assert all(f'alertname="{name}"' in tested for name in rules())


def test_promtool_takes_the_expressions_of_the_dashboard(tmp_path):
    path = tmp_path / "panels.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": [
        {"record": f"panel:{i}", "expr": expr} for i, expr in enumerate(panels().values())]}]}))
    done = promtool("check", "rules", path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("where", [rules, panels])
def test_every_metric_and_label_is_one_of_a_real_server(metrics, where):
    for name, expr in where().items():
        used = set(METRIC.findall(expr))
        assert used - set(metrics) == set(), name
        for metric, within in re.findall(r"\b((?:unhex|process)_[a-z_]+)\{([^}]*(?:\{id\}[^}]*)*)\}", expr):
            for label, how, value in MATCHER.findall(within):
                assert label in metrics[metric], (name, metric, label)
                # a class of status that did not happen here exists all the same
                if label == "code":
                    assert value in ("1xx", "2xx", "3xx", "4xx", "5xx")
                elif how == "=":
                    assert value in metrics[metric][label], (name, value)
                elif label == "route":
                    assert set(value.split("|")) <= metrics[metric][label], (name, value)


def test_the_dashboard_can_be_loaded():
    document = json.loads(DASHBOARD.read_text())
    ids = [panel["id"] for panel in document["panels"]]
    assert len(ids) == len(set(ids)) > 10 and document["uid"] == "unhex"
    for panel in document["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24 and panel["targets"], panel["title"]


# the log

def lines_of(server):
    return [line for line in log_of(server).splitlines() if "event=request" in line]


def test_of_many_requests_that_succeeded_some_are_logged_and_all_that_failed(tmp_path):
    with serving(tmp_path, log_sample=10) as server:
        api = Api(server)
        for _ in range(1000):
            assert api("GET", "/healthz")[0] == 200
        for _ in range(50):
            assert api("GET", "/v1/modules/gnu:00")[0] == 404
        wait_for(lambda: log_of(server).count("status=404") == 50)
        good = [line for line in lines_of(server) if "status=200" in line]
        assert 40 <= len(good) <= 200, len(good)  # 100, give or take six deviations
        assert all(" sample=10" in line for line in good)
        assert not any("sample=" in line for line in lines_of(server) if "status=404" in line)
        with urllib.request.urlopen(server.url + "/metrics", timeout=30) as answer:  # counts are of all
            assert b'route="/healthz",code="2xx"} 1000\n' in answer.read()


@pytest.mark.parametrize("sample, expected", [(0, 0), (1, 20)])
def test_none_or_all_of_them_may_be_logged(tmp_path, sample, expected):
    with serving(tmp_path, log_sample=sample) as server:
        api = Api(server)
        for _ in range(20):
            assert api("GET", "/healthz")[0] == 200
        assert api("GET", "/v1/modules/gnu:00")[0] == 404
        wait_for(lambda: "status=404" in log_of(server))
        assert len([line for line in lines_of(server) if "/healthz" in line]) == expected
        assert "sample=" not in log_of(server)
