# SPDX-License-Identifier: Apache-2.0
"""GSYM files of version 1 whose content is chosen to cost as much as possible to read.

The format is in docs/formats/gsym.md. Every file here is well formed: a server has no reason to refuse it,
and has to bound what it spends on it.
"""
import struct

BASE = 0x401000   # of the first function
IMAGE = 0x400000  # of the file; a GSYM that begins with a function does not tell it


def uleb(value):
    """Unsigned LEB128."""
    out = bytearray()
    while True:
        byte, value = value & 0x7F, value >> 7
        if not value:
            return bytes(out + bytes([byte]))
        out.append(byte | 0x80)


def sleb(value):
    """Signed LEB128."""
    out = bytearray()
    while True:
        byte = value & 0x7F
        value >>= 7
        if (value == 0 and not byte & 0x40) or (value == -1 and byte & 0x40):
            return bytes(out + bytes([byte]))
        out.append(byte | 0x80)


class Writer:
    """Functions in ascending order of address, then `bytes()`."""

    def __init__(self, uuid):
        assert len(uuid) == 20
        self.uuid = uuid
        self.strings = bytearray(b"\0")
        self.files = [(0, 0)]
        self.functions = []

    def string(self, text):
        """Its offset in the string table; nothing is shared."""
        self.strings += (text if isinstance(text, bytes) else text.encode()) + b"\0"
        return len(self.strings) - 1 - len(text if isinstance(text, bytes) else text.encode())

    def file(self, directory, base):
        """Its number in the file table."""
        self.files.append((self.string(directory), self.string(base)))
        return len(self.files) - 1

    def function(self, start, size, name, lines=b"", inlines=b""):
        """One record. `name` is an offset of the string table."""
        record = struct.pack("<II", size, name)
        for kind, block in ((1, lines), (2, inlines)):
            if block:
                record += struct.pack("<II", kind, len(block)) + block
        self.functions.append((start, record + struct.pack("<II", 0, 0)))

    def bytes(self):
        """The file."""
        count = len(self.functions)
        starts = b"".join(struct.pack("<I", start - IMAGE) for start, _ in self.functions)
        records_at = 48 + len(starts)
        files_at = records_at + 4 * count
        files = struct.pack("<I", len(self.files)) + b"".join(struct.pack("<II", *f) for f in self.files)
        strings_at = files_at + len(files)
        at = strings_at + len(self.strings)
        pad = -at % 4
        at += pad
        offsets, records = bytearray(), bytearray()
        for _, record in self.functions:
            records += bytes(-len(records) % 4)
            offsets += struct.pack("<I", at + len(records))
            records += record
        header = struct.pack("<IHBBQIII", 0x4753594D, 1, 4, 20, IMAGE, count, strings_at, len(self.strings))
        return header + self.uuid + starts + bytes(offsets) + files + bytes(self.strings) + bytes(pad) + bytes(records)


def line_table(rows, line=1, file=1):
    """A row for each byte of code, each by one opcode that advances the address by one."""
    special = 4 + 1  # minimum and maximum delta 0: the opcode 4 + n advances the address by n
    return sleb(0) + sleb(0) + uleb(line) + bytes([1]) + uleb(file) + bytes([special]) * rows + b"\0"


def nested_calls(size, names, file=1):
    """Inlined calls, each over the whole function and inside the one before."""
    out = bytearray()
    for depth, name in enumerate(names):
        leaf = depth == len(names) - 1
        out += uleb(1) + uleb(0) + uleb(size) + bytes([0 if leaf else 1]) + struct.pack("<I", name)
        out += uleb(file if depth else 0) + uleb(depth)
    return bytes(out) + b"\0" * (len(names) - 1)


def sibling_calls(count, name, file=1):
    """A function of `count` bytes with an inlined call at each of them."""
    out = bytearray(uleb(1) + uleb(0) + uleb(count) + b"\1" + struct.pack("<I", name) + uleb(0) + uleb(0))
    tail = b"\0" + struct.pack("<I", name) + uleb(file) + uleb(7)
    for at in range(count):
        out += uleb(1) + uleb(at) + uleb(1) + tail
    return bytes(out) + b"\0"


def deep_frames(uuid, depth=255, length=4 << 20):
    """Every address has `depth` frames, whose names all are the same `length` bytes."""
    w = Writer(uuid)
    name, file = w.string("n" * length), w.file("d" * 4000, "b")
    w.function(BASE, 4096, name, line_table(16, file=file), nested_calls(4096, [name] * depth, file))
    return w.bytes(), range(BASE, BASE + 400)


def ends_of_one_name(uuid, functions=400, depth=255, length=4 << 20):
    """Every frame of every function has a name of its own, each an end of one string that has to be escaped."""
    w = Writer(uuid)
    name = w.string(b"\1" * length)
    file = w.file(b"\2" * 100000, b"\3" * 100000)
    for i in range(functions):
        names = [name + i * depth + k for k in range(depth)]
        w.function(BASE + 16 * i, 16, names[0], line_table(8, file=file), nested_calls(16, names, file))
    return w.bytes(), range(BASE, BASE + 16 * functions, 16)


def long_line_table(uuid, rows=16 << 20):
    """One function whose line table takes `rows` bytes."""
    w = Writer(uuid)
    name, file = w.string("long_lines"), w.file("/src", "long.c")
    w.function(BASE, rows + 1, name, line_table(rows, file=file))
    step = rows // 400
    return w.bytes(), range(BASE + rows - 400 * step + 1, BASE + rows, step)


def many_calls(uuid, count=1 << 20):
    """One function with `count` inlined calls side by side."""
    w = Writer(uuid)
    name, file = w.string("many_calls"), w.file("/src", "many.c")
    w.function(BASE, count, name, line_table(16, file=file), sibling_calls(count, name, file))
    step = count // 400
    return w.bytes(), range(BASE + count - 400 * step, BASE + count, step)


def hostile_names(uuid):
    """Functions named so that a demangler without a bound never ends."""
    n = 60
    nested = "PF" * n + "vvE" + "S_" * n + "E" * n
    names = [
        "_D3foo" + "__T1bS9" * n + "1a" + "Z" * n + "v",
        "_Z1fIJEEvDp" + nested,
        "_Z" + "N1aI" * 400 + "i" + "EE" * 400,
        "_Z1f" + "S_" * 5000,
        "_R" + "NvC1a1b" * 500,
        "_RINvC1a1f" + "B_" * 3000 + "E",
        "$s" + "4main1fyyF" * 1000,
        "_Z1fIJ" + "iJ" * 300 + "E" * 300,
    ]
    w = Writer(uuid)
    file = w.file("/src", "names.c")
    for i, name in enumerate(names):
        w.function(BASE + 16 * i, 16, w.string(name), line_table(8, file=file))
    return w.bytes(), range(BASE, BASE + 16 * len(names), 4)


def colliding_addresses(uuid):
    """A plain file, and addresses that an unseeded hash of a multiple of 16 KiB would put into few slots."""
    w = Writer(uuid)
    name, file = w.string("plain"), w.file("/src", "plain.c")
    w.function(BASE, 1 << 31, name, line_table(16, file=file))
    return w.bytes(), [BASE + (i << 14) for i in range(100000)]


KINDS = {f.__name__: f for f in
         (deep_frames, ends_of_one_name, long_line_table, many_calls, hostile_names, colliding_addresses)}
