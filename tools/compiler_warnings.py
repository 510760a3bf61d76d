#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has a compiler check all C files of a build folder without making code: tools/compiler_warnings.py BUILD.

Each file is checked once, by the command of compile_commands.json with -fsyntax-only. Ends with 1 if it rejects one.
"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

WITH_VALUE = {"-o", "-MQ", "-MF"}
ALONE = {"-c", "-MD"}


def checking(command):
    """The command without what it writes."""
    words, result = iter(shlex.split(command)), []
    for word in words:
        if word in WITH_VALUE:
            next(words)
        elif word not in ALONE:
            result.append(word)
    return [*result, "-fsyntax-only"]


def main():
    build = pathlib.Path(sys.argv[1])
    commands = {c["file"]: c for c in json.loads((build / "compile_commands.json").read_text()) if c["file"].endswith(".c")}

    def check(entry):
        return subprocess.run(checking(entry["command"]), cwd=entry["directory"], check=False).returncode == 0

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        rejected = [file for file, good in zip(commands, pool.map(check, commands.values())) if not good]
    print(f"{len(commands)} files, {len(rejected)} rejected")
    sys.exit(1 if rejected or not commands else 0)


if __name__ == "__main__":
    main()
