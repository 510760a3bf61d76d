# SPDX-License-Identifier: Apache-2.0
"""Profiles of pprof, built field by field: profile.proto of github.com/google/pprof."""


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value) if value else b""
    return varint(number << 3 | 2) + varint(len(value)) + value


class Pprof:
    """
    Frames of a stack are outermost first: ("name", "module") with optional "file" and line, a list of such
    for a location with inlined calls, outermost first, or an address and a module for one without a name.
    """

    def __init__(self, *types):
        self.strings, self.locations, self.functions, self.modules = {"": 0}, {}, {}, {}
        self.out = [field(1, field(1, self.string(t)) + field(2, self.string(u))) for t, u in types]

    def string(self, text):
        return self.strings.setdefault(text, len(self.strings))

    def module(self, name):
        if name not in self.modules:
            n = self.modules[name] = len(self.modules) + 1
            path = name if name.startswith(("/", "[")) else "/lib/" + name
            self.out.append(field(3, field(1, n) + field(2, n << 40) + field(3, n + 1 << 40) +
                                  field(5, self.string(path))))
        return self.modules[name]

    def function(self, name, file):
        key = (name, file)
        if key not in self.functions:
            n = self.functions[key] = len(self.functions) + 1
            self.out.append(field(5, field(1, n) + field(2, self.string(name)) +
                                  field(3, self.string(name)) + field(4, self.string(file))))
        return self.functions[key]

    def location(self, frames):
        frames = tuple(frames) if isinstance(frames, list) else (frames,)
        if frames in self.locations:
            return self.locations[frames]
        n = self.locations[frames] = len(self.locations) + 1
        module = self.module(frames[0][1])
        if isinstance(frames[0][0], int):
            body = field(3, (module << 40) + frames[0][0])
        else:
            body = field(3, (module << 40) + 0x1000 + n)
            for name, _, *place in reversed(frames):
                file, line = (*place, "", 0)[:2] if place else ("", 0)
                body += field(4, field(1, self.function(name, file)) + field(2, line))
        self.out.append(field(4, field(1, n) + field(2, module) + body))
        return n

    def sample(self, stack, *values):
        ids = [self.location(f) for f in reversed(stack)]
        self.out.append(field(2, field(1, b"".join(map(varint, ids))) +
                              field(2, b"".join(map(varint, values)))))
        return self

    def bytes(self):
        return b"".join(self.out) + b"".join(varint(6 << 3 | 2) + varint(len(b)) + b
                                             for b in (s.encode() for s in self.strings))
