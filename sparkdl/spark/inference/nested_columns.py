"""Arrays as nested columns of Arrow and Spark that keep their number types."""

import numpy as np
import pyarrow
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    ByteType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StructField,
)

from sparkdl.errors import DataError, UnsupportedError

# {type of an array: (type in Arrow, in Spark)}; Spark lacks unsigned and half-precision types
TYPES = {
    "float16": ("float32", FloatType),
    "float32": ("float32", FloatType),
    "float64": ("float64", DoubleType),
    "bool": ("bool", BooleanType),
    "int8": ("int8", ByteType),
    "int16": ("int16", ShortType),
    "int32": ("int32", IntegerType),
    "int64": ("int64", LongType),
    "uint8": ("int16", ShortType),
    "uint16": ("int32", IntegerType),
    "uint32": ("int64", LongType),
}
MOST_NUMBERS = 2**31 - 1  # Arrow's lists, as Spark has them, end at an int32


def nested_field(name, spec):
    """Returns the StructField of a column of such arrays: a number, or nested lists, one per axis.

    Raises UnsupportedError for a type that Spark has no numbers for.
    """
    if spec.dtype not in TYPES:
        raise UnsupportedError(
            f"output {name!r} must be an array of {', '.join(TYPES)}, got {spec.dtype}"
        )
    kind = TYPES[spec.dtype][1]()
    for _ in spec.shape:
        kind = ArrayType(kind, True)
    return StructField(name, kind, True)


def nested_column(array, dtype):
    """Returns an array (n, ...) as an Arrow column of n numbers, or of n nested lists.

    Raises DataError for more numbers than Arrow's lists count.
    """
    if np.size(array) > MOST_NUMBERS:
        raise DataError(
            f"outputs computed at once must have at most {MOST_NUMBERS} numbers, got {array.size} "
            f"for {len(array)} rows; choose a smaller batch_size"
        )
    array = np.ascontiguousarray(array, TYPES[dtype][0])
    column = pyarrow.array(array.reshape(-1))
    for axis in range(array.ndim - 1, 0, -1):
        rows = int(np.prod(array.shape[:axis]))
        bounds = np.arange(rows + 1, dtype=np.int32) * np.int32(array.shape[axis])
        column = pyarrow.ListArray.from_arrays(bounds, column)
    return column


def spread_columns(columns, places, rows):
    """Returns one Arrow column of `rows` rows, filled at `places` from several; null elsewhere.

    Parameters
    ----------
    columns : list of pyarrow.Array
        At least one, all of the same type.
    places : list of arrays of int
    """
    whole = pyarrow.concat_arrays(columns) if len(columns) > 1 else columns[0]
    order = np.concatenate(places)
    if len(order) == rows and np.array_equal(order, np.arange(rows)):
        return whole
    source, there = np.zeros(rows, np.int64), np.zeros(rows, bool)
    source[order], there[order] = np.arange(len(order)), True
    return whole.take(pyarrow.array(source, mask=~there))
