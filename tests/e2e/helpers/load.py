# SPDX-License-Identifier: Apache-2.0
"""load.py SECONDS: clients of crash.py at a server, which gets a signal to stop while they are at work."""
import pathlib
import sys
import tempfile
import time

from unhex_server import Server
from crash import WRITES, Clients
from tool import build_id, compile_c, symbol, unhex
from waiting import pause_for


def main(seconds):
    with tempfile.TemporaryDirectory() as folder:
        prog = compile_c(pathlib.Path(folder))
        gsym = prog.with_suffix(".gsym")
        assert unhex("extract", prog, "-o", gsym).returncode == 0
        server = Server(pathlib.Path(folder) / "data").start()
        clients = Clients(server, gsym.read_bytes(), prog.read_bytes(), build_id(prog),
                          symbol(prog, "outer")[0], seed=1)

        def until():
            pause_for(seconds, "the clients are at work")
            clients.killed_at = time.monotonic()
            status = server.stop()
            assert status == 0, (status, server.data.with_suffix(".log").read_text()[-10000:])
        try:
            clients.run(until)
        finally:
            server.stop()
        assert all(clients.answers[what] > 0 for what in WRITES), clients.answers
        print(f"load: {dict(clients.answers)}")


if __name__ == "__main__":
    main(float(sys.argv[1]))
