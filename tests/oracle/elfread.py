# SPDX-License-Identifier: Apache-2.0
"""Just enough ELF (little endian) to choose addresses: sections and code symbols."""
import mmap
import struct
from dataclasses import dataclass

SHF_ALLOC, SHF_EXECINSTR, SHF_COMPRESSED = 2, 4, 0x800
SHT_SYMTAB, SHT_NOBITS, SHT_DYNSYM = 2, 8, 11
STT_NOTYPE, STT_FUNC, STT_FILE, STT_IFUNC = 0, 2, 4, 10
ET_REL = 1
X86_64 = 62


@dataclass(frozen=True)
class Symbol:
    name: str
    value: int
    size: int
    type: int
    bind: int


@dataclass(frozen=True)
class Section:
    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    align: int

    @property
    def holds_code(self):
        return bool(self.flags & SHF_EXECINSTR and self.flags & SHF_ALLOC and self.size)


class Elf:
    """The parts of one file that the oracle test asks about."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file, \
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            self._read(path, data)

    def _read(self, path, data):
        if data[:4] != b"\x7fELF" or data[5:6] != b"\x01":
            raise ValueError(f"{path}: not a little-endian ELF file")
        self.is64 = data[4] == 2
        self.type, self.machine = struct.unpack_from("<HH", data, 16)
        shoff, = struct.unpack_from("<Q", data, 0x28) if self.is64 else (
            struct.unpack_from("<I", data, 0x20))
        shentsize, shnum, shstrndx = struct.unpack_from("<HHH", data,
                                                        0x3A if self.is64 else 0x2E)
        header = "<IIQQQQIIQQ" if self.is64 else "<10I"
        raw = [struct.unpack_from(header, data, shoff + i * shentsize) for i in range(shnum)]
        names = raw[shstrndx][4] if raw else 0
        self.sections = [Section(_text(data, names + s[0]), s[1], s[2], s[3], s[4], s[5], s[6],
                                 s[8]) for s in raw]
        self.code = [(s.address, s.address + s.size) for s in self.sections if s.holds_code]
        self.file_symbols = set()
        self.symbols = sorted(set(self._symbols(data)), key=lambda s: (s.value, s.name))
        self.altlink = next((_text(data, s.offset) for s in self.sections
                             if s.name == ".gnu_debugaltlink"), None)

    def _symbols(self, data):
        """Of .symtab, or of .dynsym where there is no other."""
        kinds = {s.type for s in self.sections}
        wanted = SHT_SYMTAB if SHT_SYMTAB in kinds else SHT_DYNSYM
        for section in self.sections:
            if section.type != wanted:
                continue
            strings = self.sections[section.link].offset
            each = 24 if self.is64 else 16
            table = data[section.offset:section.offset + section.size // each * each]
            for entry in struct.iter_unpack("<IBBHQQ" if self.is64 else "<IIIBBH", table):
                if self.is64:
                    name, info, _, shndx, value, size = entry
                else:
                    name, value, size, info, _, shndx = entry
                kind = info & 15
                if kind == STT_FILE:
                    self.file_symbols.add(_text(data, strings + name))
                if shndx == 0 or kind not in (STT_NOTYPE, STT_FUNC, STT_IFUNC):
                    continue
                if shndx < len(self.sections) and not self.sections[shndx].holds_code:
                    continue  # the end of data, where code begins
                text = _text(data, strings + name)
                if text and self.is_code(value):
                    yield Symbol(text, value, size, kind, info >> 4)

    @property
    def has_lines(self):
        """Whether there is anything to compare lines with."""
        return any(s.name.startswith((".debug_line", ".zdebug_line")) and s.type != SHT_NOBITS
                   and s.size for s in self.sections)

    @property
    def has_compressed(self):
        return any(s.flags & SHF_COMPRESSED or s.name.startswith(".zdebug_")
                   for s in self.sections)

    def code_bytes(self):
        """(address, bytes) of each code section that has its bytes in the file."""
        with open(self.path, "rb") as file:
            for section in self.sections:
                if section.holds_code and section.type != SHT_NOBITS:
                    file.seek(section.offset)
                    yield section.address, file.read(section.size)

    def section_bytes(self, name):
        """The bytes of the section as the file has them."""
        section = next(s for s in self.sections if s.name == name)
        with open(self.path, "rb") as file:
            file.seek(section.offset)
            return file.read(section.size)

    def is_code(self, pc):
        return any(low <= pc < high for low, high in self.code)

    def section_of(self, pc):
        """Start of the code section that pc is in, or None."""
        return next((low for low, high in self.code if low <= pc < high), None)

    def functions(self):
        return [s for s in self.symbols if s.type in (STT_FUNC, STT_IFUNC)]


def _text(data, at):
    return data[at:data.find(b"\0", at)].decode("utf-8", "replace")
