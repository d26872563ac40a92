"""Conversion of an iterator of records, in any supported form, to Batches.

Millions of records may pass here as Python objects, so numpy stacks a whole chunk at once; only if
that fails are its records examined one by one.
"""

from collections.abc import Mapping
from itertools import chain, islice
from operator import attrgetter, itemgetter

import numpy as np

from sparkdl.config import suggestion
from sparkdl.data.batches.batch import Batch, record_ids
from sparkdl.data.batches.columns import Violation
from sparkdl.data.batches.dealing import WINDOW_BYTES
from sparkdl.data.batches.sequences import Ragged
from sparkdl.data.records.array_stack import stack
from sparkdl.errors import DataError, text_of

KINDS = "a (features, label) pair, a Row or dict with named columns, or a LabeledPoint"


def read_records(schema, iterator, partition, size, fields):
    """Yields Batches of up to `chunk_size` records; see Schema.records.

    `fields` are {column: name in records}, features first.
    """
    iterator, start = iter(iterator), 0
    for first in islice(iterator, 1):
        iterator, size = chain([first], iterator), chunk_size(schema, first, size, fields)
    while chunk := list(islice(iterator, size)):
        columns = _convert(schema, chunk, fields, f"partition {partition}", start)
        yield Batch(columns=columns, ids=record_ids(partition, start, len(chunk)))
        start += len(chunk)


def chunk_size(schema, first, size, fields):
    """Returns the number of records to read at once: at most `size`, and WINDOW_BYTES as arrays."""
    nbytes = max(sum(schema.column_bytes.values()), _stored_bytes(schema, first, fields))
    return max(1, min(size, WINDOW_BYTES // max(1, nbytes)))


def _stored_bytes(schema, record, fields):
    """Returns the bytes of a record's arrays as given; 0 if it is unusable."""
    try:
        return sum(column.nbytes for column in _stack_columns(schema, [record], fields).values())
    except Exception:  # whatever the record classes raise
        return 0


def _convert(schema, chunk, fields, where, start):
    try:
        return _columns(schema, chunk, fields)
    except Exception:  # whatever the record classes raise
        return _one_by_one(schema, chunk, fields, where, start)


def _one_by_one(schema, chunk, fields, where, start):
    """Converts records that differ in kind; raises DataError for the first unusable one."""
    rows = []
    for i, record in enumerate(chunk, start):
        try:
            rows.append(_columns(schema, [record], fields))
        except Violation as offence:
            raise DataError(f"{where}, record {i}: {offence}") from None
        except Exception as error:
            raise DataError(f"{where}, record {i}: cannot be read: {text_of(error)}") from error
    return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}


def _columns(schema, chunk, fields):
    return schema.convert(_stack_columns(schema, chunk, fields))


def _stack_columns(schema, chunk, fields):
    parts = _split(schema, chunk, fields)
    return {name: _stack_column(values, name, schema) for name, values in parts.items()}


def _stack_column(values, name, schema):
    """Returns the column's array, or a Ragged if sequences differ in length."""
    what = schema.label_name(name) if name in schema.outputs else name
    dtype = np.float32 if name in schema.inputs and name not in schema.longs else None
    try:
        return stack(values, what, dtype)
    except Exception:  # whatever the value classes raise
        if name not in schema.masks:
            raise
        return Ragged.of([stack([value], what, dtype)[0] for value in values])


def _split(schema, chunk, fields):
    """Returns {column: list of values}, as the first record has them."""
    first, labelled = chunk[0], bool(schema.outputs)
    if (columns := column_names(first)) is not None:
        by = attrgetter if hasattr(first, "_fields") else itemgetter
        fields = schema.with_own_name(fields, columns)
        return {name: _column_by_name(chunk, field, columns, by) for name, field in fields.items()}
    if len(fields) > 1 + labelled:
        named = list(fields.values())
        raise Violation(0, f"must be a Row or dict with columns {named}, got {_describe(first)}")
    if hasattr(first, "features") and hasattr(first, "label"):
        values = [[r.features for r in chunk], [r.label for r in chunk] if labelled else None]
    elif _is_pair(first, labelled):
        values = _pairs(chunk)
    elif labelled:
        raise Violation(0, f"must be {KINDS}, got {_describe(first)}")
    else:
        values = [chunk]
    return dict(zip(fields, values, strict=False))


def column_names(record):
    """Returns the names of a record's columns; None if they have none."""
    if isinstance(record, Mapping):
        return list(record)
    names = getattr(record, "__fields__", None)  # pyspark Row
    return names if names is not None else getattr(record, "_fields", None)  # namedtuple


def _column_by_name(chunk, name, columns, by):
    if name not in columns:
        hint = suggestion(name, list(map(str, columns)), "")
        raise Violation(0, f"has no column {name!r}; columns are {list(columns)}{hint}")
    if columns.count(name) > 1:  # Rows of a DataFrame may have two
        text = f"column {name!r} must be there once, got {columns.count(name)}"
        raise Violation(0, f"{text}; rename or drop the others")
    return list(map(by(name), chunk))


def _is_pair(record, labelled):
    """Returns whether a record is a (features, label) pair.

    Without labels, a tuple counts as a pair if its first element is not a scalar.
    """
    if labelled:
        return isinstance(record, tuple | list) and len(record) == 2
    return isinstance(record, tuple) and len(record) == 2 and not np.isscalar(record[0])


def _pairs(chunk):
    plain = set(map(type, chunk)) <= {tuple, list}
    if not plain and any(column_names(record) is not None for record in chunk):
        raise Violation(0, "pairs and named columns in one chunk")  # then record by record
    return zip(*((x, y) for x, y in chunk))


def _describe(record):
    size = f" of {len(record)}" if isinstance(record, tuple | list) else ""
    return f"{type(record).__name__}{size}"
