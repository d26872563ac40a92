"""Conversion of Arrow columns to arrays, for Parquet files and DataFrames."""

import math
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkdl.config import suggestion
from sparkdl.data.batches.batch import Batch, record_ids
from sparkdl.data.batches.columns import FILLING, IGNORING, Violation
from sparkdl.data.batches.sequences import Ragged
from sparkdl.errors import DataError

KINDS = "numbers, lists of numbers, vectors or binary"
MOST = 20  # most names shown in an error
NULL = "must have a value, got null"
NO_LABEL = f"; {IGNORING}"
NO_NUMBER = f"; leave such records out, or {FILLING}"
UNEVEN = (
    "; pad them to one length: only sequences in a DataFrame, as of spark.read.parquet, may differ "
    "in it"
)
# Fields in which Spark stores its ml and mllib vectors.
VECTOR = {
    "type": pa.int8(),
    "size": pa.int32(),
    "indices": pa.list_(pa.int32()),
    "values": pa.list_(pa.float64()),
}
# Fields of images from spark.read.format("image"), and OpenCV's codes for byte images.
NUMBERS_OF_IMAGE = ("mode", "nChannels", "height", "width")
IMAGE = {"origin", "data", *NUMBERS_OF_IMAGE}
BYTE_MODES = {0: 1, 16: 3, 24: 4}  # {OpenCV type: channels}


def table_batch(
    table,
    columns,
    where,
    partition,
    start=0,
    sequences=(),
    sizes=None,
    singles=(),
    labels=("labels",),
):
    """Returns a Batch of some columns of a table or record batch, with dtypes as stored.

    Parameters
    ----------
    columns : dict of str to str
        Name in the batch to name in the table.
    where : str
        Prefix of error messages.
    start : int
        Position in the partition of the table's first record.
    sequences : names in the batch
        Columns whose records may differ in length; they become Ragged.
    sizes : {name in the batch: int}, optional
        Known number of values per record.
    singles : names in the batch
        Columns whose vectors should become float32.
    labels : names in the batch
        Columns of labels, for the advice in errors.

    Raises
    ------
    DataError
        If a column is missing or not numeric, or a record has a null or a different length.
    """
    # pyarrow creates the schema anew on each access
    arrays, schema = {}, table.schema
    for name, column in columns.items():
        require_one(column, schema, where)
        try:
            size = (sizes or {}).get(name)
            dtype = np.float32 if name in singles else np.float64
            arrays[name] = to_array(table.column(column), name in sequences, size, dtype)
        except Violation as offence:
            place = f"{where}, record {start + offence.row}"
            text = f"{offence}{cure_for(offence, name in labels)}"
            raise DataError(f"{place}: column {column!r} {text}") from None
    return Batch(columns=arrays, ids=record_ids(partition, start, table.num_rows))


class Uneven(Violation):
    """A list of another length than the first."""


def cure_for(offence, is_label):
    """Returns the advice for an uneven list and for a null; "" for others."""
    if isinstance(offence, Uneven):
        return UNEVEN
    if not str(offence).startswith(NULL):
        return ""
    return NO_LABEL if is_label else NO_NUMBER


def require_column(column, names, where):
    """Raises DataError, with the nearest name, unless `column` is one of `names`."""
    if column not in names:
        hint = suggestion(column, names, "")
        raise DataError(f"{where}: has no column {column!r}; columns are {list_names(names)}{hint}")


def list_names(names):
    """Returns column names as the text of a list, of many the first."""
    names = list(names)
    return f"{names}" if len(names) <= MOST else f"{names[:MOST]} and {len(names) - MOST} more"


def require_one(column, schema, where):
    """Raises DataError unless a schema has exactly one column of this name.

    Looks it up by hash, as tables may have 100,000 columns.
    """
    count = len(schema.get_all_field_indices(column))
    refuse_repeated(column, count, where)
    if not count:
        require_column(column, schema.names, where)


def refuse_repeated(column, count, where, cure="rename all but one"):
    """Raises DataError if there is more than one column of this name."""
    if count > 1:
        raise DataError(f"{where}: has {count} columns {column!r}; {cure}")


