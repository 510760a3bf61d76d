# SPDX-License-Identifier: Apache-2.0
"""A second reader of Go's tables, written from the runtime's way: one address at a time, no ranges. Tables of
Go 1.18 and later in little-endian ELF files with 8-byte addresses and a section .gopclntab."""
import bisect
import struct


class Table:
    def __init__(self, path):
        self.data = data = path.read_bytes()
        assert data[:6] == b"\x7fELF\x02\x01", path
        self.sections = self._sections()
        self.loads = self._loads()
        self.pc, at, size = self.sections[".gopclntab"]
        self.table = t = data[at:at + size]
        magic, self.quantum = struct.unpack_from("<IxxB", t)
        assert magic in (0xfffffff0, 0xfffffff1), hex(magic)
        self.go120 = magic == 0xfffffff1
        self.count, _, _, self.names, self.units, self.files, self.programs, self.functions = \
            struct.unpack_from("<8Q", t, 8)
        self.text, self.trees = self._module()
        self.starts = [struct.unpack_from("<I", t, self.functions + 8 * i)[0] for i in range(self.count + 1)]
        # The runtime's numbers of functions change; that of wrappers is the last.
        self.wrapper = max(self._record(i)["id"] for i in range(self.count))

    def _sections(self):
        at, = struct.unpack_from("<Q", self.data, 40)
        size, count, strings = struct.unpack_from("<HHH", self.data, 58)
        rows = [struct.unpack_from("<IIQQQQ", self.data, at + i * size) for i in range(count)]
        names = self.data[rows[strings][4]:]
        return {names[r[0]:names.index(b"\0", r[0])].decode(): (r[3], r[4], r[5]) for r in rows}

    def _loads(self):
        at, = struct.unpack_from("<Q", self.data, 32)
        size, count = struct.unpack_from("<HH", self.data, 54)
        rows = [struct.unpack_from("<IIQQQQ", self.data, at + i * size) for i in range(count)]
        return [(r[3], r[2], r[5]) for r in rows if r[0] == 1]

    def at(self, pc, form):
        for start, off, size in self.loads:
            if start <= pc < start + size:
                return struct.unpack_from(form, self.data, off + pc - start)
        raise AssertionError(hex(pc))

    def _module(self):
        wanted = struct.pack("<QQ", self.pc, self.pc + self.names)
        for start, off, size in self.loads:
            found = self.data.find(wanted, off, off + size)
            if found >= 0:
                words = struct.unpack_from("<64Q", self.data, found)
                if not self.go120:
                    return words[22], words[38]
                end = self.pc + len(self.table)
                past = [i for i in range(32, 60) if words[i] == end]
                return words[22], words[past[0] - 1] if past else words[40]
        raise AssertionError("no moduledata")

    def _text(self, off):
        return self.table[off:self.table.index(b"\0", off)].decode()

    def _record(self, i):
        off, = struct.unpack_from("<I", self.table, self.functions + 8 * i + 4)
        at = self.functions + off
        fields = struct.unpack_from("<Ii2I4II", self.table, at)
        behind = at + 36 + 4 * self.go120
        funcid, tables = self.table[behind], self.table[behind + 3]
        programs = struct.unpack_from(f"<{fields[7]}I", self.table, behind + 4)
        trees = struct.unpack_from(f"<{tables}I", self.table, behind + 4 + 4 * fields[7])
        return {"name": fields[1], "file": fields[5], "line": fields[6], "unit": fields[8], "id": funcid,
                "index": programs[2] if len(programs) > 2 else 0,
                "tree": trees[3] if len(trees) > 3 and trees[3] != 0xffffffff else None}

    def _varint(self, at):
        value = shift = 0
        while True:
            byte = self.table[at]
            value |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                return value, at

    def _value(self, program, place):
        """The program's value at a place of its function; -1 where it has none."""
        if program == 0:
            return -1
        at, value, pc = self.programs + program, -1, 0
        while True:
            step, at = self._varint(at)
            if step == 0 and pc > 0:
                return -1
            units, at = self._varint(at)
            value += (step >> 1) ^ -(step & 1)
            pc += units * self.quantum
            if place < pc:
                return value

    def _place(self, record, place):
        return self._file(record, self._value(record["file"], place), self._value(record["line"], place))

    def _file(self, record, number, line):
        if number < 0:
            return "", max(line, 0)
        off, = struct.unpack_from("<I", self.table, self.units + 4 * (record["unit"] + number))
        return ("" if off == 0xffffffff else self._text(self.files + off)), max(line, 0)

    def frames(self, pc):
        """(function, file, line), innermost first, without inlined wrappers."""
        i = bisect.bisect_right(self.starts, pc - self.text) - 1
        if not 0 <= i < self.count:
            return []
        record, place, found = self._record(i), pc - self.text - self.starts[i], []
        if self._value(record["line"], place) < 0 and record["line"] != 0:
            return []  # padding
        index = self._value(record["index"], place) if record["tree"] is not None else -1
        where = self._place(record, place)
        while index >= 0:
            at = self.trees + record["tree"] + index * (16 if self.go120 else 20)
            parent, file, line = None, -1, 0
            if self.go120:
                funcid, name, place = self.at(at, "<B3xii")
            else:
                parent, funcid, file, line, name, place = self.at(at, "<hBxiiii")
            if funcid != self.wrapper:
                found.append((self._text(self.names + name), *where))
            index, where = self._value(record["index"], place), self._place(record, place)
            if parent not in (None, index):  # nothing of the call is left at its place
                index, where = parent, self._file(record, file, line)
        return found + [(self._text(self.names + record["name"]), *where)]
