#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the command over files that are no honest ones: each run ends in success, or in a clear line and
exit status 1, within time and memory, and leaves no half file.

run.py --unhex PROGRAM [--slower N] [--mutate SECONDS] [--seed N] FILE-OR-FOLDER...

--mutate damages copies of the files at random instead: bytes of sections, cuts. --slower is for builds
with a sanitizer, whose time is N times as long and whose memory is not held to the bound."""

import argparse
import os
import random
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

MB = 1 << 20
SECONDS_NONE, SECONDS_PER_MB = 2, 2
MEMORY_NONE, MEMORY_PER_MB = 256 * MB, 256 * MB


class Tally:
    def __init__(self):
        self.runs = 0
        self.good = 0
        self.bad = []

    def add(self, what, problem):
        self.runs += 1
        if problem:
            self.bad.append(f"{what}: {problem}")
            print(f"malformed: {what}: {problem}", flush=True)


def limits():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(args, command):
    """Exit status (negative: a signal), standard error, processor seconds, bytes of memory."""
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            [args.unhex, *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            preexec_fn=limits,
        )
        timeout = threading.Timer(120 * args.slower, os.kill, (child.pid, signal.SIGKILL))
        timeout.start()
        _, status, usage = os.wait4(child.pid, 0)
        timeout.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        text = errors.read().decode("utf-8", "replace")
    return child.returncode, text, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def problem_of(args, size, outcome):
    code, text, seconds, memory = outcome
    lines = text.splitlines()
    if code not in (0, 1):
        return f"ends with {code}: {text[-2000:]}"
    if any(not line.startswith("unhex: ") for line in lines):
        return f"says {text[:400]!r}"
    if any(len(line) > 1000 for line in lines) or len(lines) > 8:
        return f"says too much: {len(lines)} lines"
    if seconds > (SECONDS_NONE + SECONDS_PER_MB * size / MB) * args.slower:
        return f"takes {seconds:.1f} s of {size} bytes"
    if args.slower == 1 and memory > MEMORY_NONE + MEMORY_PER_MB * size / MB:
        return f"takes {memory // MB} MiB of {size} bytes"
    return None


def check(args, tally, path, name):
    size = os.path.getsize(path)
    with tempfile.TemporaryDirectory() as folder:
        gsym = os.path.join(folder, "out.gsym")
        commands = [
            ["id", path],
            ["extract", path, "-o", gsym],
            ["extract", "--no-dwarf", path, "-o", os.path.join(folder, "symbols.gsym")],
            ["lookup", path, "0x0", "0x401136", "0x1139", "0xffffffffffffffff"],
        ]
        for command in commands:
            outcome = run(args, command)
            problem = problem_of(args, size, outcome)
            if not problem and outcome[0] == 1 and not outcome[1] and command[0] != "lookup":
                problem = "fails without a word"
            tally.add(f"{command[0]} {name}", problem)
            tally.good += command[0] == "extract" and outcome[0] == 0
            if command[0] == "extract" and os.path.exists(command[-1]) != (outcome[0] == 0):
                tally.add(f"extract {name}", "leaves a file though it failed, or none")
        if os.path.exists(gsym):
            for command in (["gsym", "verify", gsym], ["lookup", gsym, "0x1139"]):
                outcome = run(args, command)
                problem = problem_of(args, size, outcome)
                if not problem and command[0] == "gsym" and outcome[0] != 0:
                    problem = f"is not valid: {outcome[1]}"
                tally.add(f"{command[0]} {name}", problem)
        left = sorted(set(os.listdir(folder)) - {"out.gsym", "symbols.gsym"})
        if left:
            tally.add(f"extract {name}", f"leaves {left}")


def files_of(paths):
    for path in paths:
        if not os.path.isdir(path):
            yield path
            continue
        for folder, folders, names in os.walk(path):
            folders.sort()
            for name in sorted(names):
                yield os.path.join(folder, name)


def places(data):
    """(offset, size) of the section headers, the file's header and each section of a 64-bit file."""
    found = [(0, 64)]
    if len(data) < 64 or data[4] != 2 or data[5] != 1:
        return found + [(0, len(data))]
    off = struct.unpack_from("<Q", data, 0x28)[0]
    count = struct.unpack_from("<H", data, 0x3C)[0]
    found.append((off, count * 64))
    for i in range(count):
        at = off + i * 64
        if at + 64 > len(data):
            break
        kind, = struct.unpack_from("<I", data, at + 4)
        start, size = struct.unpack_from("<QQ", data, at + 24)
        if kind != 8 and size > 0 and start + size <= len(data):
            found.append((start, size))
    return found


def damage(data, dice):
    data = bytearray(data)
    if dice.random() < 0.1:
        return data[: dice.randrange(len(data))]
    start, size = dice.choice(places(data))
    for _ in range(dice.choice((1, 1, 2, 4, 16, 64))):
        at = start + dice.randrange(max(size, 1))
        if at < len(data):
            data[at] = dice.choice((0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)))
    return data


def mutate(args, tally, paths):
    dice = random.Random(args.seed)
    originals = [(os.path.basename(p), open(p, "rb").read()) for p in files_of(paths)]
    deadline = time.monotonic() + args.mutate
    number = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "damaged")
        while time.monotonic() < deadline:
            name, data = dice.choice(originals)
            with open(path, "wb") as out:
                out.write(damage(data, dice))
            number += 1
            before = len(tally.bad)
            check(args, tally, path, f"{name} damaged, number {number} of seed {args.seed}")
            if len(tally.bad) > before:
                kept = os.path.join(tempfile.gettempdir(), f"unhex-malformed-{args.seed}-{number}")
                os.replace(path, kept)
                print(f"malformed: kept as {kept}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--unhex", required=True)
    parser.add_argument("--slower", type=int, default=1)
    parser.add_argument("--mutate", type=float, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("paths", nargs="+")
    args = parser.parse_args()
    args.unhex = os.path.abspath(args.unhex)
    tally = Tally()
    if args.mutate > 0:
        mutate(args, tally, args.paths)
    else:
        for path in files_of(args.paths):
            check(args, tally, path, os.path.relpath(path))
    print(f"malformed: {tally.runs} runs, {tally.good} GSYM files, {len(tally.bad)} problems")
    sys.exit(1 if tally.bad or tally.runs == 0 else 0)


main()
