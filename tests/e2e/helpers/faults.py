# SPDX-License-Identifier: Apache-2.0
"""A server whose disk and clock do what a test says: faults.c, preloaded."""
import contextlib
import errno
import mmap
import pathlib
import struct
import subprocess

from unhex_server import Server

NOTHING, COUNT, FAIL_ONE, FAIL_ON, KILL = range(5)
FIELDS = struct.Struct("=6Iq32s")


class Faults:
    """The page that faults.c looks at at each call."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.library = folder / "faults.so"
        self.page = folder / "faults.page"
        subprocess.run(["gcc", "-O2", "-Wall", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o",
                        self.library, pathlib.Path(__file__).with_name("faults.c"), "-ldl"],
                       check=True)
        self.page.write_bytes(bytes(4096))
        with open(self.page, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), 4096)

    def server(self, data, **more):
        """Not started."""
        return Server(data, environment={"LD_PRELOAD": str(self.library),
                                         "UX_FAULTS": str(self.page),
                                         "UX_FAULTS_DIR": f"{data}/"}, **more)

    def arm(self, action, at=1, error=errno.ENOSPC):
        """From now on; calls are counted from 1."""
        struct.pack_into("=I", self.map, 0, NOTHING)
        struct.pack_into("=4I", self.map, 4, error, at, 0, 0)
        self.map[32:64] = bytes(32)
        struct.pack_into("=I", self.map, 0, action)

    def disarm(self):
        struct.pack_into("=I", self.map, 0, NOTHING)

    @contextlib.contextmanager
    def armed(self, *args, **more):
        self.arm(*args, **more)
        try:
            yield self
        finally:
            self.disarm()

    def clock(self, seconds):
        """How far the time of day is off."""
        struct.pack_into("=q", self.map, 24, seconds)

    @property
    def calls(self):
        return FIELDS.unpack_from(self.map)[3]

    @property
    def failed(self):
        return FIELDS.unpack_from(self.map)[4]

    @property
    def what(self):
        """The call that was made to fail last, or at which the server was killed."""
        return FIELDS.unpack_from(self.map)[7].rstrip(b"\0").decode()
