"""Every kind of Arrow column becomes an array; nulls are reported."""

from decimal import Decimal
from time import process_time

import numpy as np
import pyarrow as pa
import pytest

from sparkdl.data.readers.encodings.arrow_columns import require_column, table_batch, to_array
from sparkdl.errors import DataError

ROWS = [[0.0, 1.0, 2.0], [3.0, 0.0, 0.0], [6.0, 7.0, 8.0], [9.0, 8.0, 7.0]]
VECTOR = pa.struct(
    {
        "type": pa.int8(),
        "size": pa.int32(),
        "indices": pa.list_(pa.int32()),
        "values": pa.list_(pa.float64()),
    }
)


def dense(row):
    return {"type": 1, "size": None, "indices": None, "values": row}


def sparse(row):
    indices = [i for i, value in enumerate(row) if value]
    values = [row[i] for i in indices]
    return {"type": 0, "size": len(row), "indices": indices, "values": values}


def ints(kind):
    return pa.array([[int(v) for v in row] for row in ROWS], kind)


COLUMNS = {
    "list": pa.array(ROWS),
    "float list": pa.array(ROWS, pa.list_(pa.float32())),
    "int list": ints(pa.list_(pa.int32())),
    "large list": pa.array(ROWS, pa.large_list(pa.float64())),
    "fixed list": pa.array(ROWS, pa.list_(pa.float64(), 3)),
    "nested": pa.array([[[v] for v in row] for row in ROWS]),
    "nested fixed": pa.array([[row] for row in ROWS], pa.list_(pa.list_(pa.float32(), 3), 1)),
    "binary": pa.array([bytes(map(int, row)) for row in ROWS]),
    "large binary": pa.array([bytes(map(int, row)) for row in ROWS], pa.large_binary()),
    "fixed binary": pa.array([bytes(map(int, row)) for row in ROWS], pa.binary(3)),
    "list of bytes": ints(pa.list_(pa.uint8())),
    "dense vectors": pa.array([dense(row) for row in ROWS], VECTOR),
    "sparse vectors": pa.array([sparse(row) for row in ROWS], VECTOR),
    "mixed vectors": pa.array([(sparse, dense)[i % 2](r) for i, r in enumerate(ROWS)], VECTOR),
    "decimals": pa.array([[Decimal(int(v)) for v in row] for row in ROWS]),
    "dictionary": pa.array([bytes(map(int, row)) for row in ROWS]).dictionary_encode(),
    "tensor": pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(pa.float64(), [3]), pa.array(ROWS, pa.list_(pa.float64(), 3))
    ),
}
BYTES = {"dictionary", "binary", "large binary", "fixed binary", "list of bytes"}
FORMS = {
    "array": lambda c: c,
    "chunked": lambda c: pa.chunked_array([c[:1], c[1:3], c[3:]]),
    "sliced": lambda c: pa.concat_arrays([c, c])[4:],
    "sliced twice": lambda c: pa.concat_arrays([c, c, c])[2:9][2:6],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_every_kind(kind, form):
    found = to_array(FORMS[form](COLUMNS[kind]))
    np.testing.assert_array_equal(found.reshape(4, 3), ROWS)
    assert (found.dtype == np.uint8) == (kind in BYTES)


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_no_records(kind):
    assert len(to_array(COLUMNS[kind][:0])) == 0


def without(row, *fields):
    return {name: value for name, value in row.items() if name not in fields}


JSON_VECTORS = {  # vectors written by Spark as JSON and read by pyarrow
    "dense": pa.array([without(dense(row), "size", "indices") for row in ROWS]),
    "sparse": pa.array([sparse(row) for row in ROWS]),
    "mixed": pa.array([(sparse, dense)[i % 2](r) for i, r in enumerate(ROWS)]),
    "of whole numbers": pa.array([{"type": 1, "values": [int(v) for v in r]} for r in ROWS]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", JSON_VECTORS)
def test_vectors_may_lack_fields_and_have_wider_types(kind, form):
    found = to_array(FORMS[form](JSON_VECTORS[kind]))
    np.testing.assert_array_equal(found, ROWS)
    assert found.dtype == np.float64


def test_vectors_of_zeros_alone():
    found = to_array(pa.array([sparse([0.0, 0.0]), sparse([0.0, 0.0])]))  # lists without a type
    np.testing.assert_array_equal(found, np.zeros((2, 2)))


SCALARS = {
    "int8": pa.array([1, 2], pa.int8()),
    "uint64": pa.array([1, 2], pa.uint64()),
    "float16": pa.array(np.array([1, 2], np.float16)),
    "double": pa.array([1.0, 2.0]),
    "decimal": pa.array([Decimal(1), Decimal(2)]),
}


@pytest.mark.parametrize("kind", SCALARS)
def test_numbers_of_every_kind(kind):
    np.testing.assert_array_equal(to_array(SCALARS[kind]), [1, 2])


def test_whole_decimals_keep_all_digits():
    """If they fit int64; larger ones and those with fractions become float64."""
    digits = [2**53 + 1, 2**63 - 1, -(2**63)]
    exact = to_array(pa.array(map(Decimal, digits), pa.decimal128(20, 0)))
    assert exact.dtype == np.int64 and exact.tolist() == digits
    for wide in (pa.array([Decimal(2**63)]), pa.array([Decimal("1.00"), Decimal("2.50")])):
        found = to_array(wide)
        assert found.dtype == np.float64 and found.tolist() == [float(v) for v in wide.to_pylist()]


def test_truth_values():
    np.testing.assert_array_equal(to_array(pa.array([True, False])), [1, 0])


PICTURES = np.arange(2 * 3 * 4 * 5, dtype=np.uint8).reshape(2, 3, 4, 5)


def picture(x, **others):
    """Returns an image (C, H, W) as a row of Spark's image schema."""
    channels, height, width = x.shape
    size = {"height": height, "width": width, "nChannels": channels}
    pixels = x.transpose(1, 2, 0).tobytes()
    return {"origin": "a", "mode": {1: 0, 3: 16}[channels], "data": pixels} | size | others


def test_images_of_spark_have_their_channels_first():
    found = to_array(pa.array([*map(picture, PICTURES)]))
    np.testing.assert_array_equal(found, PICTURES)
    assert found.dtype == np.uint8
    gray = to_array(pa.array([picture(PICTURES[0, :1])]))
    np.testing.assert_array_equal(gray, PICTURES[:1, :1])
    assert len(to_array(pa.array([picture(PICTURES[0])])[:0])) == 0


def test_nested_keeps_its_axes():
    assert to_array(COLUMNS["nested"]).shape == (4, 3, 1)


OFFENCES = {
    "null": (pa.array([1, None]), 1, "must have a value, got null"),
    "null list": (pa.array([[1], [2], None]), 2, "must have a value, got null"),
    "null in a list": (
        pa.array([[1, 2], [3, None]]),
        1,
        "must have a value, got null at position 1, from 0; leave such records out, or fill in",
    ),
    "null vector": (pa.array([dense([1.0]), None], VECTOR), 1, "must have a value, got null"),
    "null in a vector": (pa.array([dense([1.0, None])], VECTOR), 0, "must have a value, got null"),
    "null fixed list": (pa.array([[1, 2], None], pa.list_(pa.int8(), 2)), 1, "got null"),
    "null binary": (pa.array([b"a", None]), 1, "must have a value, got null"),
    "null in nested": (pa.array([[[1], [2]], [[3], None]]), 1, "got null"),
    "deep null": (pa.array([[[1, 2]], [[3, None]]]), 1, "got null"),
    "uneven lists": (
        pa.array([[1, 2], [3, 4], [5]]),
        2,
        "must have 2 numbers as in the records before, got 1",
    ),
    "uneven nested": (pa.array([[[1, 2]], [[3]]]), 1, "must have 2 numbers"),
    "uneven binary": (pa.array([b"ab", b"abc"]), 1, "must have 2 numbers"),
    "uneven vectors": (pa.array([dense([1.0]), sparse([1.0, 2.0])], VECTOR), 1, "must have 1 num"),
    "vector of no type": (pa.array([{"type": 2, "values": [1.0]}]), 0, "must be a dense vector"),
    "sparse vector without a size": (
        pa.array([sparse([1.0]), without(sparse([1.0]), "size")]),
        1,
        "must be a dense vector .* or a sparse one",
    ),
    "sparse vector without indices": (
        pa.array([{"type": 0, "size": 1, "values": [1.0]}]),
        0,
        "must be a dense vector .* or a sparse one",
    ),
    "vector without values": (
        pa.array([dense([1.0]), dense(None)], VECTOR),
        1,
        "must be a dense vector",
    ),
    "vector of texts": (pa.array([dense(["a"])]), 0, "must hold Spark's vectors, got struct"),
    "index below 0": (
        pa.array([{"type": 0, "size": 2, "indices": [-1], "values": [1.0]}], VECTOR),
        0,
        "must have indices below 2, got -1",
    ),
    "index too large": (
        pa.array([{"type": 0, "size": 2, "indices": [2], "values": [1.0]}], VECTOR),
        0,
        "must have indices below 2, got 2",
    ),
    "images of other sizes": (
        pa.array([picture(PICTURES[0]), picture(PICTURES[0, :, :2])]),
        1,
        r"must have the size .C, H, W. \(3, 4, 5\) as the images before, got \(3, 2, 5\)",
    ),
    "images of floats": (
        pa.array([picture(PICTURES[0], mode=21)]),
        0,
        "must hold images of bytes, got OpenCV's type 21",
    ),
    "strings": (pa.array(["a"]), 0, "must hold numbers, lists of numbers, .*, got string"),
    "lists of strings": (pa.array([["a"]]), 0, "got string"),
    "dates": (pa.array([0], pa.date32()), 0, "got date32"),
    "structs": (pa.array([{"a": 1}]), 0, "got struct"),
}


@pytest.mark.parametrize("case", OFFENCES)
def test_the_offending_record_is_named(case):
    column, row, message = OFFENCES[case]
    with pytest.raises(DataError, match=f"^here, record {100 + row}: column 'x' .*{message}"):
        table_batch(pa.table({"x": column}), {"features": "x"}, "here", 0, start=100)


@pytest.mark.parametrize("labels", [("labels",), ("labels", "price")])
def test_a_label_that_is_null_is_told_what_stands_for_a_missing_one(labels):
    """Nothing stands for a missing feature: records without it are left out, or it is filled in."""
    table = pa.table({"x": [1.0, None], "y": [1, None], "z": [1, 2]})
    cure = "; where labels are missing, fill in a number that is none, .* the loss as ignore_label$"
    columns = {labels[-1]: "y", "features": "z"}
    with pytest.raises(DataError, match=f"record 1: column 'y' must have a value, got null{cure}"):
        table_batch(table, columns, "here", 0, labels=labels)
    cure = "; leave such records out, or fill in missing numbers first, as Imputer does$"
    with pytest.raises(DataError, match=f"column 'x' must have a value, got null{cure}"):
        table_batch(table, {"labels": "z", "features": "x"}, "here", 0)


SIZES = {  # column whose records need two numbers; the first wrong record, and its size
    "short first": (pa.array([[1], [3, 4]]), 0, 1),
    "short later": (pa.array([[1, 2], [3]]), 1, 1),
    "bytes": (pa.array([b"ab", b"abc"]), 1, 3),
    "vectors": (pa.array([dense([1.0]), sparse([1.0, 2.0])], VECTOR), 0, 1),
    "nested": (pa.array([[[1, 2], [3, 4]]]), 0, 4),
    "numbers": (pa.array([1, 2]), 0, 1),
}


@pytest.mark.parametrize("case", SIZES)
def test_a_known_size_is_said_in_place_of_the_first_records(case):
    column, row, found = SIZES[case]
    message = f"^here, record {row}: column 'x' must have 2 numbers, got {found}$"
    with pytest.raises(DataError, match=message):
        table_batch(pa.table({"x": column}), {"features": "x"}, "here", 0, sizes={"features": 2})


@pytest.mark.parametrize("make", [pa.table, pa.record_batch])
def test_tables_become_batches(make):
    table = make({"x": COLUMNS["list"], "y": pa.array([1, 0, 2, 1]), "z": pa.array(["a"] * 4)})
    batch = table_batch(table, {"features": "x", "labels": "y"}, "here", 2, start=5)
    np.testing.assert_array_equal(batch.features, ROWS)
    np.testing.assert_array_equal(batch.labels, [1, 0, 2, 1])
    np.testing.assert_array_equal(batch.ids, (2 << 40) + np.arange(5, 9))


@pytest.mark.slow
def test_the_time_is_linear_in_the_columns():
    count = 30_000  # 10 s if each column is searched among all others, else 0.3 s
    names = {f"features {i}": f"f{i}" for i in range(count)}
    table = pa.table([pa.array([1.0])] * count, list(names.values()))
    start = process_time()
    table_batch(table, names, "here", 0)
    assert process_time() - start < 3


def test_a_missing_column_gets_its_nearest():
    with pytest.raises(DataError) as caught:
        table_batch(pa.table({"features": [1], "y": [1]}), {"features": "featurs"}, "here", 0)
    assert str(caught.value) == (
        "here: has no column 'featurs'; columns are ['features', 'y']; did you mean 'features'?"
    )


def test_two_columns_of_a_name_are_refused():
    table = pa.table([[1.0], [2.0]], ["x", "x"])
    with pytest.raises(DataError, match="^here: has 2 columns 'x'; rename all but one$"):
        table_batch(table, {"features": "x"}, "here", 0)


def test_an_error_shows_some_of_many_columns():
    with pytest.raises(DataError) as caught:
        require_column("x", [f"c{i}" for i in range(1000)], "here")
    assert len(str(caught.value)) < 250
    assert str(caught.value).endswith("'c19'] and 980 more")
