# SPDX-License-Identifier: Apache-2.0
"""The files to compare on, their addresses, and what the classes ask about them."""
import random
import subprocess
from functools import cached_property
from pathlib import Path

import peers
from elfread import Elf


class Target:
    """An executable, or an executable with its separate debug file."""

    def __init__(self, name, exe, debug=None):
        self.name = name
        self.exe = Path(exe)
        self.debug = Path(debug) if debug else None
        self.elf = Elf(self.symbols)
        self._dwarf_only = None
        self._work = None

    @property
    def symbols(self):
        """The file that has symbol table and DWARF."""
        return self.debug or self.exe

    @cached_property
    def starts(self):
        """{symbol's name: its addresses}; a versioned name stands there without version too."""
        result = {}
        for symbol in self.elf.symbols:
            for name in (symbol.name, symbol.name.split("@")[0]):
                result.setdefault(name, set()).add(symbol.value)
        return result

    def addresses(self, n_random):
        """Every function start, every line row, and random ones in code; the same every time."""
        wanted = {s.value for s in self.elf.functions()}
        wanted.update(peers.line_rows(self.symbols))
        dice = random.Random(self.name)
        spans = self.elf.code
        sizes = [high - low for low, high in spans]
        for low, high in dice.choices(spans, sizes, k=n_random):
            wanted.add(dice.randrange(low, high))
        return sorted(wanted)

    def extract(self, unhex, output):
        """`unhex extract` into output."""
        args = [unhex, "extract", str(self.exe), "-o", str(output)]
        if self.debug:
            args += ["-d", str(self.debug)]
        run = subprocess.run(args, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise RuntimeError(f"{' '.join(args)}: status {run.returncode}: {run.stderr[:500]}")

    def prepare(self, addresses, work):
        """Remembers what to ask the second oracle, when somebody asks for it."""
        self._work = (Path(work), addresses)
        self._dwarf_only = None

    def dwarf_only(self, address):
        """llvm-symbolizer's frames from a copy without any symbol table."""
        if self._dwarf_only is None:
            work, addresses = self._work
            copy = work / "dwarf-only"
            subprocess.run(["objcopy", "--only-keep-debug", str(self.symbols), str(copy)],
                           check=True)
            subprocess.run([peers.tool("llvm-objcopy"), "--remove-section=.symtab",
                            "--remove-section=.strtab", str(copy)], check=True)
            self._dwarf_only = peers.symbolizer(copy, addresses)
            copy.unlink()
        return self._dwarf_only[address]

    def forget(self):
        """Lets go of the answers."""
        self._dwarf_only = self._work = None


def debug_file_of(exe):
    """The separate debug file of an installed binary, by its build ID."""
    notes = subprocess.run(["readelf", "-n", str(exe)], capture_output=True, text=True,
                           check=True).stdout
    identity = notes.split("Build ID: ")[1].split()[0]
    path = Path("/usr/lib/debug/.build-id") / identity[:2] / f"{identity[2:]}.debug"
    if not path.exists():
        raise FileNotFoundError(f"{path} of {exe} is not installed")
    return path


def libc():
    """The running C library with libc6-dbg's file."""
    with open("/proc/self/maps", encoding="ascii") as maps:
        exe = next(line.split()[-1] for line in maps if "/libc.so.6" in line)
    return Target("libc", exe, debug_file_of(exe))
