# SPDX-License-Identifier: Apache-2.0
"""Plain readers of perf maps and jitdumps: lists, and every entry tried for each address."""
import struct


def read_map(path):
    """(start, size, name) of each line, as the file has them."""
    out = []
    for line in open(path, encoding="utf-8", errors="replace").read().split("\n")[:-1]:
        words = line.split(maxsplit=2)
        if len(words) == 3 and int(words[1], 16):
            out.append((int(words[0], 16), int(words[1], 16), words[2]))
    return out


def in_map(entries, address):
    """The name that the last line with the address has."""
    for start, size, name in reversed(entries):
        if start <= address < start + size:
            return name
    return None


def read_dump(path):
    """Events in the order of their times: (time, start, size, name or None, rows)."""
    data = open(path, "rb").read()
    magic, _, header = struct.unpack_from("<III", data)
    order = "<" if magic == 0x4A695444 else ">"
    pad, = struct.unpack_from(order + "I", data, 16)
    events, rows, at, names = [], {}, header, {}
    while at + 16 <= len(data):
        kind, size, when = struct.unpack_from(order + "IIQ", data, at)
        if size < 16 or at + size > len(data):
            break
        body = at + 16
        if kind == 0:
            _, address, length, index = struct.unpack_from(order + "QQQQ", data, body + 8)
            name = data[body + 40:data.index(0, body + 40)].decode(errors="replace")
            names[index] = name
            events.append((when, address, length, name, rows.pop(address, [])))
        elif kind == 1:
            old, new, length, index = struct.unpack_from(order + "QQQQ", data, body + 16)
            events.append((when, old, length, None, []))
            events.append((when, new, length, names[index], []))
        elif kind == 2:
            rows[struct.unpack_from(order + "Q", data, body)[0]] = read_rows(data, body, order)
        at += size
    events.sort(key=lambda e: e[0])
    return [(w, a, n, name, shifted(r, a, pad)) for w, a, n, name, r in events]


def read_rows(data, body, order):
    _, count = struct.unpack_from(order + "QQ", data, body)
    at, out, name = body + 16, [], b""
    for _ in range(count):
        address, line = struct.unpack_from(order + "Qi", data, at)
        end = data.index(0, at + 16)
        name = name if data[at + 16:end] == b"\xff" else data[at + 16:end]
        out.append((address, line, name.decode(errors="replace")))
        at = end + 1
    return out


def shifted(rows, start, pad):
    """V8 adds the size of an ELF header to its addresses."""
    if rows and pad == 0xDEADBEEF and min(r[0] for r in rows) >= start + 0x40:
        return [(a - 0x40, line, name) for a, line, name in rows]
    return rows


def in_dump(events, address, when=None):
    """(name, line or None, file) of the last event with the address, or None."""
    for time, start, size, name, rows in reversed(events):
        if start <= address < start + size and (when is None or time <= when):
            if name is None:
                return None
            before = [r for r in rows if r[0] <= address]
            return (name, *before[-1][1:]) if before else (name, None, None)
    return None
