# SPDX-License-Identifier: Apache-2.0
"""The Compose file and the manifests of Kubernetes are run: each container of ours with the root of our image, and the
arguments, environment, files, user, capabilities, ports and probes that these files say. The database, the object store and
the balancer are Debian's, under the names, at the ports and with the options that the files give them."""
import contextlib
import os
import re
import subprocess

import kubernetes.client as kubernetes
import pytest
import yaml

from containers import IMAGE_USER, Cluster, make_image
from fleet import HAPROXY
from fleet_load import HOST, PROGRAM
from network import FAMILY, can_be_made
from postgres_server import Postgres
from radosgw_server import ACCESS, SECRET, Radosgw
from tool import ROOT, build_id, compile_c, lines, symbol, unhex
from waiting import pause_for, wait_for

PACKAGING = ROOT / "packaging"
PASSWORD = "a password"
ONE_KEY = "ux_" + "abcdefgh234567" * 3 + "klmnopqrst"
OBJECTS_PORT = 8080  # of the image that the Compose file names

pytestmark = pytest.mark.skipif(not can_be_made(), reason="only root makes network namespaces")


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    return make_image(tmp_path_factory.mktemp("image"))


def owned(path, user=IMAGE_USER):
    """A new folder as a volume of a user, which is that of the image if nothing else is said."""
    path.mkdir()
    os.chown(path, user, user)
    return path


@contextlib.contextmanager
def database(cluster, command=()):
    """Demands the password, as the images of PostgreSQL do."""
    machine = cluster.machines["database"]
    with Postgres("-c", f"listen_addresses={machine.address}", *command, around=machine.around,
                  access=f"{FAMILY}.0.0/15 scram-sha-256") as postgres:
        postgres.query(f"ALTER USER unhex PASSWORD '{PASSWORD}'")
        postgres.create("unhex")
        yield postgres


@contextlib.contextmanager
def objects(cluster, port):
    machine = cluster.machines["objects"]
    with Radosgw(address=machine.address, around=machine.around, port=port) as store:
        store.bucket("symbols")
        yield store


def admin_key(container, folder):
    """That of the first server; those that start at the same moment make one each."""
    path = folder / "admin-key"
    wait_for(lambda: container.process.poll() is None and path.exists(), 60)
    return path.read_text().strip()


def pushed(url, key, program):
    done = unhex("push", "--json", "--with-debuginfo", program, env={"UNHEX_URL": url, "UNHEX_TOKEN": key})
    assert done.returncode == 0, done.stdout + done.stderr
    assert lines(done)[0]["status"] in ("uploaded", "already-there")


def is_named(container, port, key, program):
    path = f"/v1/symbolize/{build_id(program)}?addr={symbol(program, 'outer')[0]:#x}"
    return container.status(port, path, key) == 200


# --- Compose

def composition():
    text = (PACKAGING / "compose/compose.yaml").read_text()
    return yaml.safe_load(text.replace("${POSTGRES_PASSWORD}", PASSWORD))["services"]


