# SPDX-License-Identifier: Apache-2.0
"""Messages of profile.proto by Google's own protobuf package, whose descriptors are made here from field numbers."""
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_TYPES = descriptor_pb2.FieldDescriptorProto
_INT, _UINT, _TEXT, _BOOL, _MESSAGE = (_TYPES.TYPE_INT64, _TYPES.TYPE_UINT64, _TYPES.TYPE_STRING, _TYPES.TYPE_BOOL,
                                       _TYPES.TYPE_MESSAGE)

# message: [(number, name, type, repeated)]; a type that is a name is a message.
_MESSAGES = {
    "ValueType": [(1, "type", _INT, False), (2, "unit", _INT, False)],
    "Label": [(1, "key", _INT, False), (2, "str", _INT, False), (3, "num", _INT, False), (4, "num_unit", _INT, False)],
    "Sample": [(1, "location_id", _UINT, True), (2, "value", _INT, True), (3, "label", "Label", True)],
    "Mapping": [(1, "id", _UINT, False), (2, "memory_start", _UINT, False), (3, "memory_limit", _UINT, False),
                (4, "file_offset", _UINT, False), (5, "filename", _INT, False), (6, "build_id", _INT, False),
                (7, "has_functions", _BOOL, False), (8, "has_filenames", _BOOL, False),
                (9, "has_line_numbers", _BOOL, False), (10, "has_inline_frames", _BOOL, False)],
    "Line": [(1, "function_id", _UINT, False), (2, "line", _INT, False), (3, "column", _INT, False)],
    "Location": [(1, "id", _UINT, False), (2, "mapping_id", _UINT, False), (3, "address", _UINT, False),
                 (4, "line", "Line", True), (5, "is_folded", _BOOL, False)],
    "Function": [(1, "id", _UINT, False), (2, "name", _INT, False), (3, "system_name", _INT, False),
                 (4, "filename", _INT, False), (5, "start_line", _INT, False)],
    "Profile": [(1, "sample_type", "ValueType", True), (2, "sample", "Sample", True), (3, "mapping", "Mapping", True),
                (4, "location", "Location", True), (5, "function", "Function", True), (6, "string_table", _TEXT, True),
                (7, "drop_frames", _INT, False), (8, "keep_frames", _INT, False), (9, "time_nanos", _INT, False),
                (10, "duration_nanos", _INT, False), (11, "period_type", "ValueType", False),
                (12, "period", _INT, False), (13, "comment", _INT, True), (14, "default_sample_type", _INT, False)],
}


def _profile_class():
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="perftools.profiles", syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, field, kind, repeated in fields:
            one = message.field.add(name=field, number=number,
                                    label=_TYPES.LABEL_REPEATED if repeated else _TYPES.LABEL_OPTIONAL)
            one.type = _MESSAGE if isinstance(kind, str) else kind
            if isinstance(kind, str):
                one.type_name = f".perftools.profiles.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    descriptor = pool.FindMessageTypeByName("perftools.profiles.Profile")
    make = getattr(message_factory, "GetMessageClass", None)  # since protobuf 4.22
    return make(descriptor) if make else message_factory.MessageFactory(pool).GetPrototype(descriptor)


Profile = _profile_class()


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
