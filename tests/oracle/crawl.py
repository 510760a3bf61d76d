#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a crawl left on a server, against the packages themselves: crawl.py --url URL [--token-file FILE] PACKAGE...

PACKAGEs are .deb files or URLs, or files with the lines that `unhex crawl work --json` prints. Each build ID of a debug file
in them must be a module of the server; then random addresses of random files are compared with llvm-symbolizer on the
debug file: the function of each frame, and file and line of the innermost one.
"""
import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
import peers  # noqa: E402
from elfread import Elf  # noqa: E402
from names import Names  # noqa: E402


def packages_of(arguments):
    """Paths and URLs, those of finished packages where an argument is output of the worker."""
    for argument in arguments:
        if not argument.endswith((".jsonl", ".json")):
            yield argument
            continue
        for line in Path(argument).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row["outcome"] == "done":
                yield row["package"]


class Server:
    """Requests with a key."""

    def __init__(self, url, token):
        self.url, self.head = url, {"Authorization": f"Bearer {token}"} if token else {}

    def __call__(self, path, body=None):
        """The document; None for 404."""
        data = json.dumps(body).encode() if body is not None else None
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url + path, data, self.head), timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise


def build_id(path):
    text = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=False).stdout
    return text.partition("Build ID: ")[2].split()[0] if "Build ID: " in text else None


def frames_of(server, identity, addresses):
    """{address: frames} by the server, with linkage names."""
    doc = server("/v1/symbolize", {"modules": [{"id": f"gnu:{identity}", "addresses": [hex(a) for a in addresses]}],
                                   "demangle": "none"})
    return {address: [peers.Frame(f.get("function", ""), f.get("file", ""), f.get("line", 0)) for f in frames]
            for address, frames in zip(addresses, doc["modules"][0]["frames"])}


class Comparison:
    """Counts, and the first differences."""

    def __init__(self, server, seed, count):
        self.server, self.random, self.count = server, random.Random(seed), count
        self.names, self.equal, self.total, self.shown = Names(), 0, 0, []

    def file(self, path, identity):
        elf = Elf(path)
        functions = [s for s in elf.functions() if s.size > 0]
        if not functions:
            return
        addresses = sorted({s.value + self.random.randrange(s.size)
                            for s in self.random.choices(functions, k=self.count)})
        ours = frames_of(self.server, identity, addresses)
        theirs = peers.symbolizer(path, addresses)
        for address in addresses:
            self.total += 1
            if self.same(ours[address], theirs[address]):
                self.equal += 1
            elif len(self.shown) < 200:
                self.shown.append(f"{path.name} {address:#x}\n  ours   {ours[address]}\n  theirs {theirs[address]}")

    def same(self, ours, theirs):
        if not ours or not theirs:
            return ours == theirs
        self.names.learn([f.function for f in ours + theirs])
        return len(ours) == len(theirs) and ours[0].line == theirs[0].line and \
            Path(ours[0].file).name == Path(theirs[0].file).name and \
            all(self.same_name(a.function, b.function) for a, b in zip(ours, theirs))

    def same_name(self, ours, theirs):
        """LLVM has the symbols of Objective-C methods, DWARF and ours have -[Class method]; and it has no names of files
        of dwz that it does not find."""
        if ours[:2] in ("-[", "+["):
            return re.sub(r"\W|_", "", ours) == re.sub(r"\W|_", "", theirs[3:])
        return bool(not theirs or self.names.compare(ours, theirs))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--token-file", type=Path)
    parser.add_argument("--files", type=int, default=100, help="whose addresses are compared")
    parser.add_argument("--addresses", type=int, default=10, help="of each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=10, help="differences that are printed")
    parser.add_argument("packages", nargs="+")
    options = parser.parse_args()
    token = options.token_file.read_text(encoding="utf-8").split()[0] if options.token_file else ""
    server = Server(options.url, token)
    compare = Comparison(server, options.seed, options.addresses)
    found, missing, packages = [], [], 0
    with tempfile.TemporaryDirectory() as work:
        for package in sorted(set(packages_of(options.packages))):
            folder = Path(work) / str(packages)
            packages += 1
            if "://" in package:
                local, _ = urllib.request.urlretrieve(package, f"{work}/package.deb")
            else:
                local = package
            subprocess.run(["dpkg-deb", "-x", local, folder], check=True)
            for path in sorted(folder.rglob("*.debug")):
                identity = build_id(path)
                if not identity or "/.dwz/" in str(path) or path.is_symlink():
                    continue
                (found if server(f"/v1/modules/gnu:{identity}") else missing).append((path, identity))
        chosen = random.Random(options.seed).sample(found, min(options.files, len(found)))
        for path, identity in chosen:
            compare.file(path, identity)
    print(f"{packages} packages: {len(found)} of {len(found) + len(missing)} build IDs answer")
    print(f"{compare.equal} of {compare.total} addresses of {len(chosen)} files agree with llvm-symbolizer")
    for path, identity in missing[:10]:
        print(f"missing: {identity} {path.name}")
    print("\n".join(compare.shown[:options.show]))
    return 0 if not missing else 1


if __name__ == "__main__":
    sys.exit(main())
