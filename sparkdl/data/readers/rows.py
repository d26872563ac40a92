"""Records of an iterator, in whatever form users have them, to Batches.

Millions of records pass here one Python object each, so a chunk of them is stacked by numpy at
once; only when that fails are its records looked at singly.
"""

from collections.abc import Mapping
from itertools import islice
from operator import attrgetter, itemgetter

import numpy as np

from sparkdl.data.batch import Batch, record_ids
from sparkdl.data.columns import Offence
from sparkdl.data.readers.stack import stack
from sparkdl.errors import DataError

KINDS = "a (features, label) pair, a Row or dict with named columns, or a LabeledPoint"


def read_records(schema, iterator, partition, size=1024, features="features", label="label"):
    """Batches of `size` records, the last one smaller; see Schema.records."""
    iterator, start, names = iter(iterator), 0, (features, label)
    while chunk := list(islice(iterator, size)):
        columns = _convert(schema, chunk, names, f"partition {partition}", start)
        yield Batch(columns=columns, ids=record_ids(partition, start, len(chunk)))
        start += len(chunk)


def _convert(schema, chunk, names, where, start):
    try:
        return _columns(schema, chunk, names)
    except Exception:  # whatever the records' own classes raise
        return _one_by_one(schema, chunk, names, where, start)


def _one_by_one(schema, chunk, names, where, start):
    """Columns of records that differ in kind; names the first one that cannot be used."""
    rows = []
    for i, record in enumerate(chunk, start):
        try:
            rows.append(_columns(schema, [record], names))
        except Offence as offence:
            raise DataError(f"{where}, record {i}: {offence}") from None
        except Exception as error:
            raise DataError(f"{where}, record {i}: cannot be read: {error}") from error
    return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}


def _columns(schema, chunk, names):
    features, labels = _split(chunk, names, schema.labels is not None)
    x = stack(features, "features", np.float32)
    return schema.convert(x, stack(labels, "label") if schema.labels is not None else None)


def _split(chunk, names, labelled):
    """List of features and list of labels (None unless labelled); the first record tells how."""
    first, labels = chunk[0], None
    if (columns := _column_names(first)) is not None:
        by = attrgetter if hasattr(first, "_fields") else itemgetter
        features = _named(chunk, names[0], columns, by)
        labels = _named(chunk, names[1], columns, by) if labelled else None
    elif hasattr(first, "features") and hasattr(first, "label"):
        features = [record.features for record in chunk]
        labels = [record.label for record in chunk] if labelled else None
    elif _is_pair(first, labelled):
        features, labels = _pairs(chunk)
    elif labelled:
        raise Offence(0, f"must be {KINDS}, got {_describe(first)}")
    else:
        features = chunk
    return features, labels


def _column_names(record):
    if isinstance(record, Mapping):
        return list(record)
    names = getattr(record, "__fields__", None)  # pyspark Row
    return names if names is not None else getattr(record, "_fields", None)  # named tuple


def _named(chunk, name, columns, by):
    if name not in columns:
        raise Offence(0, f"has no column {name!r}; columns are {list(columns)}")
    return list(map(by(name), chunk))


def _is_pair(record, labelled):
    """Where no labels are wanted, a tuple (features, label) is told by what its first part is."""
    if labelled:
        return isinstance(record, tuple | list) and len(record) == 2
    return isinstance(record, tuple) and len(record) == 2 and not np.isscalar(record[0])


def _pairs(chunk):
    plain = set(map(type, chunk)) <= {tuple, list}
    if not plain and any(_column_names(record) is not None for record in chunk):
        raise Offence(0, "pairs and named columns in one chunk")  # so it goes record by record
    return zip(*((x, y) for x, y in chunk))


def _describe(record):
    size = f" of {len(record)}" if isinstance(record, tuple | list) else ""
    return f"{type(record).__name__}{size}"
