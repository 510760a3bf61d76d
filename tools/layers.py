#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the includes between folders.

Fails if a file includes a header of a folder that its own folder may not include, if no file uses an allowed arrow, if
two files of the tree share a name (includes name files without their folders), or if docs/architecture.md shows another
table. `tools/layers.py --write` puts the table there.
"""

import collections
import os
import re
import subprocess
import sys

# Each folder with the folders that it may include, lib/ left out of all names; every folder may include base. The order
# is from the lowest to the highest: an arrow to a later line is an error of this table.
ALLOWED = {
    # lib/
    "base": "",
    "code": "",
    "id": "",
    "live/interp": "",
    "live/jit": "",
    "names": "",
    "names/itanium": "names",
    "names/swift": "names",
    "object": "id",
    "wire": "id",
    "live/kernel": "object",
    "dwarf": "code",
    "gosym": "code",
    "gsym": "code",
    "cubin": "code id object",
    "unwind": "object dwarf",
    "symtab": "code object dwarf",
    "extract/find": "code id object dwarf",
    "extract/collect": "code object dwarf gsym symtab",
    "extract/pack": "object gsym symtab extract/collect",
    "extract": "code id object cubin dwarf gosym gsym symtab live/jit extract/collect extract/find extract/pack",
    "live": "id object gsym extract extract/find live/interp live/jit live/kernel",
    "public": "id object names wire cubin gsym extract extract/find",
    # what programs share
    "net": "",
    "net/client": "net",
    "net/s3": "net",
    "net/spool": "",
    "archive": "",
    "archive/manifest": "id",
    "sandbox": "id object extract extract/find archive",
    "store/blobs": "net/s3",
    "store/db": "store/blobs",
    "store/index": "id store/blobs store/db",
    "store": "net/s3 store/blobs store/db store/index",
    "push": "id object gsym extract extract/find live net archive sandbox",
    "split": "id object extract/find archive",
    "clone": "net net/s3 archive archive/manifest push",
    "crawl/repo": "id object net archive",
    "crawl": "net sandbox push crawl/repo",
    "profile/model": "id names live/kernel",
    "profile/naming": "id object gsym unwind extract extract/collect extract/find live live/jit live/kernel profile/model",
    "profile/perf": "names profile/model profile/naming",
    "profile/pprof": "names profile/model",
    "profile/otlp": "id names profile/model profile/naming",
    "profile/firefox": "id names profile/model",
    "profile/views": "names profile/model",
    "profile/crash": "id object names gsym unwind extract/find live profile/model profile/naming",
    "profile": "object profile/naming profile/perf profile/pprof profile/otlp profile/firefox profile/views profile/crash",
    "profile/record": "id object live live/kernel profile/perf",
    "profile/forward": "object net net/spool profile/model profile/otlp",
    "agent": "id extract extract/find live live/kernel net net/spool push profile/record",
    # unhex serve
    "server/config": "",
    "server/core": "code id net store store/index server/config",
    "server/gate": "net store/blobs store/index server/core",
    "server/symbolize": "object names wire gsym net sandbox store store/blobs server/core",
    "server/upload": "id gsym net archive sandbox store store/index server/core server/gate server/symbolize",
    "server/upstream": "id net archive sandbox store store/index server/config server/core server/upload",
    "server/crawl": "server/core server/upload",
    "server/modules": "gsym net archive/manifest store/index server/core server/symbolize server/upstream",
    "server/profiles": "code object net profile profile/model profile/otlp profile/pprof profile/views server/core server/symbolize",
    "server/protocols": "id object net profile/otlp profile/forward server/core server/symbolize server/upstream server/profiles",
    "server/pages": "net store/index profile/model profile/views profile/crash server/core server/gate server/symbolize server/upstream server/crawl server/modules server/profiles",
    "server/run": "net net/s3 archive/manifest store store/index profile/forward server/config server/core server/gate server/symbolize server/upload server/upstream server/crawl server/modules server/profiles server/protocols server/pages",
    # the command
    "cli/fetch": "id object extract/find net",
    "cli/output": "object names cubin gsym extract push profile/model",
    "cli/options": "names extract/find net store server/config server/run cli/fetch cli/output",
    "cli/remote": "id names wire gsym extract net push cli/output cli/options",
    "cli/input": "object cubin gsym extract extract/collect extract/find profile profile/model profile/naming profile/perf profile/otlp profile/views profile/crash profile/record cli/fetch cli/output cli/options cli/remote",
    "cli/dropin": "id object names gsym extract/find cli/output cli/options cli/input",
    "cli/verbs": "id object names cubin gsym extract extract/collect extract/find net archive/manifest sandbox store store/index push split clone crawl crawl/repo profile/model profile/perf profile/otlp profile/views profile/forward agent server/run cli/output cli/options cli/remote cli/input",
    "cli": "sandbox server/config cli/output cli/options cli/input cli/dropin",
}

ROOMS = re.compile(r"(lib|net|store|archive|sandbox|push|split|profile|agent|crawl|clone|server|cli)/")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
DOCUMENT = "docs/architecture.md"
TABLE = re.compile(r"(<!-- tools/layers.py --write -->\n```\n).*?(```\n)", re.S)
COLUMNS = 120

bad = 0


def complain(text):
    global bad
    print(f"layers: {text}")
    bad = 1


def folder_of(path):
    return os.path.dirname(path).removeprefix("lib/")


def sources():
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.c", "*.h"]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return sorted(f for f in listing if ROOMS.match(f) and os.path.exists(f))


def homes_of(files):
    """The path of each file by its name alone, by which includes find it."""
    homes = {}
    for file in files:
        name = os.path.basename(file)
        if name in homes:
            complain(f"two files are named {name}: {homes[name]} and {file}")
        homes[name] = file
    return homes


def arrows(files, homes):
    """For each pair of folders an include from the first to the second: (file, header)."""
    drawn = collections.defaultdict(dict)
    for file in files:
        with open(file, encoding="utf-8") as f:
            names = INCLUDE.findall(f.read())
        for name in names:
            home = homes.get(os.path.basename(name)) if not name.startswith("unhex/") else None
            if home and folder_of(home) not in (folder_of(file), "base"):
                drawn[folder_of(file)].setdefault(folder_of(home), (file, name))
    return drawn


def check_table(folders):
    order = list(ALLOWED)
    for folder, below in ALLOWED.items():
        for target in below.split():
            if target not in order or order.index(target) >= order.index(folder):
                complain(f"the table lets {folder} include {target}, which is not below it")
    for folder in sorted(folders.symmetric_difference(order)):
        complain(f"{folder} is {'not in the table' if folder in folders else 'in the table, but not in the tree'}")


def check_arrows(drawn):
    for folder, below in ALLOWED.items():
        allowed = below.split()
        for target, (file, header) in sorted(drawn[folder].items()):
            if target not in allowed:
                complain(f"{file}: {folder} must not include {target} ({header})")
        for target in allowed:
            if target not in drawn[folder]:
                complain(f"the table lets {folder} include {target}, which no file does")


def table():
    """The table as text, highest folder first."""
    width = max(map(len, ALLOWED)) + 1
    lines = []
    for folder, below in reversed(ALLOWED.items()):
        line = f"{folder:{width}}->"
        for target in below.split() or ["base alone" if folder != "base" else "the C library alone"]:
            if len(line) + 1 + len(target) > COLUMNS:
                lines.append(line)
                line = " " * (width + 2)
            line += " " + target
        lines.append(line)
    return "\n".join(lines) + "\n"


def check_document(write):
    with open(DOCUMENT, encoding="utf-8") as f:
        text = f.read()
    shown = TABLE.sub(lambda m: m[1] + table() + m[2], text)
    if write:
        with open(DOCUMENT, "w", encoding="utf-8") as f:
            f.write(shown)
    elif shown != text or not TABLE.search(text):
        complain(f"{DOCUMENT} does not show this table; tools/layers.py --write puts it there")


def main():
    files = sources()
    check_table({folder_of(f) for f in files})
    check_arrows(arrows(files, homes_of(files)))
    check_document("--write" in sys.argv[1:])
    sys.exit(bad)


if __name__ == "__main__":
    main()
