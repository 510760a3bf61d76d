# SPDX-License-Identifier: Apache-2.0
"""A large GSYM of version 1 with names, lines and inlined calls of usual sizes, written from docs/formats/gsym.md."""
import random
import struct

BASE = 0x400000
FIRST = 0x1000  # where the functions begin: in the image, and in the file


def uleb(n):
    out = bytearray()
    while True:
        byte, n = n & 0x7f, n >> 7
        out.append(byte | (0x80 if n else 0))
        if not n:
            return bytes(out)


def sleb(n):
    out = bytearray()
    while True:
        byte, n = n & 0x7f, n >> 7
        done = (n == 0 and not byte & 0x40) or (n == -1 and byte & 0x40)
        out.append(byte | (0 if done else 0x80))
        if done:
            return bytes(out)


class Strings:
    def __init__(self):
        self.data, self.known = bytearray(1), {"": 0}

    def __call__(self, text):
        if text not in self.known:
            self.known[text] = len(self.data)
            self.data += text.encode() + b"\0"
        return self.known[text]


def block(kind, content):
    return struct.pack("<II", kind, len(content)) + content


# Special opcodes by random bytes: they add 1 to 15 to the address and -4 to 10 to the line.
OPCODES = bytes(4 + b % 15 + 15 * (1 + b * 7 % 15) for b in range(256))
STEPS = bytes((op - 4) // 15 for op in OPCODES)


def line_table(rng, rows, line, files):
    """Rows in three files, and the bytes of code that they cover."""
    out, covered = bytearray(sleb(-4) + sleb(10) + uleb(line)), 1
    for file in files:
        drawn = rng.randbytes(rows // len(files) + 1)
        covered += sum(drawn.translate(STEPS))
        out += b"\1" + uleb(file) + drawn.translate(OPCODES)
    return bytes(out) + b"\0", covered


def inline_tree(strings, names, own, size, file, line):
    """The function, and one call in its middle with another in it."""
    def node(lo, n, name, call_file, call_line, children):
        return uleb(1) + uleb(lo) + uleb(n) + (b"\1" if children else b"\0") + struct.pack("<I", name) + \
            uleb(call_file) + uleb(call_line) + b"".join(children) + (b"\0" if children else b"")
    inner = node(size // 16, size // 8, strings(names[1]), file, line + 7, [])
    outer = node(size // 4, size // 2, strings(names[0]), file, line + 3, [inner])
    return node(0, size, own, 0, 0, [outer])


def write(path, functions, seed=1):
    """Returns the starts and sizes of the functions."""
    rng = random.Random(seed)
    strings = Strings()
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randrange(3, 11))) for _ in range(4000)]
    folders = ["/src/" + "/".join(rng.choices(words, k=4)) for _ in range(1500)]
    files = [(0, 0)] + [(strings(rng.choice(folders)), strings(rng.choice(words) + str(i) + ".cc")) for i in range(12000)]
    helpers = ["_ZN" + "".join(f"{len(w)}{w}" for w in rng.choices(words, k=3)) + "Ev" for _ in range(20000)]
    table, records, at = [], [], FIRST
    for i in range(functions):
        own = strings("_ZN" + "".join(f"{len(w)}{w}" for w in rng.choices(words, k=5)) + f"{i}Ei")
        file, line = rng.randrange(1, len(files)), rng.randrange(6000, 9000)
        near = [file] + [rng.randrange(1, len(files)) for _ in range(2)]
        lines, size = line_table(rng, rng.randrange(20, 400), line, near)
        record = struct.pack("<II", size, own) + block(1, lines)
        if i % 3 == 0:
            record += block(2, inline_tree(strings, rng.sample(helpers, 2), own, size, file, line))
        record += struct.pack("<II", 0, 0)
        table.append((at, size))
        records.append(record + bytes(-len(record) % 4))
        at += size + rng.randrange(0, 32)
    addresses = struct.pack(f"<{functions}I", *(start for start, _ in table))
    names = struct.pack("<I", len(files)) + b"".join(struct.pack("<II", *f) for f in files)
    first = 48 + len(addresses) + 4 * functions
    string_off = first + len(names)
    off = string_off + len(strings.data) + (-(string_off + len(strings.data)) % 4)
    offsets, record_at = [], off
    for record in records:
        offsets.append(record_at)
        record_at += len(record)
    with open(path, "wb") as f:
        f.write(struct.pack("<IHBBQIII", 0x4753594d, 1, 4, 0, BASE, functions, string_off, len(strings.data)) + bytes(20))
        f.write(addresses)
        f.write(struct.pack(f"<{functions}I", *offsets))
        f.write(names)
        f.write(strings.data)
        f.write(bytes(off - f.tell()))
        f.writelines(records)
        f.write(struct.pack("<QQQIIQ", FIRST, at - FIRST, BASE + FIRST, 1, 0, 0x53544d4745535855))  # its segment
    return [(BASE + start, size) for start, size in table]
