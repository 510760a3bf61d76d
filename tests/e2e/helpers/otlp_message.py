# SPDX-License-Identifier: Apache-2.0
"""OTLP profiles by Google's own protobuf package, as the OpenTelemetry eBPF profiler writes them."""

from protobuf_message import BYTES, FIXED64, INT32, INT64, TEXT, UINT64, UINT32, message_classes

_CLASSES = message_classes("otlp", {
    "AnyValue": [(1, "string_value", TEXT, False), (8, "string_value_strindex", INT32, False)],
    "KeyValueAndUnit": [(1, "key_strindex", INT32, False), (2, "value", "AnyValue", False),
                        (3, "unit_strindex", INT32, False)],
    "Mapping": [(1, "memory_start", UINT64, False), (2, "memory_limit", UINT64, False),
                (3, "file_offset", UINT64, False), (4, "filename_strindex", INT32, False),
                (5, "attribute_indices", INT32, True)],
    "Line": [(1, "function_index", INT32, False), (2, "line", INT64, False), (3, "column", INT64, False)],
    "Location": [(1, "mapping_index", INT32, False), (2, "address", UINT64, False), (3, "lines", "Line", True),
                 (4, "attribute_indices", INT32, True)],
    "Function": [(1, "name_strindex", INT32, False), (2, "system_name_strindex", INT32, False),
                 (3, "filename_strindex", INT32, False), (4, "start_line", INT64, False)],
    "Link": [(1, "trace_id", BYTES, False), (2, "span_id", BYTES, False)],
    "Stack": [(1, "location_indices", INT32, True)],
    "Dictionary": [(1, "mapping_table", "Mapping", True), (2, "location_table", "Location", True),
                   (3, "function_table", "Function", True), (4, "link_table", "Link", True),
                   (5, "string_table", TEXT, True), (6, "attribute_table", "KeyValueAndUnit", True),
                   (7, "stack_table", "Stack", True)],
    "ValueType": [(1, "type_strindex", INT32, False), (2, "unit_strindex", INT32, False)],
    "Sample": [(1, "stack_index", INT32, False), (2, "attribute_indices", INT32, True), (3, "link_index", INT32, False),
               (4, "values", INT64, True), (5, "timestamps_unix_nano", FIXED64, True)],
    "Profile": [(1, "sample_type", "ValueType", False), (2, "samples", "Sample", True),
                (3, "time_unix_nano", FIXED64, False), (4, "duration_nano", UINT64, False),
                (7, "profile_id", BYTES, False), (8, "dropped_attributes_count", UINT32, False)],
    "ScopeProfiles": [(2, "profiles", "Profile", True), (3, "schema_url", TEXT, False)],
    "KeyValue": [(1, "key", TEXT, False), (2, "value", "AnyValue", False), (3, "key_strindex", INT32, False)],
    "Resource": [(1, "attributes", "KeyValue", True)],
    "ResourceProfiles": [(1, "resource", "Resource", False), (2, "scope_profiles", "ScopeProfiles", True), (3, "schema_url", TEXT, False)],
    "Request": [(1, "resource_profiles", "ResourceProfiles", True), (2, "dictionary", "Dictionary", False)],
})
Request = _CLASSES["Request"]


class Builder:
    """A request that is put together; element 0 of each table is the zero value."""

    def __init__(self, kind="samples", unit="count"):
        self.request = Request()
        self.tables = self.request.dictionary
        self.tables.string_table.append("")
        for table in (self.tables.mapping_table, self.tables.location_table, self.tables.function_table,
                      self.tables.link_table, self.tables.attribute_table, self.tables.stack_table):
            table.add()
        scope = self.request.resource_profiles.add(schema_url="resource").scope_profiles.add(schema_url="scope")
        self.profile = scope.profiles.add(time_unix_nano=1_700_000_000_000_000_000, profile_id=bytes(range(16)))
        self.profile.sample_type.type_strindex = self.string(kind)
        self.profile.sample_type.unit_strindex = self.string(unit)

    def string(self, text):
        table = self.tables.string_table
        if text not in table:
            table.append(text)
        return list(table).index(text)

    def attribute(self, key, text, inline=False):
        one = self.tables.attribute_table.add(key_strindex=self.string(key))
        if inline:
            one.value.string_value = text
        else:
            one.value.string_value_strindex = self.string(text)
        return len(self.tables.attribute_table) - 1

    def mapping(self, path, ids, start=0x1000, offset=0, inline=False):
        """ids: {"gnu": HEX}, {"htlhash": HEX} and so on."""
        keys = [self.attribute(f"process.executable.build_id.{kind}", text, inline) for kind, text in ids.items()]
        self.tables.mapping_table.add(memory_start=start, memory_limit=start + 0x100000, file_offset=offset,
                                      filename_strindex=self.string(path), attribute_indices=keys)
        return len(self.tables.mapping_table) - 1

    def location(self, address, mapping):
        self.tables.location_table.add(mapping_index=mapping, address=address,
                                       attribute_indices=[self.attribute("profile.frame.type", "native")])
        return len(self.tables.location_table) - 1

    def named(self, name):
        self.tables.function_table.add(name_strindex=self.string(name))
        self.tables.location_table.add().lines.add(function_index=len(self.tables.function_table) - 1, line=7)
        return len(self.tables.location_table) - 1

    def sample(self, locations, values=(), times=()):
        self.tables.stack_table.add(location_indices=locations)
        self.profile.samples.add(stack_index=len(self.tables.stack_table) - 1, values=values,
                                 timestamps_unix_nano=times)

    def data(self):
        return self.request.SerializeToString()


def frames(request, location):
    """(name, file, line) of a location, innermost first."""
    tables = request.dictionary
    texts, functions = tables.string_table, tables.function_table
    return [(texts[functions[x.function_index].name_strindex], texts[functions[x.function_index].filename_strindex],
             x.line) for x in tables.location_table[location].lines]