def test_docker_compose_takes_the_composition():
    done = subprocess.run(["docker-compose", "-f", PACKAGING / "compose/compose.yaml", "config"], capture_output=True, text=True,
                          env={**os.environ, "POSTGRES_PASSWORD": PASSWORD}, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    resolved = yaml.safe_load(done.stdout)["services"]
    assert set(resolved) == set(composition())
    assert all(resolved[name]["command"] == service["command"] for name, service in composition().items() if "command" in service)


def test_the_composition_runs(image, tmp_path):
    services = composition()
    keys = tmp_path / "keys"
    keys.write_text(f"[default]\naws_access_key_id = {ACCESS}\naws_secret_access_key = {SECRET}\n")
    program = compile_c(tmp_path)
    with Cluster(tmp_path, image, services) as cluster, contextlib.ExitStack() as stack:
        command = services["database"]["command"]
        assert command[0] == "postgres" and services["database"]["environment"] == {
            "POSTGRES_USER": "unhex", "POSTGRES_DB": "unhex", "POSTGRES_PASSWORD": PASSWORD, "POSTGRES_INITDB_ARGS": "--data-checksums"}
        postgres = stack.enter_context(database(cluster, command[1:]))
        kind, check = services["database"]["healthcheck"]["test"]
        assert kind == "CMD-SHELL"
        assert subprocess.run(check, shell=True, env={**os.environ, "PGHOST": postgres.data}, capture_output=True,
                              check=False).returncode == 0
        stack.enter_context(objects(cluster, OBJECTS_PORT))
        nodes = {}
        for name in sorted(n for n in services if n.startswith("unhex-")):
            service = services[name]
            volumes = []
            for volume in service["volumes"]:
                source, target, *how = volume.split(":")
                volumes.append((keys if source == "./keys" else owned(tmp_path / source), target, how == ["ro"]))
            nodes[name] = cluster.run(name, service["command"], volumes, service["environment"])
            if len(nodes) == 1:
                key = admin_key(nodes[name], volumes[0][0])
        for node in nodes.values():
            node.wait_status(8420, "/readyz")
        balancer, = services["balancer"]["volumes"]
        assert (PACKAGING / "compose" / balancer.split(":")[0]).resolve() == HAPROXY
        front = cluster.run("balancer", ["/usr/sbin/haproxy", "-db", "-f", HAPROXY], ours=False, user=None, capabilities=None)
        (outside, inside), = (port.split(":") for port in services["balancer"]["ports"])
        assert outside == "8420"
        front.wait_status(inside, "/readyz")
        pushed(f"http://{front.address}:{inside}", key, program)
        for node in nodes.values():
            wait_for(lambda: is_named(node, 8420, key, program))
        assert nodes["unhex-2"].stop(seconds(services["unhex-2"]["stop_grace_period"])) == 0
        assert all(is_named(front, inside, key, program) for _ in range(20))



def seconds(text):
    return int(re.fullmatch(r"(\d+)s", text)[1])


# --- Kubernetes

def manifests(name):
    return list(yaml.safe_load_all((PACKAGING / "kubernetes" / name).read_text()))


def the(kind, name="unhex-nodes.yaml"):
    found, = (d for d in manifests(name) if d["kind"] == kind)
    return found


def complaints(value, kind, where):
    """What is wrong with a value by the types of the client that is generated from Kubernetes' own description of its API: names
    that a type does not have, names that it must have, and other kinds of values."""
    listed, mapped = re.fullmatch(r"list\[(.+)\]", kind), re.fullmatch(r"dict\(str, (.+)\)", kind)
    if listed:
        return [c for i, v in enumerate(value) for c in complaints(v, listed[1], f"{where}[{i}]")] if isinstance(value, list) \
            else [f"{where} is no list"]
    if mapped:
        return [c for k, v in value.items() for c in complaints(v, mapped[1], f"{where}.{k}")] if isinstance(value, dict) \
            else [f"{where} is no map"]
    plain = {"str": str, "int": int, "bool": bool, "object": (str, int, dict), "float": (int, float)}
    if kind in plain:
        # A number where text belongs, such as a processor's share without quotes, is refused by a cluster.
        return [] if isinstance(value, plain[kind]) and (kind == "bool" or not isinstance(value, bool)) else [f"{where} is no {kind}"]
    if not isinstance(value, dict):
        return [f"{where} is no {kind}"]
    model = getattr(kubernetes, kind)
    attributes = {key: attribute for attribute, key in model.attribute_map.items()}
    found = [f"{where}.{key} is not of {kind}" for key in value if key not in attributes]
    for key, v in value.items():
        if key in attributes:
            found += complaints(v, model.openapi_types[attributes[key]], f"{where}.{key}")
    with contextlib.suppress(ImportError):
        try:  # the constructor refuses None for what must be there
            model(**{attributes[k]: v for k, v in value.items() if k in attributes})
        except ValueError as error:
            found.append(f"{where}: {error}")
    return found


def type_of(document):
    group, _, version = document["apiVersion"].rpartition("/")
    name = version[0].upper() + version[1:] + document["kind"]
    if (group, name) == ("autoscaling", "V2HorizontalPodAutoscaler") and not hasattr(kubernetes, name):
        return "V2beta2HorizontalPodAutoscaler"  # version 2 is this one without its suffix
    return name


@pytest.mark.parametrize("name", ["unhex-nodes.yaml", "unhex-server.yaml", "unhex-agent.yaml"])
def test_the_manifests_have_what_the_types_of_kubernetes_have(name):
    for document in manifests(name):
        assert complaints(document, type_of(document), document["kind"]) == []


def test_a_manifest_with_mistakes_is_complained_about():
    document = the("Deployment")
    container, = document["spec"]["template"]["spec"]["containers"]
    container["readynessProbe"] = container.pop("readinessProbe")
    container["ports"][0]["containerPort"] = "http"
    del document["spec"]["selector"]
    found = " ".join(complaints(document, type_of(document), "Deployment"))
    assert "readynessProbe is not of V1Container" in found and "containerPort is no int" in found and "`selector`" in found


class Pod:
    """A container of a pod, as the kubelet would start it."""

    def __init__(self, cluster, folder, name, template, configs, secrets, around=(), claims=()):
        spec = template["spec"]
        self.container, = spec["containers"]
        self.grace = spec.get("terminationGracePeriodSeconds", 30)
        own, of_pod = self.container["securityContext"], spec.get("securityContext", {})
        self.places = {}
        volumes = []
        for mount in self.container["volumeMounts"]:
            volume, = (v for v in (*spec["volumes"], *claims) if v["name"] == mount["name"])
            place = self.places[mount["name"]] = folder / f"{name}-{mount['name']}"
            if not place.exists():  # a claim stays when its pod is replaced
                owned(place, of_pod.get("fsGroup", 0))
            for key, text in self.files(volume, configs, secrets):
                (place / key).write_text(text)
                (place / key).chmod(volume.get("secret", volume.get("configMap", {})).get("defaultMode", 0o644))
                os.chown(place / key, 0, of_pod.get("fsGroup", 0))
            volumes.append((place, mount["mountPath"], mount.get("readOnly", False)))
        fields = {"metadata.name": name, "spec.nodeName": name}
        env = {e["name"]: e.get("value") or fields[e["valueFrom"]["fieldRef"]["fieldPath"]] for e in self.container["env"]}
        for source in self.container.get("envFrom", ()):
            env |= secrets[source["secretRef"]["name"]]
        args = [re.sub(r"\$\((\w+)\)", lambda m: env[m[1]], a) for a in self.container["args"]]
        assert own["capabilities"]["drop"] == ["ALL"] and own["allowPrivilegeEscalation"] is False
        self.running = cluster.run(name, args, volumes, env, user=own.get("runAsUser", of_pod.get("runAsUser")),
                                   read_only=own["readOnlyRootFilesystem"], capabilities=own["capabilities"].get("add", ()),
                                   around=around)

    @staticmethod
    def files(volume, configs, secrets):
        if "configMap" in volume:
            return configs[volume["configMap"]["name"]].items()
        if "secret" in volume:
            return secrets[volume["secret"]["secretName"]].items()
        assert "emptyDir" in volume or "hostPath" in volume or "claim" in volume
        return ()

    def port(self, name):
        found, = (p["containerPort"] for p in self.container["ports"] if p["name"] == name)
        return found

    def passes(self, probe):
        get = self.container[probe]["httpGet"]
        return 200 <= self.running.status(self.port(get["port"]), get["path"]) < 400

    def wait_started(self):
        probe = self.container["startupProbe"]
        for _ in range(probe["failureThreshold"]):
            assert self.running.process.poll() is None, self.running.text()
            if self.passes("startupProbe"):
                return
            pause_for(probe["periodSeconds"], "the period of the probe")
        pytest.fail("not within the time of the startupProbe: " + self.running.text())


def test_the_pods_run(image, tmp_path):
    pods = ["unhex-a", "unhex-b", "unhex-c"]
    deployment = the("Deployment")["spec"]
    assert deployment["replicas"] == len(pods)
    program = compile_c(tmp_path)
    with Cluster(tmp_path, image, ["database", "objects", "host", *pods]) as cluster, contextlib.ExitStack() as stack:
        stack.enter_context(database(cluster))
        store = stack.enter_context(objects(cluster, None))
        # The one line that a cluster with an object store of its own adds.
        configs = {"unhex": {name: text + f"s3-endpoint = {store.url}\n" for name, text in the("ConfigMap")["data"].items()}}
        secrets = {"unhex-places": {"PGPASSWORD": PASSWORD, "AWS_ACCESS_KEY_ID": ACCESS, "AWS_SECRET_ACCESS_KEY": SECRET},
                   "unhex-admin-key": {"token": ONE_KEY}}
        running = []
        for name in pods:  # at the same moment: they agree on the first key
            running.append(Pod(cluster, tmp_path, name, deployment["template"], configs, secrets))
        for pod in running:
            pod.wait_started()
        for pod in running:
            wait_for(lambda: pod.passes("readinessProbe") and pod.passes("livenessProbe"), 60)
        key = ONE_KEY
        service, = the("Service")["spec"]["ports"]
        port = running[0].port(service["targetPort"])
        pushed(f"http://{running[0].running.address}:{port}", key, program)
        for pod in running:
            wait_for(lambda: is_named(pod.running, port, key, program))
        check_agent(cluster, tmp_path, key, running[0], service["port"])
        assert running[1].running.stop(running[1].grace) == 0
        assert is_named(running[2].running, port, key, program)


# --- one server


def test_docker_compose_takes_one_server(tmp_path):
    (tmp_path / "server.yaml").write_text((PACKAGING / "compose/server.yaml").read_text())
    (tmp_path / "admin-key").write_text(ONE_KEY)
    done = subprocess.run(["docker-compose", "-f", tmp_path / "server.yaml", "config"], capture_output=True, text=True, timeout=120,
                          check=False)
    assert done.returncode == 0, done.stderr
    service = yaml.safe_load(done.stdout)["services"]["unhex"]
    assert service["command"][0] == "serve" and service["read_only"] is True and service["cap_drop"] == ["ALL"]


def test_one_server_of_compose_runs_and_keeps_what_it_has(image, tmp_path):
    document = yaml.safe_load((PACKAGING / "compose/server.yaml").read_text())
    (name, service), = document["services"].items()
    secret, = service["secrets"]
    key = tmp_path / document["secrets"][secret]["file"]
    key.write_text(ONE_KEY + "\n")
    key.chmod(0o400)
    os.chown(key, IMAGE_USER, IMAGE_USER)  # as the file's comment says
    (outside, inside), = (port.split(":") for port in service["ports"])
    (volume, target), = (v.split(":") for v in service["volumes"])
    assert outside == "8420" and volume in document["volumes"]
    volumes = [(owned(tmp_path / volume), target, False), (key, f"/run/secrets/{secret}", True),
               (owned(tmp_path / "tmp"), *service["tmpfs"], False)]
    program = compile_c(tmp_path)
    with Cluster(tmp_path, image, [name]) as cluster:
        for fresh in (True, False):
            running = cluster.run(name, service["command"], volumes, read_only=service["read_only"])
            running.wait_status(inside, "/readyz")
            if fresh:
                pushed(f"http://{running.address}:{inside}", ONE_KEY, program)
            assert is_named(running, inside, ONE_KEY, program)
            assert running.stop(seconds(service["stop_grace_period"])) == 0
    assert not (tmp_path / volume / "admin-key").exists()


def test_one_pod_runs_and_keeps_what_it_has(image, tmp_path):
    found = {d["kind"]: d for d in manifests("unhex-server.yaml")}
    assert set(found) == {"ConfigMap", "StatefulSet", "Service"}
    whole = found["StatefulSet"]["spec"]
    labels = whole["template"]["metadata"]["labels"]
    assert whole["selector"]["matchLabels"] == labels == found["Service"]["spec"]["selector"]
    assert whole["serviceName"] == found["Service"]["metadata"]["name"] and whole["replicas"] == 1
    claims = [{"name": c["metadata"]["name"], "claim": c["spec"]} for c in whole["volumeClaimTemplates"]]
    secret, = (v["secret"]["secretName"] for v in whole["template"]["spec"]["volumes"] if "secret" in v)
    program = compile_c(tmp_path)
    with Cluster(tmp_path, image, ["unhex-0"]) as cluster:
        for fresh in (True, False):
            pod = Pod(cluster, tmp_path, "unhex-0", whole["template"], {"unhex": found["ConfigMap"]["data"]},
                      {secret: {"token": ONE_KEY}}, claims=claims)
            pod.wait_started()
            wait_for(lambda: pod.passes("readinessProbe") and pod.passes("livenessProbe"), 60)
            service, = found["Service"]["spec"]["ports"]
            port = pod.port(service["targetPort"])
            if fresh:
                pushed(f"http://{pod.running.address}:{port}", ONE_KEY, program)
            assert is_named(pod.running, port, ONE_KEY, program)
            assert pod.running.stop(pod.grace) == 0


# --- the agent

def check_agent(cluster, folder, key, server, port):
    """The pod of the DaemonSet on a host, whose processes are in a namespace of their own."""
    cluster.alias("unhex.unhex.svc", "unhex-a")
    assert server.running.address and port == 8420
    template = the("DaemonSet", "unhex-agent.yaml")["spec"]["template"]
    assert template["spec"]["hostPID"] is True
    place = folder / "programs"
    for name in ("new", "old"):
        (place / name).mkdir(parents=True)
    program = compile_c(place, "on_the_host", PROGRAM, ("-O1",))
    # The host's script starts what is put into the folder, without the end that is an agent outside of a pod.
    script = HOST.split("shift")[0] + "shift; exec \"$@\""
    agent = Pod(cluster, folder, "host", template, {}, {"unhex-agent": {"token": key}},
                around=("unshare", "-m", "-p", "-f", "--kill-child", "--mount-proc", "sh", "-c", script, "sh", place))
    (place / "new" / "on_the_host").write_bytes(program.read_bytes())
    (place / "new" / "on_the_host").chmod(0o755)
    wait_for(lambda: agent.running.process.poll() is None and is_named(server.running, port, key, program), 60)
    assert agent.passes("livenessProbe")
    assert template["metadata"]["annotations"]["prometheus.io/port"] == str(agent.port("metrics"))
    agent.running.kill()
