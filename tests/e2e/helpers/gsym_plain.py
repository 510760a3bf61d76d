# SPDX-License-Identifier: Apache-2.0
"""A reader of GSYM 1 and 2 of its own: written from docs/formats/gsym.md, slow, no bound is trusted."""
import struct
from typing import NamedTuple

SECTIONS = {1: "starts", 2: "records", 3: "strings", 4: "files", 5: "functions", 6: "uuid"}


class Node(NamedTuple):
    """An inlined call, or the function itself at depth 0."""
    depth: int
    name: str
    file: str
    line: int
    ranges: tuple


class Function(NamedTuple):
    """One record."""
    start: int
    size: int
    name: str
    rows: tuple
    inlines: tuple
    merged: tuple


class Cursor:
    """Values one after the other."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, size):
        """The next bytes."""
        assert 0 <= size <= len(self.data) - self.at
        self.at += size
        return self.data[self.at - size:self.at]

    def uint(self, size):
        """Little-endian."""
        return int.from_bytes(self.take(size), "little")

    def uleb(self):
        """Unsigned LEB128."""
        value = shift = 0
        while True:
            byte = self.uint(1)
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    def sleb(self):
        """Signed LEB128."""
        value = shift = 0
        while True:
            byte = self.uint(1)
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value - (1 << shift) if byte & 0x40 else value


class Gsym:
    """A file; functions are in `functions`, the order and place of its parts in `parts`."""

    def __init__(self, data):
        self.data = data
        magic, self.version, self.width = struct.unpack_from("<IHB", data)
        assert magic == 0x4753594d and self.width in (1, 2, 4, 8)
        self.parts = {}
        (self._open1 if self.version == 1 else self._open2)()
        files = Cursor(self.part("files"))
        self.files = [(self.string(files.uint(self.wide)), self.string(files.uint(self.wide)))
                      for _ in range(files.uint(4))]
        assert self.files[0] == ("", "")
        self.functions = [self._function(i) for i in range(self.count)]

    def part(self, name):
        """Its bytes."""
        at, size = self.parts[name]
        assert at + size <= len(self.data)
        return self.data[at:at + size]

    def _open1(self):
        self.wide = 4
        size, self.base, self.count, strings, n_strings = struct.unpack_from("<BQIII", self.data, 7)
        self.uuid = self.data[28:28 + size]
        assert size <= 20 and not any(self.data[28 + size:48])
        records = 48 + self.count * self.width
        records += -records % 4
        files = records + 4 * self.count
        self.parts = {"starts": (48, self.count * self.width), "records": (records, 4 * self.count),
                      "files": (files, 4 + 8 * Cursor(self.data, files).uint(4)),
                      "strings": (strings, n_strings), "functions": (0, len(self.data))}

    def _open2(self):
        self.wide = 8
        encoding, self.base, self.count = struct.unpack_from("<BQI", self.data, 7)
        assert encoding == 0
        at, found = 20, {}
        while True:
            kind, off, size = struct.unpack_from("<IQQ", self.data, at)
            at += 20
            if kind == 0:
                assert off == size == 0
                break
            assert size > 0
            if kind in SECTIONS:
                assert SECTIONS[kind] not in found
                found[SECTIONS[kind]] = (off, size)
        self.directory_end = at
        self.parts = found
        assert set(found) >= set(SECTIONS.values()) - {"uuid"}
        self.uuid = self.part("uuid") if "uuid" in found else b""
        assert found["starts"][1] == self.count * self.width
        assert found["records"][1] == self.count * 8

    def string(self, off):
        """The name at off."""
        strings = self.part("strings")
        assert off < len(strings)
        return strings[off:strings.index(b"\0", off)].decode()

    def path(self, file):
        """dir/base of an entry of the file table."""
        return "/".join(part for part in self.files[file] if part)

    def _function(self, index):
        start = self.base + Cursor(self.part("starts"), index * self.width).uint(self.width)
        at = Cursor(self.part("records"), index * self.wide).uint(self.wide)
        assert at % 4 == 0
        return self._record(Cursor(self.part("functions"), at), start)

    def _record(self, c, start):
        size, name = c.uint(4), c.uint(self.wide)
        blocks = {}
        while True:
            kind, length = c.uint(4), c.uint(4)
            if kind == 0:
                assert length == 0 and name != 0
                break
            assert kind not in blocks
            blocks[kind] = c.take(length)
        assert set(blocks) <= {1, 2, 3}
        rows = tuple(self._rows(Cursor(blocks[1]), start)) if 1 in blocks else ()
        nodes = tuple(self._nodes(Cursor(blocks[2]), 0, start, start)) if 2 in blocks else ()
        merged = tuple(self._merged(Cursor(blocks[3]), start)) if 3 in blocks else ()
        return Function(start, size, self.string(name), rows, nodes, merged)

    def _rows(self, c, pc):
        low, high, line = c.sleb(), c.sleb(), c.uleb()
        file = 1
        while True:
            op = c.uint(1)
            if op == 0:
                assert c.at == len(c.data)
                return
            if op == 1:
                file = c.uleb()
                continue
            if op == 3:
                line += c.sleb()
                continue
            if op == 2:
                pc += c.uleb()
            else:
                steps = high - low + 1
                line += low + (op - 4) % steps
                pc += (op - 4) // steps
            yield pc, self.path(file), line

    def _nodes(self, c, depth, start, base):
        while True:
            count = c.uleb()
            if count == 0:
                return
            ranges = []
            for _ in range(count):
                low = base + c.uleb()
                ranges.append((low, low + c.uleb()))
            children, name = c.uint(1), self.string(c.uint(self.wide))
            yield Node(depth, name, self.path(c.uleb()), c.uleb(), tuple(ranges))
            if children:
                yield from self._nodes(c, depth + 1, start, ranges[0][0])
            if depth == 0:
                assert c.at == len(c.data)
                return

    def _merged(self, c, start):
        for _ in range(c.uint(4)):
            size = c.uint(4)
            yield self._record(Cursor(c.take(size)), start)
        assert c.at == len(c.data)
