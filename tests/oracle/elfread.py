# SPDX-License-Identifier: Apache-2.0
"""Just enough ELF (64 bit, little endian) to choose addresses: sections and code symbols."""
import mmap
import struct
from dataclasses import dataclass

SHF_EXECINSTR = 4
SHT_SYMTAB, SHT_DYNSYM = 2, 11
STT_NOTYPE, STT_FUNC, STT_IFUNC = 0, 2, 10


@dataclass(frozen=True)
class Symbol:
    name: str
    value: int
    size: int
    type: int
    bind: int


class Elf:
    """The parts of one file that the oracle test asks about."""

    def __init__(self, path):
        with open(path, "rb") as file, \
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            self._read(path, data)

    def _read(self, path, data):
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path}: not a 64-bit little-endian ELF file")
        shoff, = struct.unpack_from("<Q", data, 0x28)
        shentsize, shnum, _ = struct.unpack_from("<HHH", data, 0x3A)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * shentsize)
                         for i in range(shnum)]
        self.code = [(s[3], s[3] + s[5]) for s in self.sections if s[2] & SHF_EXECINSTR and s[5]]
        self.symbols = sorted(set(self._symbols(data)), key=lambda s: (s.value, s.name))

    def _symbols(self, data):
        """Of .symtab, or of .dynsym where there is no other."""
        kinds = {s[1] for s in self.sections}
        wanted = SHT_SYMTAB if SHT_SYMTAB in kinds else SHT_DYNSYM
        for section in self.sections:
            if section[1] != wanted or section[1] == 8:
                continue
            strings = self.sections[section[6]][4]
            for off in range(section[4], section[4] + section[5], 24):
                name, info, _, shndx, value, size = struct.unpack_from("<IBBHQQ", data, off)
                kind = info & 15
                if shndx == 0 or kind not in (STT_NOTYPE, STT_FUNC, STT_IFUNC):
                    continue
                end = data.find(b"\0", strings + name)
                text = data[strings + name:end].decode("utf-8", "replace")
                if text and self.is_code(value):
                    yield Symbol(text, value, size, kind, info >> 4)

    def is_code(self, pc):
        return any(low <= pc < high for low, high in self.code)

    def section_of(self, pc):
        """Start of the code section that pc is in, or None."""
        return next((low for low, high in self.code if low <= pc < high), None)

    def functions(self):
        return [s for s in self.symbols if s.type in (STT_FUNC, STT_IFUNC)]
