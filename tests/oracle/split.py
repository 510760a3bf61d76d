#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Splits real binaries with `unhex split` and compares what others read of them before and after.

    tests/oracle/split.py [--unhex PATH] [--most N] [--seed N] [--lldb N] [PATH...]

Each ELF file with debug information or symbols in the given files and folders (default: the system's, and
the corpus) is copied, together with its separate debug file if it has one (eu-unstrip joins them), split with
changing options, and then:

* eu-elflint and readelf find nothing wrong in either part that they did not find in the whole file or in what
  binutils' strip makes of it;
* gdb names the same lines (or those that it names after binutils' objcopy and strip), and unhex the same frames,
  at the same addresses;
* lldb does, for a sample (it is slow);
* a program prints the same for --version, a library can be loaded.

Prints a line for each difference, then the counts. Status 1: something differs.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

ROOTS = ["/usr", "/opt", os.path.expanduser("~")]
TOOLS_SECONDS = 120
POINTS = 25
MODES = [
    [],
    ["--strip=unneeded"],
    ["--strip=all", "--compress=zlib"],
    ["--strip=debug", "--compress=none"],
    ["--strip=unneeded", "--add-build-id"],
]
# gdb 13 and elfutils 0.188 of Debian 12 read zstd only where they are built with it.
DEBUG_FOLDERS = ["/usr/lib/debug"]


def run(args, **more):
    try:
        return subprocess.run(
            args, capture_output=True, text=True, errors="replace", timeout=TOOLS_SECONDS, **more
        )
    except PermissionError:
        return subprocess.CompletedProcess(args, 126, "", "may not be executed")
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(args, 124, "", "timeout")


def section_names(path):
    """Names of the sections of a 64-bit little-endian ELF file, and its type; None for another file."""
    try:
        with open(path, "rb") as file:
            head = file.read(64)
            if len(head) < 64 or head[:4] != b"\x7fELF" or head[4:6] != b"\x02\x01":
                return None
            (off,) = struct.unpack_from("<Q", head, 40)
            count, names = struct.unpack_from("<HH", head, 60)
            file.seek(off)
            table = file.read(count * 64)
            start, size = struct.unpack_from("<QQ", table, names * 64 + 24)
            file.seek(start)
            text = file.read(size)
            found = {}
            for i in range(count):
                name, kind = struct.unpack_from("<II", table, i * 64)
                found[text[name : text.index(0, name)].decode()] = kind
            return struct.unpack_from("<H", head, 16)[0], found
    except (OSError, struct.error, ValueError):
        return None


def build_id(path):
    got = re.search(r"Build ID: ([0-9a-f]+)", run(["readelf", "-nW", path]).stdout)
    return got and got[1]


def debug_file(path, folders):
    found = build_id(path)
    for folder in folders if found else []:
        debug = f"{folder}/.build-id/{found[:2]}/{found[2:]}.debug"
        if os.path.exists(debug):
            return debug
    return None


def candidates(roots, folders, most_bytes):
    """(path, debug file or None) of all files that can be split."""
    for root in roots:
        walk = os.walk(root) if os.path.isdir(root) else [(os.path.dirname(root), [], [os.path.basename(root)])]
        for folder, below, names in walk:
            below.sort()
            if folder.startswith("/usr/lib/debug"):
                below[:] = []
                continue
            for name in sorted(names):
                path = os.path.join(folder, name)
                if os.path.islink(path) or not 64 < os.path.getsize(path) <= most_bytes:
                    continue
                got = section_names(path)
                if not got or got[0] not in (1, 2, 3) or (got[0] == 1 and not name.endswith(".ko")):
                    continue
                if got[1].get(".text", 1) == 8:  # SHT_NOBITS: a debug file
                    continue
                if ".debug_info" in got[1]:
                    yield path, None
                    continue
                debug = debug_file(path, folders)
                if debug:
                    yield path, debug


def points(path, random_):
    """Addresses inside of functions."""
    text = run(["readelf", "-sW", path]).stdout
    found = []
    for line in text.splitlines():
        part = line.split()
        if len(part) >= 8 and part[3] == "FUNC" and part[6] not in ("UND", "ABS"):
            try:
                size = int(part[2], 0)
                found.append(int(part[1], 16) + (random_.randrange(size) if size else 0))
            except ValueError:
                pass
    found = sorted(set(found))
    return sorted(random_.sample(found, min(POINTS, len(found))))


def gdb(path, pcs):
    args = ["gdb", "-nx", "-batch", "-iex", "set auto-load no", "-iex", "set debuginfod enabled off"]
    # The system's file of the same build ID may have a form that its gdb does not read.
    args += ["-iex", "set debug-file-directory /nonexistent"]
    for pc in pcs:
        args += ["-ex", f"info line *{pc:#x}", "-ex", f"info symbol {pc:#x}"]
    got = run(args + [path])
    # With a separate file, gdb says of which file a section is.
    lines = got.stdout.splitlines()
    # And versions of names come from .dynsym alone, which is not in the same file as .symtab.
    lines = [re.sub(r"@@?[A-Z][\w.]+", "", line) for line in lines]
    return [re.sub(r" of /\S+$", "", line) for line in lines if not line.startswith("Reading symbols")]


def lldb(path, pcs):
    name = shutil.which("lldb-14") or shutil.which("lldb")
    assert name, "lldb is not installed"
    args = [name, "-x", "-b", "-o", "settings set symbols.enable-external-lookup false"]
    for pc in pcs:
        args += ["-o", f"image lookup -a {pc:#x}"]
    text = run(args + [path]).stdout
    return [re.sub(r"\(.*?\)", "", line) for line in text.splitlines() if "Summary:" in line]


def unhex_lookup(unhex, path, pcs):
    env = dict(os.environ, DEBUGINFOD_URLS="")
    got = run([unhex, "lookup", path, "--json", *[hex(pc) for pc in pcs]], env=env)
    return got.stdout.splitlines()


def lint(path, debug):
    got = run(["eu-elflint", "--gnu-ld", *(["-d"] if debug else []), path])
    lines = (got.stdout + got.stderr).splitlines()
    # Numbers and the names of sections that precede a finding differ between the files.
    return collections.Counter(re.sub(r"0x[0-9a-f]+|\d+", "#", line) for line in lines if line != "No errors")


def split_by_binutils(path, mode, folder):
    """The file as `strip` leaves it, with its debug information beside it as `objcopy` takes it out: what binutils'
    pair shows too is not a fault of ours. None where binutils cannot."""
    os.mkdir(os.path.join(folder, "binutils"))
    stripped = os.path.join(folder, "binutils", os.path.basename(path))
    debug = stripped + ".debug"
    option = next((m for m in mode if m.startswith("--strip=")), "--strip=debug").replace("=", "-")
    for args in (
        ["objcopy", "--only-keep-debug", path, debug],
        ["strip", option, "-o", stripped, path],
        ["objcopy", f"--add-gnu-debuglink={debug}", stripped],
    ):
        if run(args).returncode != 0:
            return None
    return stripped


def readelf_warnings(path):
    """Of any debug file, those of binutils too, readelf says that the interpreter's name is not in it."""
    got = run(["readelf", "-aW", path])
    got.stderr = got.stderr.replace("readelf: Error: Unable to find program interpreter name\n", "")
    return collections.Counter(re.sub(r"0x[0-9a-f]+|\d+", "#", line) for line in got.stderr.splitlines())


def answer(path, kind):
    """What a program prints, or whether a library can be loaded."""
    if kind == 1:
        return None
    if os.path.basename(path).startswith("lib") or ".so" in path:
        code = "import ctypes,sys; ctypes.CDLL(sys.argv[1])"
        got = run([sys.executable, "-c", code, path])
        return got.returncode, [re.sub(r"==\d+==", "==PID==", line) for line in got.stderr.splitlines()[-1:]]
    got = run([path, "--version"], stdin=subprocess.DEVNULL, cwd=os.path.dirname(path))
    return got.returncode, got.stdout[:2000]


def differences(before, after):
    return [f"{a} -> {b}" for a, b in zip(before, after) if a != b][:2] or (
        [] if len(before) == len(after) else [f"{len(before)} -> {len(after)} lines"]
    )


def try_one(args, number, path, debug, with_lldb):
    """Returns (path, list of what differs, counts)."""
    random_ = random.Random(f"{args.seed} {path}")
    bad, counts = [], collections.Counter()
    kind = section_names(path)[0]
    with tempfile.TemporaryDirectory(prefix="split.") as folder:
        copy = os.path.join(folder, os.path.basename(path))
        if debug:
            got = run(["eu-unstrip", "-o", copy, path, debug])
            if got.returncode != 0:
                return path, [], collections.Counter(left_out=1)
            shutil.copymode(path, copy)
        else:
            shutil.copy2(path, copy)
        mode = MODES[number % (len(MODES) - (kind == 1) * 2)]
        if kind == 1 and "--strip=all" in mode:
            mode = []
        whole_lint, whole_readelf = lint(copy, False), readelf_warnings(copy)
        theirs = split_by_binutils(copy, mode, folder)
        if theirs:
            whole_lint |= lint(theirs, False)  # IRELATIVE of static programs refers to the table of symbols
        pcs = points(copy, random_)
        was = gdb(copy, pcs), unhex_lookup(args.unhex, copy, pcs), answer(copy, kind)
        with_lldb = with_lldb and kind != 1  # of a relocatable file it has no addresses
        was_lldb = lldb(copy, pcs[:8]) if with_lldb else None
        got = run([args.unhex, "split", "--json", *mode, copy])
        if got.returncode != 0:
            if "hard links" in got.stderr or "belong to none" in got.stderr or "signed" in got.stderr:
                return path, [], collections.Counter(left_out=1)
            return path, [f"split: {got.stderr.strip()}"], counts
        counts["split"] += 1
        side = json.loads(got.stdout)["debug"]
        for part, is_debug in ((copy, False), (side, True)):
            for line in lint(part, is_debug) - whole_lint:
                bad.append(f"eu-elflint {'-d ' if is_debug else ''}{line}")
            for line in readelf_warnings(part) - whole_readelf:
                bad.append(f"readelf {'debug' if is_debug else 'stripped'}: {line}")
        counts["addresses"] += len(pcs)
        now = gdb(copy, pcs)
        if now != was[0] and theirs and now == gdb(theirs, pcs):
            counts["as_binutils"] += 1  # gdb reads the tables of a separate file in another order
        else:
            bad += ["gdb: " + d for d in differences(was[0], now)]
        bad += ["unhex: " + d for d in differences(was[1], unhex_lookup(args.unhex, copy, pcs))]
        if answer(copy, kind) != was[2]:
            bad.append(f"run: {was[2]} -> {answer(copy, kind)}")
        elif was[2] and was[2][0] == 0:
            counts["ran"] += 1
        if with_lldb:
            counts["lldb"] += 1
            bad += ["lldb: " + d for d in differences(was_lldb, lldb(copy, pcs[:8]))]
    return path, bad, counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--unhex", default="build/cli/unhex")
    parser.add_argument("--most", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lldb", type=int, default=50)
    parser.add_argument("--bytes", type=int, default=64 << 20, help="of the largest file")
    parser.add_argument("--debug-dir", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("paths", nargs="*")
    args = parser.parse_args()
    args.unhex = os.path.abspath(args.unhex)
    folders = DEBUG_FOLDERS + args.debug_dir
    found = list(candidates(args.paths or ROOTS, folders, args.bytes))
    chosen = sorted(random.Random(args.seed).sample(found, min(args.most, len(found))))
    sums, wrong = collections.Counter(), 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        step = max(1, len(chosen) // args.lldb) if args.lldb else 0
        jobs = [
            pool.submit(try_one, args, i, path, debug, bool(step) and i % step == 0)
            for i, (path, debug) in enumerate(chosen)
        ]
        for job in concurrent.futures.as_completed(jobs):
            path, bad, counts = job.result()
            sums += counts
            wrong += bool(bad)
            for line in bad:
                print(f"{path}: {line}", flush=True)
    print(
        f"{len(found)} found, {len(chosen)} tried, {sums['split']} split, {sums['left_out']} left out, "
        f"{sums['addresses']} addresses, {sums['ran']} ran, {sums['lldb']} read by lldb, {wrong} differ; "
        f"gdb reads {sums['as_binutils']} otherwise than whole, and the same from what binutils splits"
    )
    return 1 if wrong or not sums["split"] else 0


if __name__ == "__main__":
    sys.exit(main())
