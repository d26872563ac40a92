"""Checks of a DataFrame's schema against a network's, before any job."""

import math

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DateType,
    IntegralType,
    MapType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    UserDefinedType,
)

from sparkdl.data.readers.encodings.arrow_columns import IMAGE, KINDS, is_vector, require_column
from sparkdl.errors import DataError

WHERE = "the DataFrame"
MOST = 4  # most names shown in an error


def check_fields(fields, columns, schema):
    """Raises DataError if a column cannot be what a network takes.

    Parameters
    ----------
    fields : StructType
        The schema of the DataFrame.
    columns : {column of a batch: column of the DataFrame}
    schema : Schema
        Of the batches.
    """
    for name in columns.values():
        require_one(name, fields.names)
    for column, name in columns.items():
        if column in schema.ids:
            check_ids(fields[name], *shape_of_features(schema, column))
        elif column in schema.inputs:
            check_features(fields[name], *shape_of_features(schema, column))
        elif column in schema.outputs:
            check_label(fields[name], schema.outputs[column])
        else:
            check_factor(fields[name])


def shape_of_features(schema, column):
    """Returns (shape of a record, shape of each of its steps if it may have fewer, else None)."""
    shape = schema.inputs[column]
    return shape, shape[1:] if column in schema.masks else None


def require_one(name, names):
    """Raises DataError unless exactly one column of a DataFrame has this name."""
    require_column(name, names, WHERE)
    if names.count(name) > 1:
        raise DataError(
            f"{WHERE}: column {name!r} must be there once, got {names.count(name)}; rename or "
            "drop the others"
        )


def find_columns(wanted, names):
    """Returns the indices of a DataFrame's columns, given all its names.

    Raises DataError if one is missing or ambiguous.
    """
    places = {name: place for place, name in enumerate(names)}
    are_unique = len(places) == len(names)  # to count each name takes long for thousands
    for name in wanted:
        if name not in places or not are_unique:
            require_one(name, names)
    return [places[name] for name in wanted]


def check_features(field, shape, step=None, cure="VectorAssembler puts several columns together"):
    """Raises DataError if a column's type, or the width of its vectors, does not match `shape`.

    Sequences with steps of the shape `step` may be shorter. `cure` says how to combine numbers.
    """
    kind, where = field.dataType, f"{WHERE}: column {field.name!r}"
    if not has_numbers(kind):
        cure = cure_for_numbers(field.name, kind)
        raise DataError(f"{where} must hold {KINDS}, got {kind.simpleString()}{cure}")
    if None in shape:
        return
    size = math.prod(shape)
    if is_number(kind) and size != 1:
        got = f"one ({kind.simpleString()})"
        raise DataError(f"{where} must have {size} numbers, got {got}; {cure}")
    width, fewest = vector_width(field), size if step is None else math.prod(step)
    if width is not None and width not in range(fewest, size + 1, fewest):
        most = "" if step is None else f"steps of {fewest}, at most "
        got = f"{width}{named_parts(field)}"
        raise DataError(f"{where} must have {most}{size} numbers, got {got}")


def check_ids(field, shape, step=None):
    """Raises DataError unless a column holds integers or lists of them, as ids must be."""
    kind = field.dataType
    if not has_integers(kind):
        raise DataError(
            f"{WHERE}: column {field.name!r} must hold integers or lists of them, as they are ids, "
            f"got {kind.simpleString()}; {cure_for_ids(field.name, kind)}"
        )
    check_features(field, shape, step, cure="F.array puts several columns together")


def cure_for_ids(name, kind):
    """Returns how to make ids from a column of another Spark type."""
    of_list = isinstance(kind, ArrayType)
    if is_text(kind):
        return f"F.xxhash64({name!r}).bitwiseAND(2**63 - 1) makes ids of texts"
    if of_list and is_text(kind.elementType):
        one = "lambda text: F.xxhash64(text).bitwiseAND(2**63 - 1)"
        return f"F.transform({name!r}, {one}) makes ids of texts"
    if isinstance(kind, UserDefinedType):
        return f"vector_to_array(F.col({name!r})).cast('array<long>') makes ids of whole numbers"
    if isinstance(kind, DateType):  # Spark cannot cast dates to numbers
        return f"F.unix_date({name!r}) makes ids of dates"
    to = "array<long>" if of_list else "long"
    return f"F.col({name!r}).cast({to!r}) makes ids of whole numbers"


