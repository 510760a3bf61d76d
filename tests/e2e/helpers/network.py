# SPDX-License-Identifier: Apache-2.0
"""Machines of a test: network namespaces with an address each, on a switch that is in a namespace of its own. Only root can
make them. The test itself is one more machine on the switch."""
import contextlib
import dataclasses
import functools
import os
import random
import subprocess

FAMILY = "198.18"  # RFC 2544: for tests of networks, so that no real one has it


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@functools.cache
def can_be_made():
    """Are there network namespaces for us?"""
    name = f"unhex{os.getpid()}-try"
    if os.geteuid() != 0 or subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode != 0:
        return False
    made = subprocess.run(["ip", "-n", name, "link", "add", "one", "type", "veth", "peer", "name", "two"], capture_output=True, check=False)
    bridge = subprocess.run(["ip", "-n", name, "link", "add", "switch0", "type", "bridge"], capture_output=True, check=False)
    ip("netns", "del", name)
    return made.returncode == bridge.returncode == 0


@dataclasses.dataclass
class Machine:
    namespace: str
    switch: str
    port: str
    address: str

    @property
    def around(self):
        """A command that becomes another one on this machine."""
        return ("nsenter", f"--net=/run/netns/{self.namespace}", "--")

    def cut(self):
        """Pulls its cable: what is sent is lost, and no connection is told."""
        ip("-n", self.switch, "link", "set", self.port, "down")

    def join(self):
        ip("-n", self.switch, "link", "set", self.port, "up")


class Network:
    def __enter__(self):
        self.name = f"unhex{os.getpid()}"
        self.switch = f"{self.name}-switch"
        self.net = self._free_net()
        self.machines = 1
        self.namespaces = [self.switch]
        try:
            ip("netns", "add", self.switch)
            ip("-n", self.switch, "link", "add", "switch", "type", "bridge")
            ip("-n", self.switch, "link", "set", "switch", "up")
            # A name of an interface has 15 characters at most.
            ip("link", "add", f"ux{os.getpid()}", "type", "veth", "peer", "name", "p1", "netns", self.switch)
            ip("addr", "add", f"{self.address}/24", "dev", f"ux{os.getpid()}")
            ip("link", "set", f"ux{os.getpid()}", "up")
            ip("-n", self.switch, "link", "set", "p1", "master", "switch", "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in self.namespaces:
            with contextlib.suppress(subprocess.CalledProcessError):
                ip("netns", "del", name)  # both ends of a pair go with one of them

    @property
    def address(self):
        """That of the test itself."""
        return f"{self.net}.1"

    @staticmethod
    def _free_net():
        used = subprocess.run(["ip", "-o", "addr"], check=True, capture_output=True, text=True).stdout
        free = [f"{FAMILY}.{i}" for i in range(256) if f" {FAMILY}.{i}." not in used]
        return random.SystemRandom().choice(free)

    def machine(self):
        self.machines += 1
        name, port = f"{self.name}-{self.machines}", f"p{self.machines}"
        machine = Machine(name, self.switch, port, f"{self.net}.{self.machines}")
        self.namespaces.append(name)
        ip("netns", "add", name)
        ip("-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", self.switch)
        ip("-n", name, "addr", "add", f"{machine.address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            ip("-n", name, "link", "set", device, "up")
        ip("-n", self.switch, "link", "set", port, "master", "switch", "up")
        return machine
