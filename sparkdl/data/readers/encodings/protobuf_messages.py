"""Protocol buffer message classes created from a table of their fields."""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

Field = descriptor_pb2.FieldDescriptorProto


def messages(name, table):
    """Creates message classes in a separate pool; returns {message: class}.

    The default pool may contain other descriptors of the same names.

    Parameters
    ----------
    name : str
        Name of the package.
    table : {message: [(field, number, type)]}
        Types are "int32", "bytes" ... or other messages of the table, with "*" if repeated.
    """
    file = descriptor_pb2.FileDescriptorProto(name=f"{name}.proto", package=name)
    for message, fields in table.items():
        message_type = file.message_type.add(name=message)
        for field, number, kind in fields:
            _add(message_type, name, field, number, kind.rstrip("*"), kind.endswith("*"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    find = pool.FindMessageTypeByName
    return {one: message_factory.GetMessageClass(find(f"{name}.{one}")) for one in table}


def _add(message_type, package, name, number, kind, repeated):
    label = Field.LABEL_REPEATED if repeated else Field.LABEL_OPTIONAL
    field = message_type.field.add(name=name, number=number, label=label)
    scalar = getattr(Field, f"TYPE_{kind.upper()}", None)
    field.type = scalar or Field.TYPE_MESSAGE
    if scalar is None:
        field.type_name = f".{package}.{kind}"
