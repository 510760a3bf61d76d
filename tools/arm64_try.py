#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""arm64_try.py: tries a cross build with qemu-user; run by tools/arm64.sh in its bare system, in the root of the tree.

The unit programs pass but for tools/arm64.exceptions, an extract of arm64's libc has the bytes that this machine's own
program gives, a lookup finds a line, and a push reaches a server whose answer has the name.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
QEMU = "qemu-aarch64"
# With SVE, the loads of glibc's memcpy() fault where qemu 7.2 has lost track of a mapping.
QEMU_CPU = "cortex-a72"
WHOLE = ROOT / "build/cli/unhex"
STATIC = ROOT / "packages/static/unhex-arm64"
NATIVE = ROOT / "packages/static/unhex"
LIBC = "/lib/aarch64-linux-gnu/libc.so.6"
SOURCE = "int twice(int n) { return n * 2; }\nint main(int argc, char **argv) { (void)argv; return twice(argc) - 2; }\n"


def fail(text):
    sys.exit("arm64: " + text)


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=300, **more)
    if done.returncode != 0:
        fail("%s: exit status %d:\n%s" % (" ".join(map(str, words)), done.returncode, done.stdout))
    return done.stdout


def expect(text, pattern):
    if not re.search(pattern, text):
        fail("expected %r, found:\n%s" % (pattern, text))


def exceptions():
    """Names of the programs that may fail, and whether for being slow."""
    found = {}
    for line in (ROOT / "tools/arm64.exceptions").read_text().splitlines():
        if line and not line.startswith("#"):
            name, reason = line.split(None, 1)
            found[name] = reason.startswith("slow")
    return found


def judge(results, known):
    """What is wrong with the results, {name: passed}, given the exceptions; a line each."""
    wrong = ["%s fails under qemu-user" % name for name, passed in results.items() if not passed and name not in known]
    wrong += ["%s passes: take it out of tools/arm64.exceptions" % name for name, slow in known.items()
              if not slow and results.get(name)]
    return wrong + ["%s of tools/arm64.exceptions is not a unit program" % name for name in known if name not in results]


def unit_programs():
    subprocess.run(["meson", "test", "-C", "build", "--no-rebuild", "--quiet", "--timeout-multiplier", "6"], cwd=ROOT,
                   stdout=subprocess.DEVNULL, check=False)
    lines = (ROOT / "build/meson-logs/testlog.json").read_text().splitlines()
    logs = {}
    for line in lines:
        test = json.loads(line)
        logs[test["name"].split(" / ")[-1]] = test
    results = {name: test["result"] in ("OK", "EXPECTEDFAIL") for name, test in logs.items()}
    wrong = judge(results, exceptions())
    for name, passed in results.items():
        if not passed:
            print("arm64: %s: %s" % (name, logs[name]["result"]))
            if name not in exceptions():
                print((logs[name].get("stdout", "") + logs[name].get("stderr", ""))[-3000:])
    print("arm64: %d of %d unit programs pass" % (sum(results.values()), len(results)))
    if wrong:
        fail("\n".join(wrong))


def same_bytes(folder):
    for program, name in (([NATIVE], "native"), ([QEMU, STATIC], "static"), ([QEMU, WHOLE], "whole")):
        run(*program, "extract", LIBC, "-o", folder / name)
    for name in ("static", "whole"):
        if (folder / name).read_bytes() != (folder / "native").read_bytes():
            fail("the extract of %s by the %s program differs from this machine's" % (LIBC, name))
    expect(run(QEMU, STATIC, "lookup", folder / "native", "qsort+0"), r"qsort.*\.c:\d+")
    print("arm64: an extract of libc has the same bytes, %d" % (folder / "native").stat().st_size)


def push_and_serve(folder):
    (folder / "sample.c").write_text(SOURCE)
    run("aarch64-linux-gnu-gcc", "-g", "-Wl,--build-id=sha1", "sample.c", "-o", "sample", cwd=folder)
    expect(run(QEMU, STATIC, "lookup", folder / "sample", "twice+0"), r"twice.*sample\.c:1")
    log = folder / "log"
    with log.open("wb") as out:
        server = subprocess.Popen([QEMU, str(WHOLE), "serve", "--listen", "127.0.0.1:0", "--data", str(folder / "data")],
                                  stdout=out, stderr=out)
    try:
        for _ in range(600):
            found = re.search(r"^unhex: serving on \S+:(\d+)", log.read_text(), re.M)
            if found or server.poll() is not None:
                break
            time.sleep(0.1)
        else:
            found = None
        if not found:
            fail("the server does not start:\n" + log.read_text())
        env = {**os.environ, "UNHEX_URL": "http://127.0.0.1:" + found.group(1),
               "UNHEX_TOKEN": (folder / "data/admin-key").read_text().strip()}
        for program in (STATIC, WHOLE):
            expect(run(QEMU, program, "push", "--force", folder / "sample", env=env), "1 (uploaded|already there)")
            identity = re.search("gnu:[0-9a-f]+", run(QEMU, program, "id", folder / "sample")).group()
            expect(run(QEMU, program, "lookup", identity, "twice+0", env=env), r"twice.*sample\.c:1")
    finally:
        server.terminate()
        server.wait()
    print("arm64: pushes to a server, which answers lookups")


def main():
    os.environ["QEMU_CPU"] = QEMU_CPU  # not on import: tests import this beside others of qemu-arm
    with tempfile.TemporaryDirectory() as name:
        same_bytes(pathlib.Path(name))
        push_and_serve(pathlib.Path(name))
    unit_programs()
    print("arm64: good")


if __name__ == "__main__":
    main()
