#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the size of a store: bytes of index and resident memory for each module, and bytes of a GSYM against
its debug information.

bench/store_size.py UNHEX [--modules N] [FILE...]: N modules of a small GSYM are uploaded, each with two IDs and
a file name; FILE is an ELF file with debug information.
"""
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/e2e/helpers"))


def resident(pid):
    """Returns bytes of anonymous memory."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", status)[1]) << 10


def tree_bytes(folder):
    return sum(p.stat().st_blocks * 512 for p in folder.rglob("*") if p.is_file())


def upload_all(server, gsym, n):
    from http_api import Api, with_uuid

    def some(part):
        api = Api(server)
        for i in range(part, n, 4):
            uuid = hashlib.sha1(str(i).encode()).digest()
            ids = [f"gnu:{uuid.hex()}", f"file:{uuid.hex()[:32]}"]
            status, doc, _ = api.upload(ids, with_uuid(gsym, uuid), file=f"/usr/lib/x86_64-linux-gnu/lib{i}.so.1")
            assert status == 200, doc

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(some, range(4)))


def of_modules(n):
    """Prints one line: the size of n modules."""
    from unhex_server import Server
    from tool import compile_c, unhex

    with tempfile.TemporaryDirectory() as top:
        top = pathlib.Path(top)
        prog = compile_c(top)
        assert unhex("extract", prog, "-o", top / "gsym").returncode == 0
        server = Server(top / "data").start()
        before = resident(server.process.pid)
        upload_all(server, (top / "gsym").read_bytes(), n)
        after = resident(server.process.pid)
        assert server.stop() == 0  # after that the log is in the index
        index = (server.data / "index.sqlite").stat().st_size
        server.start()
        again = resident(server.process.pid)
        server.stop()
        print(f"{n} modules: index {index} bytes, {index / n:.0f} a module; "
              f"files {tree_bytes(server.data / 'blobs') / n:.0f} bytes a blob of {(top / 'gsym').stat().st_size}; "
              f"memory {before / 1e6:.1f} MB empty, {after / 1e6:.1f} MB after the uploads, {again / 1e6:.1f} MB started again")


def of_file(command, path):
    """One line: the GSYM of a file against its debug information."""
    listing = subprocess.run(["readelf", "-SW", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    debug = sum(int(size, 16) for size in re.findall(r"\] \.z?debug_\S+\s+\S+\s+\S+\s+\S+\s+(\S+)", listing))
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run([command, "extract", path, "-o", out.name], check=True, stdout=subprocess.DEVNULL)
        size = pathlib.Path(out.name).stat().st_size
    print(f"{pathlib.Path(path).name}: file {pathlib.Path(path).stat().st_size} bytes, debug sections {debug}, "
          f"GSYM {size} ({size / max(debug, 1):.2f} of the sections)")


def main():
    """Prints one line for the modules and one for each file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command")
    parser.add_argument("--modules", type=int, default=5000)
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()

    os.environ["UNHEX"] = args.command
    of_modules(args.modules)
    for path in args.files:
        of_file(args.command, path)


if __name__ == "__main__":
    main()
