# SPDX-License-Identifier: Apache-2.0
"""Messages of profile.proto by Google's own protobuf package, from field numbers."""
from protobuf_message import BOOL, INT64, TEXT, UINT64, message_classes

Profile = message_classes("perftools.profiles", {
    "ValueType": [(1, "type", INT64, False), (2, "unit", INT64, False)],
    "Label": [(1, "key", INT64, False), (2, "str", INT64, False), (3, "num", INT64, False), (4, "num_unit", INT64, False)],
    "Sample": [(1, "location_id", UINT64, True), (2, "value", INT64, True), (3, "label", "Label", True)],
    "Mapping": [(1, "id", UINT64, False), (2, "memory_start", UINT64, False), (3, "memory_limit", UINT64, False),
                (4, "file_offset", UINT64, False), (5, "filename", INT64, False), (6, "build_id", INT64, False),
                (7, "has_functions", BOOL, False), (8, "has_filenames", BOOL, False),
                (9, "has_line_numbers", BOOL, False), (10, "has_inline_frames", BOOL, False)],
    "Line": [(1, "function_id", UINT64, False), (2, "line", INT64, False), (3, "column", INT64, False)],
    "Location": [(1, "id", UINT64, False), (2, "mapping_id", UINT64, False), (3, "address", UINT64, False),
                 (4, "line", "Line", True), (5, "is_folded", BOOL, False)],
    "Function": [(1, "id", UINT64, False), (2, "name", INT64, False), (3, "system_name", INT64, False),
                 (4, "filename", INT64, False), (5, "start_line", INT64, False)],
    "Profile": [(1, "sample_type", "ValueType", True), (2, "sample", "Sample", True), (3, "mapping", "Mapping", True),
                (4, "location", "Location", True), (5, "function", "Function", True), (6, "string_table", TEXT, True),
                (7, "drop_frames", INT64, False), (8, "keep_frames", INT64, False), (9, "time_nanos", INT64, False),
                (10, "duration_nanos", INT64, False), (11, "period_type", "ValueType", False),
                (12, "period", INT64, False), (13, "comment", INT64, True), (14, "default_sample_type", INT64, False)],
})["Profile"]


class Builder:
    """A profile that is put together."""

    def __init__(self, value="cpu", unit="nanoseconds"):
        self.profile = Profile(string_table=[""], time_nanos=1_700_000_000_000_000_000)
        self.profile.sample_type.add(type=self.string(value), unit=self.string(unit))

    def string(self, text):
        table = self.profile.string_table
        if text not in table:
            table.append(text)
        return list(table).index(text)

    def mapping(self, path, build_id, start=0, limit=0, offset=0):
        number = len(self.profile.mapping) + 1
        self.profile.mapping.add(id=number, filename=self.string(path), build_id=self.string(build_id),
                                 memory_start=start, memory_limit=limit, file_offset=offset)
        return number

    def location(self, address, mapping=0):
        number = len(self.profile.location) + 1
        self.profile.location.add(id=number, address=address, mapping_id=mapping)
        return number

    def named(self, name):
        """A location that has a function and no address."""
        function = len(self.profile.function) + 1
        self.profile.function.add(id=function, name=self.string(name))
        number = self.location(0)
        self.profile.location[-1].line.add(function_id=function, line=7)
        return number

    def sample(self, locations, value):
        self.profile.sample.add(location_id=locations, value=[value])


def frames(profile, location):
    """(name, file, line) of a location, innermost first."""
    functions = {f.id: f for f in profile.function}
    texts = profile.string_table
    one = next(x for x in profile.location if x.id == location)
    return [(texts[functions[x.function_id].name], texts[functions[x.function_id].filename], x.line) for x in one.line]
