# SPDX-License-Identifier: Apache-2.0
"""run_container.py SPECIFICATION: becomes a command as a container's runtime starts it, in the mount namespace that the caller has
made: {"root", "mounts": [[from, to, read_only]], "read_only", "user", "capabilities", "command"}. Without a root it keeps this one."""
import ctypes
import json
import os
import subprocess
import sys

PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
CAPABILITIES = {"SYS_PTRACE": 19, "DAC_READ_SEARCH": 2, "CHECKPOINT_RESTORE": 40, "PERFMON": 38, "SYSLOG": 34}
DEVICES = ("null", "zero", "urandom", "random")


def mount(*words):
    subprocess.run(["mount", *words], check=True)


def make_root(spec):
    root = spec["root"]
    mount("--bind", root, root)
    for name in DEVICES:
        os.close(os.open(f"{root}/dev/{name}", os.O_CREAT))
        mount("--bind", f"/dev/{name}", f"{root}/dev/{name}")
    mount("--rbind", "/proc", f"{root}/proc")
    for source, target, read_only in spec["mounts"]:
        place = root + target
        if os.path.isdir(source):
            os.makedirs(place, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            os.close(os.open(place, os.O_CREAT))
        mount("--bind", source, place)
        if read_only:
            mount("-o", "remount,bind,ro", place)
    if spec["read_only"]:
        mount("-o", "remount,bind,ro", root)
    os.chroot(root)
    os.chdir("/")


def main():
    spec = json.loads(sys.argv[1])
    if spec["root"]:
        make_root(spec)
    else:
        for source, target, _ in spec["mounts"]:
            mount("--bind", source, target)
    call = ctypes.CDLL(None, use_errno=True).prctl
    if spec["capabilities"] is not None:
        kept = {CAPABILITIES[name] for name in spec["capabilities"]}
        n = 0
        while call(PR_CAPBSET_DROP, n, 0, 0, 0) == 0 if n not in kept else True:
            n += 1
        assert n > max(CAPABILITIES.values())
        assert call(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    if spec["user"]:
        os.setgroups([])
        os.setgid(spec["user"])
        os.setuid(spec["user"])
    os.execvp(spec["command"][0], spec["command"])


if __name__ == "__main__":
    main()
