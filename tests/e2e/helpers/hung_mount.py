# SPDX-License-Identifier: Apache-2.0
"""A file system of FUSE that can stop answering, without libfuse: one file, which is a program that runs from it.

As a program: hung_mount.py FOLDER PROGRAM, in a mount namespace of its own. While FOLDER.hold exists, it answers none of
the requests whose names stand there; FOLDER.held then lists those that wait. The kernel lets no signal end a process that
waits for such an answer.
"""
import contextlib
import ctypes
import os
import pathlib
import select
import signal
import struct
import subprocess
import sys

from waiting import wait_for

NAMES = {1: "LOOKUP", 2: "FORGET", 3: "GETATTR", 14: "OPEN", 15: "READ", 17: "STATFS", 18: "RELEASE", 25: "FLUSH", 26: "INIT",
         36: "INTERRUPT", 38: "DESTROY", 42: "BATCH_FORGET"}
SILENT = ("FORGET", "INTERRUPT", "BATCH_FORGET")  # they have no answer
ENOENT, ENOSYS = 2, 38
ROOT, FILE = 1, 2
STEP_S = 0.05


class Server:
    def __init__(self, folder, program):
        self.content = pathlib.Path(program).read_bytes()
        self.hold, self.held = pathlib.Path(f"{folder}.hold"), pathlib.Path(f"{folder}.held")
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        libc = ctypes.CDLL(None, use_errno=True)
        data = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
        if libc.mount(b"hung", os.fsencode(folder), b"fuse", 0, data) != 0:
            raise OSError(ctypes.get_errno(), "mount")

    def attributes(self, node):
        size, mode = (len(self.content), 0o100755) if node == FILE else (0, 0o40755)
        return struct.pack("<6Q10I", node, size, (size + 511) // 512, 1, 1, 1, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def answer(self, name, node, body):
        """An error number, or the bytes of the answer. Nothing is kept in the kernel's caches of names and attributes."""
        if name == "INIT":
            return struct.pack("<4I2H2I2H2I", 7, 31, 0, 0, 16, 12, 1 << 16, 1, 16, 0, 0, 0) + bytes(24)
        if name == "LOOKUP":
            known = body.split(b"\0")[0] == b"program"
            return struct.pack("<4Q2I", FILE, 1, 0, 0, 0, 0) + self.attributes(FILE) if known else ENOENT
        if name == "GETATTR":
            return struct.pack("<Q2I", 0, 0, 0) + self.attributes(node)
        if name == "OPEN":
            return struct.pack("<Q2I", 1, 0, 0)
        if name == "READ":
            offset, size = struct.unpack_from("<QI", body, 8)
            return self.content[offset:offset + size]
        if name == "STATFS":
            return struct.pack("<5Q4I", 1, 0, 0, 1, 0, 4096, 255, 4096, 0) + bytes(24)
        return b"" if name in ("RELEASE", "FLUSH", "DESTROY") else ENOSYS

    def send(self, name, unique, node, body):
        result = self.answer(name, node, body)
        error, data = (-result, b"") if isinstance(result, int) else (0, result)
        with contextlib.suppress(OSError):  # the process that asked was killed before the request was read
            os.write(self.fd, struct.pack("<IiQ", 16 + len(data), error, unique) + data)

    def held_names(self):
        try:
            return self.hold.read_text().split()
        except FileNotFoundError:
            return []

    def serve(self):
        waiting = []
        while True:
            held = self.held_names()
            for request in [r for r in waiting if r[0] not in held]:
                waiting.remove(request)
                self.send(*request)
            self.held.write_text(" ".join(r[0] for r in waiting))
            if not select.select([self.fd], [], [], STEP_S)[0]:
                continue
            message = os.read(self.fd, 1 << 20)
            _, code, unique, node = struct.unpack_from("<IIQQ", message)
            name = NAMES.get(code, str(code))
            if name not in SILENT:
                waiting.append((name, unique, node, message[40:]))


def main(folder, program):
    server = Server(folder, program)
    if os.fork() == 0:  # no thread: starting a program suspends all of them, and it waits for the server
        server.serve()
    os.close(server.fd)
    env = {**os.environ, "DOTNET_PerfMapJitDumpPath": folder}  # where the agent looks for lists of run-time code
    process = subprocess.Popen([f"{folder}/program", "600000"], stdout=subprocess.PIPE, env=env)
    process.stdout.readline()
    print("ready", flush=True)
    signal.pause()


class HungMount:
    """The program, running from a mount in a namespace of its own."""

    def __init__(self, folder, program):
        folder.mkdir()
        self.folder, self.marker, self.held = folder, pathlib.Path(f"{folder}.hold"), pathlib.Path(f"{folder}.held")
        self.process = subprocess.Popen(["unshare", "-m", sys.executable, "-B", __file__, folder, program], stdout=subprocess.PIPE,
                                        text=True, start_new_session=True)
        assert self.process.stdout.readline() == "ready\n"

    def hang(self, *names):
        self.marker.write_text(" ".join(names))

    def answer(self):
        self.marker.unlink(missing_ok=True)

    def wait_held(self, seconds=60):
        """Until somebody waits for an answer."""
        wait_for(lambda: self.held.read_text().strip(), seconds)

    def end(self):
        """Its end aborts all requests, so nothing hangs on."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


@contextlib.contextmanager
def hung_mount(folder, program):
    mount = HungMount(folder, program)
    try:
        yield mount
    finally:
        mount.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
