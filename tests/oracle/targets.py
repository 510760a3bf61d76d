# SPDX-License-Identifier: Apache-2.0
"""The files to compare on, made ready for tools that read less than unhex does."""
import subprocess
from functools import cached_property
from pathlib import Path

import peers
import points
from elfread import ET_REL, Elf

LINK_BASE = 0x40000000  # where an object file's code is linked to; unhex counts it from 0


class Target:
    """An executable, a debug file, both, or an object file such as a kernel module."""

    def __init__(self, name, exe, debug=None, count=None, readers=False, group=None):
        self.name = name
        self.group = group or name  # its row in the table
        self.exe = Path(exe)
        self.debug = Path(debug) if debug else None
        self.elf = Elf(self.symbols)  # with addresses, once it is prepared
        self.count = count
        self.readers = readers  # compare LLVM's reader of our GSYM, too
        self.bias = 0
        self.supplementary = None

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

    def prepare(self, work):
        """Makes in the folder `work` what the other tools can read: an object file linked, its
        sections where unhex has them; nothing compressed; the supplementary file found."""
        work = Path(work)
        if self.elf.type == ET_REL:
            self.elf = Elf(_link(self.elf, work))
            self.bias = LINK_BASE
        if self.elf.altlink:
            self.supplementary = Elf(_plain(Elf(self._supplementary_path()), work / "sup"))
        self.elf = Elf(_plain(self.elf, work / "plain"))

    def _supplementary_path(self):
        """Beside the file's own .build-id folder, or where the link says."""
        link = Path(self.elf.altlink)
        parts = self.symbols.parts
        if ".build-id" in parts and ".dwz" in link.parts:
            tree = Path(*parts[:parts.index(".build-id")])
            there = tree.joinpath(*link.parts[link.parts.index(".dwz"):])
            if there.exists():
                return there
        return self.symbols.parent / link

    def addresses(self, unhex, gsym):
        """What to ask, as the prepared file has it."""
        code = Elf(self.exe) if self.debug else self.elf
        count = self.count or default_count(self.elf)
        return points.choose(unhex, gsym, self.elf, code, count, self.bias)

    def extract(self, unhex, output):
        """`unhex extract` into output."""
        args = [unhex, "extract", str(self.exe), "-o", str(output)]
        if self.debug:
            args += ["-d", str(self.debug)]
        run = subprocess.run(args, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise RuntimeError(f"{' '.join(args)}: status {run.returncode}: {run.stderr[:500]}")

    def for_elfutils(self, work):
        """A copy that says where its supplementary file is; the prepared file if it has none."""
        if not self.supplementary:
            return self.elf.path
        copy, link = Path(work) / "linked", Path(work) / "link"
        raw = self.elf.section_bytes(".gnu_debugaltlink")
        link.write_bytes(str(self.supplementary.path).encode() + raw[raw.index(b"\0"):])
        subprocess.run(["objcopy", "--update-section", f".gnu_debugaltlink={link}",
                        str(self.elf.path), str(copy)], check=True, capture_output=True)
        return copy


def default_count(elf):
    """Addresses to ask about in a file, by the size of its code."""
    return min(80_000, max(1_000, sum(high - low for low, high in elf.code) // 90))


def _plain(elf, copy):
    """elf's path, or that of a copy without compressed sections."""
    if not elf.has_compressed:
        return elf.path
    subprocess.run(["objcopy", "--decompress-debug-sections", str(elf.path),
                    str(copy)], check=True)
    return copy


def _link(elf, work):
    """Links an object file: .text first, the others in the order of the file, .init* last."""
    code = [s for s in elf.sections if s.holds_code]

    def rank(section):
        return 0 if section.name == ".text" else 2 if section.name.startswith(".init") else 1

    code.sort(key=rank)
    pc = LINK_BASE
    lines = []
    for section in code:
        align = max(section.align, 1)
        pc = (pc + align - 1) // align * align
        lines.append(f'"{section.name}" {pc:#x} : {{ *("{section.name}") }}')
        pc += section.size
    script, output = work / "script", work / "module"
    script.write_text("SECTIONS {\n" + "\n".join(lines) + "\n}\n")
    run = subprocess.run(["ld", "-e", "0", "--unresolved-symbols=ignore-all", "-T", str(script),
                          "-o", str(output), str(elf.path)], capture_output=True, text=True,
                         check=False)
    if run.returncode != 0:
        raise RuntimeError(f"ld {elf.path}: {run.stderr[:500]}")
    linked = Elf(output)
    wanted = {s.name: s.size for s in code}
    if {s.name: s.size for s in linked.sections if s.holds_code} != wanted:
        raise RuntimeError(f"ld {elf.path}: sections are not as they were")
    return output


def build_id(path):
    """The build ID of a file as hexadecimal text."""
    notes = subprocess.run(["readelf", "-n", str(path)], capture_output=True, text=True,
                           check=True).stdout
    return notes.split("Build ID: ")[1].split()[0]


def debug_file_of(exe, tree="/usr/lib/debug"):
    """The separate debug file of a binary, by its build ID."""
    identity = build_id(exe)
    path = Path(tree) / ".build-id" / identity[:2] / f"{identity[2:]}.debug"
    if not path.exists():
        raise FileNotFoundError(f"{path} of {exe} does not exist")
    return path


def libc(count=None):
    """The running C library with libc6-dbg's file."""
    with open("/proc/self/maps", encoding="ascii") as maps:
        exe = next(line.split()[-1] for line in maps if "/libc.so.6" in line)
    return Target("libc", exe, debug_file_of(exe), count, readers=True)
