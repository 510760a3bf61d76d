# SPDX-License-Identifier: Apache-2.0
"""Profiles of pprof from stacks of names."""
from pprof_message import Profile


class Stacks:
    """
    Frames of a stack are outermost first. Each is (name, module, file, line), of which the last two may be left
    out, or (address, module) without a name; a list of them is a location with inlined calls.
    """

    def __init__(self, *types):
        self.profile = Profile()
        self.strings, self.locations, self.functions, self.modules = {"": 0}, {}, {}, {}
        self.build_ids = {}  # of modules, in hex; set before the first use of one
        for name, unit in types or (("samples", "count"),):
            self.profile.sample_type.add(type=self.string(name), unit=self.string(unit))

    def string(self, text):
        return self.strings.setdefault(text, len(self.strings))

    def module(self, name):
        if name not in self.modules:
            n = self.modules[name] = len(self.modules) + 1
            self.profile.mapping.add(
                id=n, memory_start=n << 40, memory_limit=n + 1 << 40,
                filename=self.string(name if name.startswith(("/", "[")) else "/lib/" + name),
                build_id=self.string(self.build_ids.get(name, "")))
        return self.modules[name]

    def function(self, name, file):
        key = name, file
        if key not in self.functions:
            n = self.functions[key] = len(self.functions) + 1
            self.profile.function.add(id=n, name=self.string(name), filename=self.string(file))
        return self.functions[key]

    def location(self, frames):
        frames = tuple(frames) if isinstance(frames, list) else (frames,)
        if frames not in self.locations:
            n = self.locations[frames] = len(self.locations) + 1
            module = self.module(frames[0][1])
            named = isinstance(frames[0][0], str)
            one = self.profile.location.add(id=n, mapping_id=module,
                                            address=(module << 40) + (0x1000 + n if named else frames[0][0]))
            for name, _, *place in reversed(frames if named else ()):
                file, line = place or ("", 0)
                one.line.add(function_id=self.function(name, file), line=line)
        return self.locations[frames]

    def sample(self, stack, *values):
        self.profile.sample.add(location_id=[self.location(f) for f in reversed(stack)], value=values)
        return self

    def write(self, path):
        self.profile.string_table[:] = list(self.strings)
        path.write_bytes(self.profile.SerializeToString())
        return path
