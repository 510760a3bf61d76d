# SPDX-License-Identifier: Apache-2.0
"""The files of packaging/ for several servers: they parse, name what exists, and the balancer's is run with three nodes."""
import concurrent.futures
import contextlib
import pathlib
import re
import subprocess
import urllib.error
import urllib.request

import yaml

from unhex_server import Server
from fleet import HAPROXY, haproxy, with_probes
from postgres_server import Postgres
from tool import unhex
from waiting import wait_for

PACKAGING = pathlib.Path(__file__).resolve().parents[2] / "packaging"
# Keys that each kind has to have, by the API reference of Kubernetes 1.30, and no others.
KINDS = {
    "ConfigMap": ("v1", {"data"}), "Deployment": ("apps/v1", {"spec"}), "Service": ("v1", {"spec"}),
    "PodDisruptionBudget": ("policy/v1", {"spec"}), "HorizontalPodAutoscaler": ("autoscaling/v2", {"spec"}),
}


def documents():
    return list(yaml.safe_load_all((PACKAGING / "kubernetes/unhex-nodes.yaml").read_text()))


def test_the_manifests_are_whole_and_refer_to_each_other():
    found = {d["kind"]: d for d in documents()}
    assert set(found) == set(KINDS)
    for kind, document in found.items():
        version, keys = KINDS[kind]
        assert document["apiVersion"] == version
        assert set(document) == {"apiVersion", "kind", "metadata"} | keys
        assert document["metadata"]["name"] == "unhex" and document["metadata"]["namespace"] == "unhex"
    pod = found["Deployment"]["spec"]["template"]
    labels = pod["metadata"]["labels"]
    for kind in ("Deployment", "PodDisruptionBudget"):
        assert found[kind]["spec"]["selector"]["matchLabels"] == labels
    assert found["Service"]["spec"]["selector"] == labels
    (container,) = pod["spec"]["containers"]
    ports = {p["name"]: p["containerPort"] for p in container["ports"]}
    assert found["Service"]["spec"]["ports"][0]["targetPort"] in ports
    for probe, path in (("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        assert container[probe]["httpGet"]["path"] == path and container[probe]["httpGet"]["port"] in ports
    assert {m["name"] for m in container["volumeMounts"]} == {v["name"] for v in pod["spec"]["volumes"]}
    assert found["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment",
                                                                          "name": "unhex"}
    assert container["resources"]["requests"]["cpu"]  # without it nothing scales


def connections_of_a_node():
    """As docs/operation.md says; the connections for reads among them are the index's."""
    (said,) = re.findall(r"a node has up to (\d+) connections", (PACKAGING.parent / "docs/operation.md").read_text())
    (readers,) = re.findall(r"UX_READERS_MAX = (\d+)", (PACKAGING.parent / "store/index/index_sql.h").read_text())
    assert int(readers) < int(said)
    return int(said)


def test_the_database_has_connections_for_all_nodes():
    text = (PACKAGING / "kubernetes/unhex-nodes.yaml").read_text()
    found = {d["kind"]: d["spec"] for d in documents() if "spec" in d}
    most = found["HorizontalPodAutoscaler"]["maxReplicas"] + found["Deployment"]["strategy"]["rollingUpdate"]["maxSurge"]
    (needed,) = re.findall(r"max_connections = (\d+)", text)
    assert int(needed) >= most * connections_of_a_node() + 10
    (few,) = re.findall(r"default is 100, enough for (\d+) nodes", text)
    assert int(few) * connections_of_a_node() <= 90
    compose = yaml.safe_load((PACKAGING / "compose/compose.yaml").read_text())["services"]
    nodes = [name for name in compose if name.startswith("unhex-")]
    (there,) = re.findall(r"max_connections=(\d+)", str(compose["database"]["command"]))
    assert int(there) >= len(nodes) * connections_of_a_node() + 10


def printed(*args):
    """The settings that a server would run with."""
    r = unhex("serve", "--print-config", *args)
    assert r.returncode == 0, r.stderr
    return dict(re.findall(r"^([a-z0-9-]+) = (.*)$", r.stdout, re.M))


def test_a_server_takes_the_settings_of_the_manifests(tmp_path):
    config = documents()[0]["data"]["serve.conf"]
    (tmp_path / "serve.conf").write_text(config)
    found = printed("--config", tmp_path / "serve.conf")
    for name, value in re.findall(r"^([a-z0-9-]+) = (.*)$", config, re.M):
        assert found[name] == value, name
    (container,) = next(d for d in documents() if d["kind"] == "Deployment")["spec"]["template"]["spec"]["containers"]
    assert container["args"][0] == "serve"
    assert printed(*(a.replace("/etc/unhex/serve.conf", str(tmp_path / "serve.conf")).replace("$(NODE)", "pod-1")
                     for a in container["args"][1:]))["node"] == "pod-1"


def test_one_server_takes_its_settings(tmp_path):
    config, *_ = yaml.safe_load_all((PACKAGING / "kubernetes/unhex-server.yaml").read_text())
    (tmp_path / "serve.conf").write_text(config["data"]["serve.conf"])
    assert printed("--config", tmp_path / "serve.conf")["admin-key"].startswith("/etc/unhex-admin-key/")
    service = yaml.safe_load((PACKAGING / "compose/server.yaml").read_text())["services"]["unhex"]
    assert printed(*service["command"][1:])["admin-key"] == "/run/secrets/admin-key"


def test_a_server_takes_the_settings_of_the_composition():
    compose = yaml.safe_load((PACKAGING / "compose/compose.yaml").read_text())
    for service in compose["services"].values():
        if service["image"].startswith("unhex"):
            assert service["command"][0] == "serve"
            found = printed(*service["command"][1:])
            assert found["index"].startswith("postgres://") and found["probe-listen"].endswith(":8421")


def test_the_composition_has_what_its_services_name():
    compose = yaml.safe_load((PACKAGING / "compose/compose.yaml").read_text())
    services = compose["services"]
    for service in services.values():
        assert set(service.get("depends_on", ())) <= set(services)
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            assert source in compose["volumes"] or source == "./keys" or \
                (PACKAGING / "compose" / source).resolve().is_file(), source
    nodes = {n for n in services if n.startswith("unhex-")}
    assert nodes == set(re.findall(r"server \w+ (unhex-\d):8420 port 8421$", HAPROXY.read_text(), re.M))
    assert len({services[n]["volumes"][0] for n in nodes}) == len(nodes)  # each a folder of its own


def ignored(name, patterns):
    """Whether .dockerignore leaves out a file, by the rules that docker has for patterns without "!"."""
    def of(pattern):
        parts = "".join("(.*/)?" if p == "**/" else "[^/]*" if p == "*" else re.escape(p) for p in re.split(r"(\*\*/|\*)", pattern))
        return re.fullmatch(f"{parts}(/.*)?", name)
    return any(of(p) for p in patterns)


def lines_of(path):
    return [line for line in path.read_text().splitlines() if line and not line.startswith("#")]


def test_the_image_is_built_from_the_sources_and_nothing_else():
    root = PACKAGING.parent
    patterns = lines_of(root / ".dockerignore")
    tracked = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True, check=True).stdout.split()
    assert {name.split("/")[0] for name in tracked if ignored(name, patterns)} == {".ci"}
    for line in lines_of(root / ".gitignore"):  # what a build or a test leaves behind
        name = line.strip("/").replace("*", "x")
        assert ignored(name, patterns) and ignored(f"{name}/file", patterns), line
    assert all(ignored(name, patterns) for name in (".git/HEAD", "build/cli/unhex", "build-asan/x", "packaging/compose/admin-key"))


def status(url, token=None):
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except urllib.error.URLError:
        return 0  # nothing listens


def test_requests_go_on_while_nodes_behind_the_balancer_end_and_come_back(tmp_path):
    with Postgres() as database, contextlib.ExitStack() as stack:
        place = database.create("nodes")
        nodes = []
        for i in range(3):
            data = tmp_path / f"node{i}"
            if i > 0:
                data.mkdir()
                for folder in ("blobs", "uploads"):
                    (data / folder).symlink_to(nodes[0].data / folder)
            nodes.append(Server(data, options=("--index", place, "--node", f"n{i}", "--set", "probe-listen=127.0.0.1:0")).start())
            stack.callback(nodes[-1].stop)
        with haproxy(tmp_path, map(with_probes, nodes)) as url:
            wait_for(lambda: status(url + "/readyz") == 200, 20)
            with concurrent.futures.ThreadPoolExecutor(8) as clients:
                seen = list(clients.map(status, [url + "/readyz"] * 60))
                for node in nodes[1:]:
                    during = [clients.submit(status, url + "/readyz") for _ in range(200)]
                    node.process.kill()
                    node.process.wait()
                    seen += [r.result() for r in during]
                    seen += list(clients.map(status, [url + "/readyz"] * 200))
            assert {s: seen.count(s) for s in set(seen)} == {200: 860}