def check_label(field, label):
    """Raises DataError if a column's type or number of classes does not match the label's."""
    kind, where = field.dataType, f"{WHERE}: column {field.name!r}"
    if not has_numbers(kind):
        cure = cure_for_label(field.name, kind, label)
        raise DataError(f"{where} must hold numbers, got {kind.simpleString()}{cure}")
    names = class_names(field)
    if label.kind == "class" and names and len(names) > label.size:
        got = f"{len(names)}: {list(names[:MOST])}{'...' if len(names) > MOST else ''}"
        cure = f"Output(units={len(names)}) has one for each"
        raise DataError(f"{where} must have at most {label.size} classes, got {got}; {cure}")


def cure_for_numbers(name, kind):
    """Returns "; " and how to make numbers from a column of a Spark type; "" for other types."""
    if is_text(kind):
        makes = "StringIndexer and OneHotEncoder make vectors of categories"
        return f"; {makes}, Tokenizer and HashingTF of words; {cast_texts(name)}"
    if isinstance(kind, DateType):
        return f"; F.unix_date({name!r}) makes days of dates"
    if isinstance(kind, TimestampType | TimestampNTZType):
        makes = f"F.unix_date(F.to_date({name!r})) makes days of times, F.hour({name!r}) hours"
        return f"; {makes}, in the session's time zone"
    if isinstance(kind, StructType):
        return f"; select('*', F.col({name!r})['a field']) makes a column of a field"
    if isinstance(kind, MapType):
        return f"; F.col({name!r})['a key'] makes a column of the values of a key"
    return ""


def cure_for_label(name, kind, label):
    """Returns "; " and how to make labels from a column; those of classes have an unused name."""
    if not is_text(kind):
        return cure_for_numbers(name, kind)
    if label.kind == "values" and not (label.are_shares or label.one_hot):
        return f"; {cast_texts(name)}"
    index = f"{name}_index"
    stage = f"StringIndexer(inputCol={name!r}, outputCol={index!r})"
    return f"; index it first: {stage}, then label={index!r}, of a stage labelCol={index!r}"


def cast_texts(name):
    """Returns how to make numbers of a column of texts."""
    return f"F.col({name!r}).cast('double') makes numbers of texts"


def check_factor(field):
    """Raises DataError unless a column holds one number per record."""
    if not is_number(field.dataType):
        kind, name = field.dataType, field.name
        cure = f"; {cast_texts(name)}" if is_text(kind) else cure_for_numbers(name, kind)
        got = f"{kind.simpleString()}{cure}"
        raise DataError(f"{WHERE}: column {name!r} must hold a number a record, got {got}")


def is_text(kind):
    return isinstance(kind, StringType)


def is_number(kind):
    return isinstance(kind, NumericType | BooleanType)


def has_numbers(kind):
    """Returns whether values of a Spark type can be numbers of a network."""
    if isinstance(kind, UserDefinedType):
        return kind.simpleString() == "vector"
    if isinstance(kind, ArrayType):
        return has_numbers(kind.elementType)
    if isinstance(kind, StructType):
        return set(kind.names) == IMAGE or is_vector(set(kind.names))
    return is_number(kind) or isinstance(kind, BinaryType)


def has_integers(kind):
    """Returns whether values of a Spark type can be ids: integers, lists of them, or bytes."""
    if isinstance(kind, ArrayType):
        return has_integers(kind.elementType)
    if isinstance(kind, StructType):
        return set(kind.names) == IMAGE
    return isinstance(kind, IntegralType | BinaryType)


def attributes(field):
    """Returns pyspark.ml's metadata of a column, {} without any."""
    noted = (field.metadata or {}).get("ml_attr")
    return noted if isinstance(noted, dict) else {}


def class_names(field):
    """Returns the names of a column's classes, as StringIndexer notes them, or None."""
    names = attributes(field).get("vals")
    return None if names is None else tuple(map(str, names))


def vector_width(field):
    """Returns the length of a column's vectors, as VectorAssembler notes it, or None."""
    noted = attributes(field)
    if "num_attrs" in noted:
        return int(noted["num_attrs"])
    return len(parts(noted)) or None


def named_parts(field):
    names = [part["name"] for part in parts(attributes(field)) if "name" in part]
    shown = ", ".join(map(str, names[:MOST])) + (", ..." if len(names) > MOST else "")
    return f" ({shown})" if names else ""


def parts(noted):
    """Returns the metadata of each number of a vector, in order."""
    groups = noted.get("attrs") or {}
    return sorted((one for group in groups.values() for one in group), key=lambda one: one["idx"])
