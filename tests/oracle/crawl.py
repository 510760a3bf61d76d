#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a crawl left on a server, against the packages themselves: crawl.py --url URL [--token-file FILE] PACKAGE...

PACKAGEs are .deb files or URLs, or files with the lines that `unhex crawl work --json` prints. Each build ID of a
program, library, kernel module or debug file in them must be a module of the server. Then random addresses of random
files are compared with llvm-symbolizer on the unpacked file, in every frame; a difference is in a class of classes.py,
with gimli and elfutils as referees, or it is printed.
"""
import argparse
import hashlib
import heapq
import json
import random
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
import classes  # noqa: E402
import peers  # noqa: E402
import report  # noqa: E402
from elfread import ET_REL, Elf  # noqa: E402
from score import Judge  # noqa: E402
from targets import Target, build_id  # noqa: E402


def packages_of(arguments):
    """Paths and URLs, those of finished packages where an argument is output of the worker."""
    for argument in arguments:
        if not argument.endswith((".jsonl", ".json")):
            yield argument
            continue
        for line in Path(argument).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row.get("outcome") == "done":
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

    def frames(self, identity, addresses):
        """{address: frames} with linkage names."""
        doc = self("/v1/symbolize", {"modules": [{"id": f"gnu:{identity}", "addresses": [hex(a) for a in addresses]}],
                                     "demangle": "none"})
        answers = {}
        for address, frames in zip(addresses, doc["modules"][0]["frames"]):
            if frames and peers.unknown_to_others(frames[-1]):
                frames = []
            answers[address] = [peers.Frame(f.get("function", ""), f.get("file", ""), f.get("line", 0)) for f in frames]
        return answers


def modules_in(folder):
    """(path, build ID) of what a process or a kernel maps, and of the debug files of such; files of dwz have no code, and
    other object files no identity."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        with open(path, "rb") as file:
            head = file.read(20)
        if head[:4] != b"\x7fELF" or "/.dwz/" in str(path):
            continue
        if int.from_bytes(head[16:18], "little" if head[5] == 1 else "big") == ET_REL and ".ko" not in path.name:
            continue
        try:
            yield path, build_id(path)
        except (IndexError, subprocess.CalledProcessError):
            yield path, None


class Sample:
    """The n files that come first by a hash of their build ID: random ones, and the same in each run. The folders of others
    go at once."""

    def __init__(self, n, seed):
        self.n, self.seed, self.heap = n, seed, []

    def offer(self, folder, files):
        for path, identity in files:
            digest = hashlib.sha256(f"{self.seed} {identity}".encode()).digest()
            entry = (-int.from_bytes(digest[:8], "big"), identity, path, folder)
            if all(entry[1] != other[1] for other in self.heap):
                (heapq.heappush if len(self.heap) < self.n else heapq.heappushpop)(self.heap, entry)
        kept = {entry[3] for entry in self.heap}
        for other in folder.parent.iterdir():
            if other.is_dir() and other not in kept:
                shutil.rmtree(other)

    def files(self):
        return sorted((path, identity) for _, identity, path, _ in self.heap)


def addresses_in(elf, count, chance):
    """Of functions that are chosen with equal probability."""
    functions = [s for s in elf.functions() if s.size > 0]
    chosen, tries = set(), 0
    while functions and len(chosen) < count and tries < 100 * count:
        symbol = chance.choice(functions)
        chosen.add(symbol.value + chance.randrange(symbol.size))
        tries += 1
    return sorted(chosen)


def compare(server, judge, path, identity, count, gimli, chance):
    """Adds a file to the judge."""
    with tempfile.TemporaryDirectory() as work:
        target = Target(path.name, path, group="files of packages")
        target.prepare(work)
        addresses = addresses_in(target.elf, count, chance)
        if not addresses:
            return
        ours = {address + target.bias: frames for address, frames in
                server.frames(identity, [a - target.bias for a in addresses]).items()}
        answers = {"llvm": peers.symbolizer(target.elf.path, addresses),
                   "gimli": peers.gimli(gimli, target.elf, addresses, target.supplementary)}
        judge.add(target, ours, answers, lambda a: peers.elfutils(target.for_elfutils(work), a))


def unpack(package, folder):
    """Unpacks a package, which may be a URL."""
    if "://" not in package:
        subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
        return
    local, _ = urllib.request.urlretrieve(package, folder.parent / "package.deb")
    subprocess.run(["dpkg-deb", "-x", local, folder], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--token-file", type=Path)
    parser.add_argument("--files", type=int, default=100, help="whose addresses are compared")
    parser.add_argument("--addresses", type=int, default=10, help="of each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--programs", type=Path, default=Path("build/oracle"), help="folder for compiled programs")
    parser.add_argument("packages", nargs="+")
    options = parser.parse_args()
    token = options.token_file.read_text(encoding="utf-8").split()[0] if options.token_file else ""
    server, judge = Server(options.url, token), Judge(classes.CLASSES)
    chance, sample = random.Random(options.seed), Sample(options.files, options.seed)
    gimli = peers.gimli_build(options.programs.resolve() / "gimli")
    count, missing, nameless, there = Counter(), [], [], set()
    with tempfile.TemporaryDirectory() as work:
        for package in sorted(set(packages_of(options.packages))):
            folder = Path(work) / str(count["packages"])
            count["packages"] += 1
            unpack(package, folder)
            found = []
            for path, identity in modules_in(folder):
                if not identity:
                    nameless.append(path.name)
                elif server(f"/v1/modules/gnu:{identity}"):
                    there.add(identity)
                    if any(s.size > 0 for s in Elf(path).functions()):
                        found.append((path, identity))
                else:
                    missing.append((package, path.relative_to(folder), identity))
            sample.offer(folder, found)
        for path, identity in sample.files():
            compare(server, judge, path, identity, options.addresses, gimli, chance)
    total, unexplained = judge.total, len(judge.unexplained["llvm"])
    report.agreement(judge)
    report.differences(judge)
    report.unexplained(judge)
    print(f"\n{count['packages']} packages: {len(there)} of {len(there) + len(missing)} build IDs answer; "
          f"{len(nameless)} files have none")
    print(f"{total.agreed['llvm', 'all']} of {total.addresses} addresses of {len(sample.heap)} files agree with llvm-symbolizer, "
          f"{total.addresses - total.agreed['llvm', 'all'] - unexplained} differ for a reason that is known, {unexplained} for none")
    for package, path, identity in missing[:20]:
        print(f"missing: {identity} {path} of {package}")
    return 0 if not missing and not unexplained and not judge.unexplained["none"] else 1


if __name__ == "__main__":
    sys.exit(main())
