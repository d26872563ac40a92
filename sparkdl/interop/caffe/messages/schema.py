"""Classes of Caffe's messages, created from the table of their fields.

They are in a separate pool, as Caffe's own descriptors may be loaded in the same process.
"""

import re

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from sparkdl.interop.caffe.messages.fields import FIELDS

PACKAGE = "sparkdl.caffe"
Field = descriptor_pb2.FieldDescriptorProto
SCALARS = {
    name: getattr(Field, f"TYPE_{name.upper()}")
    for name in ("bool", "bytes", "double", "float", "int32", "int64", "string", "uint32")
}
NUMBERS = re.compile(r"(float|double)\* packed")
FIELD = re.compile(r'(\w+) (\d+) (\w+)(\*?)( packed)?(?: = "?([^"]*)"?)?')


def messages(fields):
    """Returns {name: class} for every message in a table of fields."""
    pool = descriptor_pool.DescriptorPool()
    pool.Add(describe_schema(table(fields)))
    types = pool.FindFileByName("caffe.proto").message_types_by_name
    return {name: message_factory.GetMessageClass(types[name]) for name in types}


def table(fields):
    """Returns [(kind, name, [text of a field])] in the order of the table."""
    rows = []
    for line in fields.splitlines():
        if line.startswith(" "):
            rows[-1][2].extend(part.strip() for part in line.split(";") if part.strip())
        else:
            rows.append((*line.split(), []))
    return rows


def describe_schema(rows):
    """Converts a table to a FileDescriptorProto."""
    file = descriptor_pb2.FileDescriptorProto(name="caffe.proto", package=PACKAGE, syntax="proto2")
    types = {name: file.message_type.add(name=name) for kind, name, _ in rows if kind == "message"}
    enums = {name for kind, name, _ in rows if kind == "enum"}
    for kind, name, fields in rows:
        if kind == "enum":
            add_enum(types, file, name, fields)
        else:
            for text in fields:
                add_field(types[name], text, enums)
    return file


def add_enum(message_types, file, name, values):
    outer, _, inner = name.rpartition(".")
    enum = (message_types[outer] if outer else file).enum_type.add(name=inner)
    for text in values:
        value, number = text.split()
        enum.value.add(name=value, number=int(number))


def add_field(message, text, enums):
    name, number, kind, many, packed, default = FIELD.fullmatch(text).groups()
    label = Field.LABEL_REPEATED if many else Field.LABEL_OPTIONAL
    field = message.field.add(name=name, number=int(number), label=label)
    if kind in SCALARS:
        field.type = SCALARS[kind]
    else:
        entry_name = f"{message.name}.{kind}"
        full = entry_name if entry_name in enums else kind
        field.type = Field.TYPE_ENUM if full in enums else Field.TYPE_MESSAGE
        field.type_name = f".{PACKAGE}.{full}"
    if default is not None:
        field.default_value = default
    if packed:
        field.options.packed = True


MESSAGES = messages(FIELDS)
# The same messages, with blob numbers as bytes: the encoding is the same as for packed numbers, and
# millions of numbers need not become Python objects.
RAW = messages(NUMBERS.sub("bytes*", FIELDS))
NetParameter = MESSAGES["NetParameter"]
SolverParameter = MESSAGES["SolverParameter"]
LayerParameter = MESSAGES["LayerParameter"]
ParamSpec = MESSAGES["ParamSpec"]
NetState = MESSAGES["NetState"]
