# SPDX-License-Identifier: Apache-2.0
"""Classes of protobuf messages, by Google's own package, from tables of their fields."""
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FIELD = descriptor_pb2.FieldDescriptorProto
INT32, INT64, UINT32, UINT64, FIXED64, TEXT, BOOL, BYTES = (
    _FIELD.TYPE_INT32, _FIELD.TYPE_INT64, _FIELD.TYPE_UINT32, _FIELD.TYPE_UINT64, _FIELD.TYPE_FIXED64,
    _FIELD.TYPE_STRING, _FIELD.TYPE_BOOL, _FIELD.TYPE_BYTES)


def message_classes(package, messages):
    """{name: class} for {name: [(number, field, type, repeated)]}; a type that is a name is a message."""
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for number, field, kind, repeated in fields:
            one = message.field.add(name=field, number=number,
                                    label=_FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL)
            one.type = _FIELD.TYPE_MESSAGE if isinstance(kind, str) else kind
            if isinstance(kind, str):
                one.type_name = f".{package}.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    make = getattr(message_factory, "GetMessageClass", None)  # since protobuf 4.22
    make = make or message_factory.MessageFactory(pool).GetPrototype
    return {name: make(pool.FindMessageTypeByName(f"{package}.{name}")) for name in messages}
