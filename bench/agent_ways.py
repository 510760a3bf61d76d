#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds the way that notices most of the programs that a host executes, and its cost (docs/agent.md).

Starts crowds of sleeping processes, then programs that live for a second, each a separate file with its own
library, deleted while they run; each way counts the files that it could open. It needs root and a C compiler.

  bench/agent_ways.py build/bench/agent_ways [--crowd 10000] [--programs 200] [--seconds 30] [--lives 1.0]
"""
import argparse
import os
import shutil
import signal
import subprocess
import tempfile
import time

PROGRAM = "#include <unistd.h>\nint main(int n, char **v) { (void)n; usleep(atoi(v[1]) * 1000); return 0; }\n"
CROWD = r"""
#include <stdlib.h>
#include <unistd.h>
int main(int n, char **v) { (void)n; for (int i = atoi(v[1]); i > 0; i--) if (fork() == 0) for (;;) pause();
	write(1, "x", 1); for (;;) pause(); }
"""


def compile_c(folder, name, text, *flags):
    source = os.path.join(folder, name + ".c")
    with open(source, "w") as f:
        f.write(text)
    subprocess.run(["cc", "-w", *flags, "-o", os.path.join(folder, name), source], check=True)
    return os.path.join(folder, name)


def one_way(args, way, folder, program, library, extra):
    place = os.path.join(folder, "run")
    os.makedirs(place)
    watch = subprocess.Popen([args.tool, way, str(args.seconds), place, *extra], stdout=subprocess.PIPE, text=True)
    time.sleep(2)
    running = []
    pause = (args.seconds - 4 - args.lives) / args.programs if args.programs else 0
    for i in range(args.programs):
        mine, lib = os.path.join(place, f"p{i}"), os.path.join(place, f"l{i}.so")
        for of, to in ((program, mine), (library, lib)):
            shutil.copy(of, to)
        running.append((time.monotonic() + args.lives / 2, mine, lib, subprocess.Popen(
            [mine, str(int(args.lives * 1000))], env={"LD_PRELOAD": lib})))
        time.sleep(pause)
        for due, a, b, _ in list(running):
            if due < time.monotonic() and os.path.exists(a):
                os.unlink(a)
                os.unlink(b)
    out, _ = watch.communicate()
    for *_, process in running:
        process.wait()
    shutil.rmtree(place)
    return out.strip()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool")
    p.add_argument("--crowd", type=int, default=10000)
    p.add_argument("--programs", type=int, default=200)
    p.add_argument("--seconds", type=int, default=30)
    p.add_argument("--lives", type=float, default=1.0)
    args = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="unhex-ways-") as folder:
        program = compile_c(folder, "program", "#include <stdlib.h>\n" + PROGRAM)
        library = compile_c(folder, "library", "int f(void) { return 1; }\n", "-shared", "-fPIC")
        crowd = compile_c(folder, "crowd", CROWD)
        many = subprocess.Popen([crowd, str(args.crowd)], stdout=subprocess.PIPE, start_new_session=True)
        many.stdout.read(1)
        print(f"{args.crowd} processes sleep; {args.programs} programs and as many libraries are run for "
              f"{args.lives} s each within {args.seconds} s")
        try:
            for way, *extra in (("scan", "10000"), ("scan", "1000"), ("connector",), ("fanotify",), ("mappings",)):
                print(f"{' '.join([way, *extra]):12s} {one_way(args, way, folder, program, library, extra)}", flush=True)
        finally:
            os.killpg(many.pid, signal.SIGKILL)
            many.wait()


if __name__ == "__main__":
    main()
