#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Splits wheels of installed Python distributions and checks what pip, Python and gdb make of them.

    tests/oracle/wheels.py [--unhex PATH] [--least N] [NAME...]

A wheel is put together again from the files that RECORD of each named distribution lists (default: all
with a native module that has debug information; the interpreter that runs this decides where they are). It is
split, and then:

* every file but the modules and RECORD is the same, and RECORD has the hash and size of each file;
* `pip install` takes it, pip itself checking nothing more; the modules import;
* gdb names the lines of functions of the whole module also of the split one, once the archive of debug files
  is unpacked beside it, and not before;
* the names that `unhex lookup` gives are the same.

Prints a line for each wheel. Status 1: something differs, or there were fewer wheels than --least.
"""

import argparse
import base64
import csv
import hashlib
import importlib.metadata
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

TOOLS_SECONDS = 600
FUNCTIONS = 20


def run(*args, **more):
    return subprocess.run([*map(str, args)], capture_output=True, text=True, errors="replace",
                          timeout=TOOLS_SECONDS, check=True, **more).stdout


def has_debug_info(path):
    with open(path, "rb") as file:
        if file.read(4) != b"\x7fELF":
            return False
    return " .debug_info " in run("readelf", "-SW", path)


def modules_of(distribution):
    return [str(f) for f in distribution.files or ()
            if ".so" in f.name and f.locate().is_file() and has_debug_info(f.locate())]


def digest(content):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def rebuild(distribution, folder):
    """The wheel that was installed, without what pip added."""
    name = distribution.metadata["Name"].replace("-", "_")
    tag = next(line.removeprefix("Tag: ") for line in distribution.read_text("WHEEL").splitlines()
               if line.startswith("Tag: "))
    path = folder / f"{name}-{distribution.version}-{tag}.whl"
    added = ("INSTALLER", "REQUESTED", "RECORD", "direct_url.json")
    files = [f for f in distribution.files
             if ".." not in f.parts and f.suffix != ".pyc" and f.name not in added and f.locate().is_file()]
    info = next(f.parent for f in distribution.files if f.name == "WHEEL")
    rows = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            content = file.locate().read_bytes()
            rows.append(f"{file},{digest(content)},{len(content)}\n")
            member = zipfile.ZipInfo(str(file), (2020, 2, 3, 4, 5, 6))
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = (0o100755 if ".so" in file.name else 0o100644) << 16
            archive.writestr(member, content)
        archive.writestr(f"{info}/RECORD", "".join([*rows, f"{info}/RECORD,,\n"]))
    return path


def record_faults(path):
    with zipfile.ZipFile(path) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/RECORD"))
        listed = {row[0]: row[1:] for row in csv.reader(io.StringIO(archive.read(name).decode()))}
        yield from (f"{n}: RECORD differs" for n in archive.namelist()
                    if n != name and listed.get(n) != [digest(archive.read(n)), str(len(archive.read(n)))])
        if set(listed) != set(archive.namelist()):
            yield "RECORD lists other files"


def functions_of(path):
    """Addresses and names of some functions with a size."""
    rows = [line.split() for line in run("nm", "-S", "--defined-only", path).splitlines()]
    found = {row[3]: int(row[0], 16) for row in rows if len(row) == 4 and row[2] in "tT"}
    names = sorted(found)
    return {n: found[n] for n in names[:: max(1, len(names) // FUNCTIONS)][:FUNCTIONS]}


def gdb_lines(path, pcs):
    """What gdb says of the lines at these addresses, without the name of the file that it reads."""
    commands = [x for pc in pcs for x in ("-ex", f"info line *{pc:#x}")]
    out = run("gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", *commands, path)
    return [line for line in out.splitlines() if "ddress 0x" in line]


def lookups(unhex, path, pcs):
    rows = run(unhex, "lookup", "--json", path, *map(hex, pcs)).splitlines()
    return [json.loads(row)["frames"] for row in rows]


def try_wheel(unhex, distribution, folder):
    """Faults, as texts; and the sizes of the wheel before and after."""
    wheel = rebuild(distribution, folder)
    whole = wheel.read_bytes()
    run(unhex, "split", wheel)
    symbols = wheel.with_name(wheel.stem + "-debug-symbols.zip")
    faults = list(record_faults(wheel))
    native = modules_of(distribution)
    with zipfile.ZipFile(io.BytesIO(whole)) as before, zipfile.ZipFile(wheel) as after:
        if before.namelist() != after.namelist():
            faults.append("its members differ")
        faults += [f"{n}: changed" for n in before.namelist()
                   if n not in native and not n.endswith("/RECORD") and before.read(n) != after.read(n)]
    site = folder / "site"
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile",
        "--target", site, wheel)
    for name in native:
        original, path = distribution.locate_file(name), site / name
        pcs = list(functions_of(original).values())
        lines = gdb_lines(original, pcs)
        sourced = sum(line.startswith("Line ") for line in lines)
        if any(line.startswith("Line ") for line in gdb_lines(path, pcs)):
            faults.append(f"{name}: has lines without its debug file")
        with zipfile.ZipFile(symbols) as archive:
            archive.extract(name + ".debug", site)
        if gdb_lines(path, pcs) != lines or sourced == 0:
            faults.append(f"{name}: gdb says something else of {len(pcs)} functions, {sourced} with lines")
        if lookups(unhex, path, pcs) != lookups(unhex, original, pcs):
            faults.append(f"{name}: unhex says something else")
        module = name.split(".")[0].replace("/", ".")
        if name.endswith(".so") and ".libs" not in name:
            done = subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": str(site)}, cwd=folder)
            if done.returncode != 0:
                faults.append(f"import {module}: {done.stderr.splitlines()[-1:]}")
    return faults, len(whole), wheel.stat().st_size, len(native)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--unhex", default="build/cli/unhex")
    parser.add_argument("--least", type=int, default=3, help="wheels that have to be tried")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    unhex = pathlib.Path(args.unhex).resolve()
    found = [importlib.metadata.distribution(n) for n in args.names] or list(importlib.metadata.distributions())
    bad = tried = 0
    for distribution in sorted(found, key=lambda d: d.metadata["Name"].lower()):
        if not distribution.read_text("WHEEL") or not modules_of(distribution):
            continue
        folder = pathlib.Path(tempfile.mkdtemp(prefix="unhex-wheels-"))
        try:
            faults, before, after, native = try_wheel(unhex, distribution, folder)
        finally:
            shutil.rmtree(folder)
        tried += 1
        bad += bool(faults)
        print(f"{'bad ' if faults else 'good'} {distribution.metadata['Name']} {distribution.version}: "
              f"{native} modules, {before} -> {after} bytes")
        for fault in faults:
            print(f"     {fault}")
    print(f"{tried} wheels, {bad} with differences")
    return 1 if bad or tried < args.least else 0


if __name__ == "__main__":
    sys.exit(main())
