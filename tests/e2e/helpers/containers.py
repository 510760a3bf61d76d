# SPDX-License-Identifier: Apache-2.0
"""Containers of a test without a container runtime or a registry: a machine each (network.py), with the root of our image, the
volumes, names, user and capabilities that a manifest gives them."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import urllib.error
import urllib.request

from network import Network
from tool import ROOT, UNHEX
from waiting import wait_for

IMAGE_USER = 65532
IMAGE_COMMAND = "/usr/bin/unhex"


def make_image(folder):
    """The root that packaging/Containerfile makes."""
    root = folder / "image"
    subprocess.run([ROOT / "packaging/container_root.sh", UNHEX, root], check=True, capture_output=True, text=True)
    return root


class Cluster:
    """Machines that find each other by name."""

    def __init__(self, folder, image, names):
        self.folder, self.image, self.names = folder, image, names
        self.network, self.containers = Network(), []

    def __enter__(self):
        self.network.__enter__()
        self.machines = {name: self.network.machine() for name in self.names}
        self.hosts = self.folder / "hosts"
        self.hosts.write_text("127.0.0.1 localhost\n" + "".join(f"{m.address} {n}\n" for n, m in self.machines.items()))
        return self

    def __exit__(self, *_):
        for container in self.containers:
            container.kill()
        self.network.__exit__()

    def run(self, name, command, volumes=(), environment=None, **how):
        container = Container(self, name, command, volumes, environment, **how)
        self.containers.append(container)
        return container

    def alias(self, name, other):
        """One more name for a machine, as that of a service."""
        with open(self.hosts, "a", encoding="ascii") as file:
            file.write(f"{self.machines[other].address} {name}\n")


class Container:
    def __init__(self, cluster, name, command, volumes=(), environment=None, user=IMAGE_USER, read_only=False, capabilities=(),
                 ours=True, around=()):
        """volumes: (from, to, read-only). ours: of our image, otherwise a command of this machine's."""
        self.address = cluster.machines[name].address
        if ours:
            # Each has its own copy, since mount points are made in it.
            root = cluster.folder / f"{name}.root"
            if not root.exists():
                subprocess.run(["cp", "-a", cluster.image, root], check=True)
            volumes = [*volumes, (cluster.hosts, "/etc/hosts", True)]
        else:
            volumes = [(cluster.hosts, "/etc/hosts", True)]
        spec = {"root": str(root) if ours else None, "mounts": [[str(a), b, ro] for a, b, ro in volumes], "read_only": read_only,
                "user": user, "capabilities": None if capabilities is None else list(capabilities),
                "command": [IMAGE_COMMAND, *command] if ours else [str(c) for c in command]}
        # What the image's ENV gives, and nothing of this process.
        env = {"PATH": os.environ["PATH"], "XDG_DATA_HOME": "/var/lib", "HOME": "/var/lib/unhex", **(environment or {})}
        self.log = cluster.folder / f"{name}.log"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*cluster.machines[name].around, "unshare", "-m", "--propagation", "private", *around, sys.executable, "-B",
                 pathlib.Path(__file__).with_name("run_container.py"), json.dumps(spec)],
                env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        return self.process.wait(60)

    def stop(self, grace_s):
        """As a runtime ends it; its exit status."""
        self.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(grace_s)
        self.process.kill()
        self.process.wait()
        return f"killed after {grace_s} s"

    def text(self):
        return self.log.read_text(errors="replace")

    def status(self, port, path, token=None):
        """Of a GET; 0 when nothing answers."""
        request = urllib.request.Request(f"http://{self.address}:{port}{path}",
                                         headers={"Authorization": f"Bearer {token}"} if token else {})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def wait_status(self, port, path, expected=200, seconds=120):
        def answers():
            assert self.process.poll() is None, self.text()
            return self.status(port, path) == expected
        wait_for(answers, seconds)
