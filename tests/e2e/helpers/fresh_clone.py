# SPDX-License-Identifier: Apache-2.0
"""A clone of the tree, as a newcomer has it."""
import os
import subprocess

from tool import ROOT


def fresh_clone(clone):
    """What is committed and what a commit would take along now, nothing that was built."""
    subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            (clone / name).write_bytes((ROOT / name).read_bytes())
            (clone / name).chmod((ROOT / name).stat().st_mode)
    return clone


def in_clone(clone, *args, path=None, **more):
    """A command there, without the variables of a server; `path` comes first in PATH."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("UNHEX")}
    env["PATH"] = f"{path}:{env['PATH']}" if path else env["PATH"]
    return subprocess.run(args, cwd=clone, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, **more)