def to_array(column, ragged=False, size=None, dtype=np.float64):
    """Converts an Arrow column (or chunked column) of n records to an array (n, ...).

    Numbers become (n,), lists of k numbers (n, k), nested lists (n, k, m), Spark vectors (n, k) of
    `dtype`, binary uint8 (n, bytes), and Spark's images uint8 (n, C, H, W), BGR. With `ragged`,
    lists become a Ragged.

    Raises
    ------
    Violation
        For the first record that is or contains a null, differs in length from the first, or does
        not have `size` numbers, if given.
    """
    y = _to_array(column, ragged, size, dtype)
    if size is not None and len(y) and math.prod(y.shape[1:]) != size:
        raise Violation(0, f"must have {size} numbers, got {math.prod(y.shape[1:])}")
    return y


def _to_array(column, ragged, size, dtype):
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # no chunks, in older versions of pyarrow
        column = pa.concat_arrays(column.chunks)
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    _require_values(column)
    kind = column.type
    if _is_list(kind):
        return _lists(column, ragged, size)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return _binary(column.cast(pa.large_binary()), size)
    if pa.types.is_fixed_size_binary(kind):
        return _binary(column.cast(pa.binary()).cast(pa.large_binary()), size)
    fields = {field.name for field in kind} if pa.types.is_struct(kind) else set()
    if is_vector(fields):
        return _vectors(column, size, dtype)
    if fields == IMAGE:
        return _images(column)
    return _scalars(column)


def is_vector(fields):
    """Returns whether a struct of these fields, a set, holds Spark's vectors.

    JSON omits fields that are null in all records.
    """
    return {"type", "values"} <= fields <= VECTOR.keys()


def _require_values(column):
    if column.null_count:
        raise Violation(_first(pc.is_null(column)), NULL)


def _is_list(kind):
    types = pa.types
    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)


def _lists(column, ragged, size):
    lengths = pc.list_value_length(column)
    size = None if _is_list(column.type.value_type) else size
    length = None if ragged else _same_length(lengths, size, Uneven)
    lengths = lengths.to_numpy(zero_copy_only=False).astype(np.int64)
    try:
        inner = to_array(column.flatten())
    except Violation as offence:
        ends, text = np.cumsum(lengths), str(offence)
        row = np.searchsorted(ends, offence.row, side="right")
        if text == NULL and not _is_list(column.type.value_type):  # which of a thousand numbers
            text += f" at position {offence.row - ends[row] + lengths[row]}, from 0"
        raise Violation(row, text) from None
    if ragged:
        return Ragged(inner, lengths)
    return inner.reshape(len(column), length, *inner.shape[1:])


def _binary(column, size):
    length = _same_length(pc.binary_length(column), size)
    _, offsets, data = column.buffers()
    begin = np.frombuffer(offsets, np.int64)[column.offset] if len(column) else 0
    flat = np.frombuffer(data or b"", np.uint8)[begin : begin + len(column) * length]
    return flat.reshape(len(column), length)


def _vectors(column, wanted, dtype):
    """Returns the values of vectors: dense ones have type 1; sparse ones type 0, with indices."""
    column = _with_all_fields(column)
    _require_vectors(column)
    kind, size = column.field("type").to_numpy(), column.field("size").to_numpy(False)
    counts = pc.list_value_length(column.field("values")).to_numpy(False)
    lengths = np.where(kind == 1, counts, size).astype(np.int64)
    length = _same_length(pa.array(lengths), wanted)
    rows = np.repeat(np.arange(len(column)), counts)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    places = np.arange(len(rows)) - first  # for dense vectors; sparse ones have indices
    indices = column.field("indices").flatten().to_numpy()
    places[np.repeat(kind, counts) == 0] = indices
    if (outside := (places < 0) | (places >= length)).any():
        row, place = rows[outside][0], places[outside][0]
        raise Violation(row, f"must have indices below {length}, got {place}")
    values = column.field("values").flatten()
    if values.null_count:
        raise Violation(rows[_first(pc.is_null(values))], NULL)
    y = np.zeros((len(column), length), dtype)
    with np.errstate(over="ignore"):  # infinity is refused later as not finite
        y[rows, places] = values.to_numpy()
    return y


