"""Arrays as nested columns, read back by pyarrow."""

import numpy as np
import pytest

from sparkdl.errors import DataError, UnsupportedError
from sparkdl.interop.predictors import ArraySpec
from sparkdl.spark.inference.nested_columns import nested_column, nested_field, spread_columns

ROWS = [
    ("float32", (4,), "float"),
    ("float64", (4, 2), "array<double>"),
    ("float16", (4,), "float"),
    ("int64", (4, 0), "array<bigint>"),
    ("uint8", (4, 2, 3), "array<array<smallint>>"),
    ("uint32", (1, 3, 1, 2), "array<array<array<bigint>>>"),
    ("bool", (0, 2), "array<boolean>"),
]


@pytest.mark.parametrize(("dtype", "shape", "kind"), ROWS)
def test_an_array_is_lists_of_its_numbers(dtype, shape, kind):
    array = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
    assert nested_column(array, dtype).to_pylist() == array.tolist()
    field = nested_field("y", ArraySpec(dtype, shape[1:]))
    assert field.dataType.simpleString() == kind


def test_a_type_that_spark_lacks_is_refused():
    with pytest.raises(UnsupportedError, match="uint64"):
        nested_field("y", ArraySpec("uint64", ()))


def test_more_numbers_than_lists_count_are_refused():
    array = np.broadcast_to(np.float32(0), (64, 2**25))  # without memory
    with pytest.raises(DataError, match="2147483648 for 64 rows; choose a smaller batch_size"):
        nested_column(array, "float32")


def test_rows_go_to_their_places_and_others_are_null():
    parts = [nested_column(np.array([[1, 2], [3, 4]]), "int64"), nested_column([[5]], "int64")]
    found = spread_columns(parts, [np.array([3, 0]), np.array([1])], 5)
    assert found.to_pylist() == [[3, 4], [5], None, [1, 2], None]
