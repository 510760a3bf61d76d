# SPDX-License-Identifier: Apache-2.0
"""Go toolchains, what they build, and what they say of it."""
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess

from tool import ROOT

UNPACKED = ROOT / "corpus/go"  # by tools/go.sh


@dataclasses.dataclass(frozen=True)
class Toolchain:
    root: pathlib.Path
    version: str  # "1.19"

    @property
    def minor(self):
        return int(self.version.split(".")[1])

    def env(self, **more):
        cache = UNPACKED / "cache"
        return {**{k: v for k, v in os.environ.items() if not k.startswith(("GO", "CGO"))},
                "GOROOT": str(self.root), "GOTOOLCHAIN": "local", "GO111MODULE": "on", "GOPROXY": "off",
                "GOFLAGS": "-mod=mod", "GOCACHE": str(cache), "GOPATH": str(UNPACKED / "path"),
                "CGO_ENABLED": "0", **more}

    def run(self, *args, cwd=None, stdin=None, timeout=900, **more):
        run = subprocess.run([self.root / "bin/go", *map(str, args)], cwd=cwd, input=stdin, text=True,
                             env=self.env(**more), capture_output=True, timeout=timeout)
        assert run.returncode == 0, run.stderr
        return run.stdout

    def build(self, source, out, *flags, **env):
        """The program of tests/e2e/SOURCE; debug information and symbols stay unless flags say."""
        out = pathlib.Path(out)
        folder = out.with_name(out.name + ".src")
        shutil.copytree(ROOT / "tests/e2e" / source, folder)
        (folder / "go.mod").write_text(f"module frames\n\ngo {self.version}\n")
        if self.minor >= 18:
            flags = ("-buildvcs=false", *flags)
        self.run("build", *flags, "-o", out, ".", cwd=folder, **env)
        return out

    def addr2line(self, binary, addresses):
        """(function, file, line) of each."""
        text = "".join(f"{a:#x}\n" for a in addresses)
        lines = self.run("tool", "addr2line", binary, stdin=text).splitlines()
        places = []
        for name, place in zip(lines[::2], lines[1::2]):
            file, _, line = place.rpartition(":")
            places.append((name, file, int(line) if line.isdigit() else 0))
        assert len(places) == len(addresses)
        return places

    def functions(self, binary):
        """{name: (address, size)} of the text."""
        found = {}
        for line in self.run("tool", "nm", "-size", binary).splitlines():
            match = re.match(r"\s*([0-9a-f]+)\s+(\d+)\s+[Tt]\s+(.*)", line)
            if match and int(match[2]) > 0:
                found[match[3]] = (int(match[1], 16), int(match[2]))
        return found


def toolchains():
    """The system's, and those that tools/go.sh unpacked, oldest first."""
    found = {}
    for root in [*pathlib.Path("/usr/lib").glob("go-1.*"), *UNPACKED.glob("go-1.*")]:
        if (root / "bin/go").exists():
            found.setdefault(root.name[3:], Toolchain(root, root.name[3:]))
    return sorted(found.values(), key=lambda t: t.minor)