def _with_all_fields(column):
    """Returns vectors with Spark's four fields and types.

    JSON omits fields that are null in all records, and its empty lists have no element type.
    """
    have = {field.name for field in column.type}
    try:
        fields = [
            column.field(name).cast(kind) if name in have else pa.nulls(len(column), kind)
            for name, kind in VECTOR.items()
        ]
    except pa.ArrowException as error:
        raise Violation(0, f"must hold Spark's vectors, got {column.type}: {error}") from None
    return pa.StructArray.from_arrays(fields, list(VECTOR))


def _require_vectors(column):
    """Raises Violation for the first record that is neither a dense nor a sparse vector."""
    kind, size, indices, values = map(column.field, VECTOR)
    same = pc.equal(pc.list_value_length(indices), pc.list_value_length(values))
    sparse = pc.and_(pc.equal(kind, 0), pc.and_(pc.greater_equal(size, 0), same))
    dense = pc.and_(pc.equal(kind, 1), pc.is_valid(values))
    right = pc.fill_null(pc.or_kleene(dense, sparse), False)
    if not pc.all(right, min_count=0).as_py():
        row = _first(pc.invert(right))
        text = "must be a dense vector (type 1, values) or a sparse one (type 0, size, as many"
        raise Violation(row, f"{text} indices as values), got {column[row].as_py()!r:.80}")


def _images(column):
    """Returns the pixels of images of equal size, channels first; Spark stores them last."""
    about = [
        column.field(name).to_numpy(False) for name in ("mode", "nChannels", "height", "width")
    ]
    rows = np.stack([part.astype(np.int64) for part in about], axis=1)
    _require_bytes(rows)
    data = to_array(column.field("data"))
    _, channels, height, width = rows[0] if len(rows) else (0, 0, 0, 0)
    return np.ascontiguousarray(
        data.reshape(len(rows), height, width, channels).transpose(0, 3, 1, 2)
    )


def _require_bytes(rows):
    """Raises Violation for the first image that is not of bytes, or differs in size."""
    for row, (mode, channels, *size) in enumerate(rows.tolist()):
        if BYTE_MODES.get(mode) != channels:
            raise Violation(row, f"must hold images of bytes, got OpenCV's type {mode}")
        if [mode, channels, *size] != rows[0].tolist():
            shapes = [(one[1], *one[2:]) for one in (rows[0].tolist(), [mode, channels, *size])]
            text = f"must have the size (C, H, W) {shapes[0]} as the images before"
            raise Violation(row, f"{text}, got {tuple(shapes[1])}")


def _scalars(column):
    kind = column.type
    if pa.types.is_decimal(kind):
        column = _decimals(column)
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise Violation(0, f"must hold {KINDS}, got {kind}")
    return column.to_numpy(zero_copy_only=False)


def _decimals(column):
    """Converts decimals to int64 if their type has no fraction and they fit, else to float64."""
    if column.type.scale == 0:
        with suppress(pa.ArrowInvalid):
            return column.cast(pa.int64())
    return column.cast(pa.float64())


def _same_length(lengths, size=None, kind=Violation):
    """Returns the common length of all records, `size` if given; 0 without records.

    Raises Violation for the first of another length: of class `kind` where no size is given.
    """
    lengths = lengths.to_numpy(zero_copy_only=False)
    if not len(lengths):
        return 0
    other = lengths != (lengths[0] if size is None else size)
    if other.any():
        row = int(np.argmax(other))
        as_before = " as in the records before" if size is None else ""
        wanted = f"{lengths[0] if size is None else size} numbers{as_before}"
        kind = kind if size is None else Violation
        raise kind(row, f"must have {wanted}, got {lengths[row]}")
    return int(lengths[0])


def _first(mask):
    return int(np.argmax(mask.to_numpy(zero_copy_only=False)))
