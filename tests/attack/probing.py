# SPDX-License-Identifier: Apache-2.0
"""Probes from processes of their own: how long /healthz takes at several addresses, and what this machine adds to that.

Run as a program it asks each NAME=HOST:PORT of its arguments every 20 ms, on a new connection each time, until its standard
input ends, and prints when each probe began and how long it took."""
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import threading
import time

from waiting import wait_for

EVERY_S = 0.02
GIVE_UP_S = 30
MACHINE = "machine"  # a listener that does no work
REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def probe(address):
    """Seconds until the whole answer is there; GIVE_UP_S if none came."""
    begun = time.monotonic()
    try:
        with socket.create_connection(address, timeout=GIVE_UP_S) as s:
            s.sendall(REQUEST)
            answer = b""
            while piece := s.recv(4096):
                answer += piece
        return time.monotonic() - begun if answer.startswith(b"HTTP/1.1 200 ") else GIVE_UP_S
    except OSError:
        return GIVE_UP_S


def serve(listener):
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(ANSWER)


def watch(name, address):
    while not select.select([0], [], [], EVERY_S)[0]:
        begun = time.monotonic()
        os.write(1, f"{name} {begun} {probe(address)}\n".encode())


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    addresses = {MACHINE: listener.getsockname()}
    for argument in sys.argv[1:]:
        name, _, address = argument.partition("=")
        host, _, port = address.rpartition(":")
        addresses[name] = (host, int(port))
    children = []
    for run in [lambda: serve(listener)] + [lambda n=n, a=a: watch(n, a) for n, a in addresses.items()]:
        children.append(os.fork())
        if children[-1] == 0:
            run()
            os._exit(0)
    for child in children[1:]:
        os.waitpid(child, 0)
    os.kill(children[0], signal.SIGKILL)


class Probing:
    """Probes the addresses (by name) until it is closed."""

    def __init__(self, **addresses):
        self.names = (MACHINE, *addresses)
        self.samples = {name: [] for name in self.names}  # (when it began, how long it took)
        self.process = subprocess.Popen(
            [sys.executable, "-B", pathlib.Path(__file__), *(f"{n}={a}" for n, a in addresses.items())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parents[1] / "e2e/helpers")})
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        self.settle()

    def _read(self):
        for line in self.process.stdout:
            name, begun, took = line.split()
            self.samples[name].append((float(begun), float(took)))

    def settle(self):
        """Waits until all probes have ended that have begun until now."""
        now = time.monotonic()
        wait_for(lambda: all(s and s[-1][0] > now for s in self.samples.values()), 3 * GIVE_UP_S)

    def since(self, when, name):
        """The seconds of each probe that has ended since then, in order."""
        return [took for begun, took in self.samples[name] if begun + took >= when]

    def delays(self, when, name):
        """The same, from the largest, without what a listener that does no work took at the same time."""
        def machine(begin, end):
            return max((took for begun, took in self.samples[MACHINE] if begun <= end and begun + took >= begin), default=0)
        return sorted((took - machine(begun, begun + took) for begun, took in self.samples[name] if begun + took >= when),
                      reverse=True)

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(2 * GIVE_UP_S)
            self.thread.join()
            self.process.stdout.close()


if __name__ == "__main__":
    main()
