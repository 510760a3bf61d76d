# SPDX-License-Identifier: Apache-2.0
"""Where the parts of a fleet run, and how one node is cut off: as machines in network namespaces, or on loopback."""
import contextlib
import select
import socket
import threading

from fleet import free_port
from network import FAMILY, Network
from postgres_server import Postgres
from radosgw_server import Radosgw

NODES = 3
CUT = 2  # the node that is cut off


class Machines:
    """Each node, the database, the balancer and each client has a namespace of its own. The bucket is on the test's machine."""

    def __init__(self, clients=2):
        self.network = Network()
        self.n_clients = clients

    def __enter__(self):
        self.network.__enter__()
        try:
            make = self.network.machine
            self.database, self.balancer, self.nodes = make(), make(), [make() for _ in range(NODES)]
            self.clients = [make() for _ in range(self.n_clients)]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.network.__exit__()

    def postgres(self):
        return Postgres("-c", f"listen_addresses={self.database.address}", around=self.database.around,
                        access=f"{FAMILY}.0.0/15 trust")

    def radosgw(self):
        return Radosgw(address=self.network.address)

    def index(self, _postgres, name, _node):
        return f"postgresql://unhex@{self.database.address}/{name}"

    def around(self, node):
        return self.nodes[node].around

    def listen(self, node):
        return f"{self.nodes[node].address}:8420"

    def behind(self, nodes):
        """Addresses for the balancer."""
        return [node.url.split("//")[1] for node in nodes]

    @property
    def front(self):
        return f"{self.balancer.address}:8420"

    @property
    def balancer_around(self):
        return self.balancer.around

    @property
    def workers(self):
        return [client.around for client in self.clients]

    hosts = workers

    @property
    def address(self):
        """Of the test, for those on the machines."""
        return self.network.address

    def cut(self):
        self.nodes[CUT].cut()

    def join(self):
        self.nodes[CUT].join()


class Link:
    """A port from which bytes go to another place, until it is cut: then they wait, as behind a dead switch."""

    def __init__(self, connect):
        self.connect = connect
        self.open = threading.Event()
        self.open.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                threading.Thread(target=self._carry, args=(near,), daemon=True).start()

    def _carry(self, near):
        self.open.wait()
        try:
            far = self.connect()
        except OSError:
            near.close()
            return
        with near, far, contextlib.suppress(OSError):
            while True:
                ready, _, _ = select.select([near, far], [], [], 0.2)
                self.open.wait()
                for one in ready:
                    data = one.recv(1 << 16)
                    if not data:
                        return
                    (far if one is near else near).sendall(data)

    def close(self):
        self.open.set()
        self.listener.close()


class Loopback:
    """For users who cannot make namespaces: the node that is cut off reaches the database, and is reached, through links. There
    are no hosts, whose agents would see what else runs here."""
    workers, hosts = [(), ()], []
    balancer_around = ()
    address = "127.0.0.1"

    def __init__(self):
        self.links = []
        self.front = f"127.0.0.1:{free_port()}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for link in self.links:
            link.close()

    def link(self, connect):
        self.links.append(Link(connect))
        return self.links[-1].port

    def postgres(self):
        return Postgres()

    def radosgw(self):
        return Radosgw()

    def index(self, postgres, name, node):
        if node != CUT:
            return postgres.url(name)
        port = self.link(lambda: unix_socket(postgres.data + "/.s.PGSQL.5432"))
        return f"postgresql://unhex@127.0.0.1:{port}/{name}"

    def around(self, _node):
        return ()

    def listen(self, _node):
        return f"127.0.0.1:{free_port()}"

    def behind(self, nodes):
        own = [node.url.split("//")[1] for node in nodes]
        host, port = own[CUT].split(":")
        own[CUT] = f"127.0.0.1:{self.link(lambda: socket.create_connection((host, int(port)), timeout=5))}"
        return own

    def cut(self):
        for link in self.links:
            link.open.clear()

    def join(self):
        for link in self.links:
            link.open.set()


def unix_socket(path):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(5)
    s.connect(path)
    s.settimeout(None)
    return s
