"""Sequences of different lengths are padded and masked; invalid ones are reported."""

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import Row

from sparkdl.data import Arrays, Batch, Schema, pad
from sparkdl.data.batches.columns import NO_MASK
from sparkdl.data.batches.sequences import Ragged, without_full_masks
from sparkdl.data.readers.encodings.arrow_columns import table_batch
from sparkdl.data.records.label import Label
from sparkdl.errors import ConfigError, DataError

T, F = 4, 2
MASKS = {"features": "mask", "labels": "labels_mask"}
STEPS = Label(kind="class", size=3, shape=(T,))
SCHEMA = Schema(features=(T, F), labels={"labels": STEPS}, masks=MASKS)
LENGTHS = [4, 1, 3, 2]
X = [np.arange(1.0, 2 * n + 1).reshape(n, F) for n in LENGTHS]
Y = [[1 + i % 2 for i in range(n)] for n in LENGTHS]
KINDS = {
    "arrays": lambda x: x,
    "lists": lambda x: x.tolist(),
    "flat lists": lambda x: x.ravel().tolist(),
    "flat arrays": lambda x: x.ravel(),
    "bytes": lambda x: x.astype(np.uint8).tobytes(),
}
ARROW = {
    "nested": pa.list_(pa.list_(pa.float64())),
    "inner fixed": pa.list_(pa.list_(pa.float32(), F)),
    "flat": pa.list_(pa.int32()),
}


def check(batch, schema=SCHEMA):
    there = np.arange(T) < np.array(LENGTHS)[:, None]
    np.testing.assert_array_equal(batch.columns["mask"], there)
    assert batch.columns["mask"].dtype == np.float32
    for x, y, row in zip(X, batch.features, there, strict=True):
        np.testing.assert_array_equal(y[row], x)
        assert not y[~row].any()
    if schema.outputs:
        own = np.where(there.all(axis=1, keepdims=True), NO_MASK, there)  # only if padded
        np.testing.assert_array_equal(batch.columns["labels_mask"], own)
        assert batch.columns["labels_mask"].dtype == np.float32
        assert batch.labels.dtype == np.int32 and batch.labels.shape == (4, T)
        for y, found, row in zip(Y, batch.labels, there, strict=True):
            np.testing.assert_array_equal(found[row], y)


def read(records, schema=SCHEMA, size=1024):
    return Batch.concat(schema.records(iter(records), 0, size))


@pytest.mark.parametrize("size", [1, 2, 1024])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_different_length(kind, size):
    check(read([(KINDS[kind](x), y) for x, y in zip(X, Y, strict=True)], size=size))


@pytest.mark.parametrize("kind", KINDS)
def test_bare_rows_and_named_ones(kind):
    bare = Schema(features=(T, F), masks={"features": "mask"})
    check(read([KINDS[kind](x) for x in X], bare), bare)
    check(read([Row(features=KINDS[kind](x), label=y) for x, y in zip(X, Y, strict=True)]))


@pytest.mark.parametrize("kind", ARROW)
def test_lists_in_arrow(kind):
    rows = [x.ravel().tolist() if kind == "flat" else x.tolist() for x in X]
    table = pa.table({"x": pa.array(rows, ARROW[kind]), "y": pa.array(Y)})
    batch = table_batch(table, {"features": "x", "labels": "y"}, "t", 0, sequences=MASKS)
    check(SCHEMA.check(batch, "t"))


def test_a_null_in_a_ragged_column_is_named():
    table = pa.table({"x": pa.array([[[1.0, 2]], [[3, 4], [None, 5]], [[6, 7]]])})
    with pytest.raises(DataError, match="^t, record 1: column 'x' must have a value, got null"):
        table_batch(table, {"features": "x"}, "t", 0, sequences=("features",))


def test_sequences_that_are_all_of_one_length_have_a_mask_too():
    x = np.ones((3, 2, F))
    found = SCHEMA.check(Arrays(x, np.ones((3, T))).splits()[0].data, "here")
    np.testing.assert_array_equal(found.columns["mask"], [[1, 1, 0, 0]] * 3)
    assert found.features.shape == (3, T, F)


@pytest.mark.parametrize("steps", [0, 2, T])
def test_a_batch_without_records_may_have_any_number_of_steps(steps):
    found = SCHEMA.check(Batch.of(np.ones((0, steps, F)), np.ones((0, steps))), "here")
    shapes = {name: column.shape for name, column in found.columns.items()}
    sequences = {"features": (0, T, F), "labels": (0, T)}
    assert shapes == sequences | {"mask": (0, T), "labels_mask": (0, T)}


def test_a_mask_that_is_there_is_taken():
    mask = np.array([[1, 1, 0, 1], [0, 1, 1, 0]])
    raw = Arrays({"features": np.ones((2, T, F)), "mask": mask}, np.ones((2, T)))
    found = SCHEMA.check(raw.splits()[0].data, "here")
    np.testing.assert_array_equal(found.columns["mask"], mask)
    np.testing.assert_array_equal(found.columns["labels_mask"], np.full((2, T), NO_MASK))


def test_a_full_mask_of_labels_that_is_there_is_another_than_none():
    own = np.array([[1, 1, 1, 1], [NO_MASK] * T, [1, 0, 0, 1]])
    raw = Arrays({"features": np.ones((3, T, F)), "labels_mask": own}, np.ones((3, T)))
    for data in (raw.splits()[0].data, SCHEMA.check(raw.splits()[0].data, "here")):
        np.testing.assert_array_equal(SCHEMA.check(data, "again").columns["labels_mask"], own)


def test_what_is_read_as_labels_too_has_the_mask_of_features():
    label = Label(kind="values", size=F, shape=(T, F))
    schema = Schema(features={"x": (T, F)}, labels={"x": label}, masks={"x": "x_mask"})
    batch = Batch.of(np.ones((2, T, F)))
    found = schema.check(Batch(columns={"x": batch.features}, ids=batch.ids), "here")
    np.testing.assert_array_equal(found.columns["x_mask"], np.ones((2, T)))


@pytest.mark.parametrize("column", ["mask", "labels_mask"])
@pytest.mark.parametrize("bad", [0.5, 2, -1])
def test_a_mask_is_0_or_1(bad, column):
    mask = np.array([[1, 1, 0, 1], [0, 1, bad, 0]])
    raw = Arrays({"features": np.ones((2, T, F)), column: mask}, np.ones((2, T)))
    words = f"here, record 1: {column} must be 0 or 1, got {float(bad)} at 2"
    with pytest.raises(DataError, match=words):
        SCHEMA.check(raw.splits()[0].data, "here")


def test_a_sequence_without_steps_is_all_padding():
    found = read([(np.zeros((0, F)), []), (X[0], Y[0])])
    np.testing.assert_array_equal(found.columns["mask"], [[0] * 4, [1] * 4])


def test_codes_are_padded_before_they_become_vectors():
    codes = Schema(features=(T,), masks={"features": "mask"})
    found = read([np.array(y, np.uint8) for y in Y], codes)
    assert found.features.dtype == np.uint8 and found.features.shape == (4, T)
    np.testing.assert_array_equal(found.features[1], [1, 0, 0, 0])


OFFENCES = [
    ((np.ones((5, F)), [0]), "features must have at most 4 steps, got 5"),
    (([1, 2, 3], [0]), "features must have steps of 2 numbers, got 3"),
    ((np.ones((2, 3)), [0]), "features must have steps of 2 numbers, got 3; transpose them"),
    (([[1, 2, 3], [4, 5, 6]], [0]), "features must have steps of 2 numbers, got 3; transpose them"),
    ((np.ones((1, 4)), [0]), "features must have steps of 2 numbers, got 4$"),
    ((np.ones((4, 1)), [0]), "features must have steps of 2 numbers, got 1$"),
    ((X[1], np.eye(3)[:2]), "label must have steps of 1 number, got 3$"),
    ((X[0], [0] * 5), "label must have at most 4 steps, got 5"),
    ((X[0], [0, 1, 3, 0]), r"label must be in \[0, 3\), got 3 at 2"),
    ((X[0], [0, 1.5]), "label must be a whole number, got 1.5 at 1"),
    (([[1, 2], [3, float("nan")]], [0]), "features must be finite, got nan at 3"),
]


@pytest.mark.parametrize("record, message", OFFENCES, ids=[m for _, m in OFFENCES])
def test_the_offending_record_is_named(record, message):
    records = [*zip(X, Y, strict=True)] * 2 + [record]
    with pytest.raises(DataError, match=f"partition 0, record 8: {message}"):
        read(records)


TURNED = r"features must have the shape \(4, 2\), or be flat, got \(2, 4\); transpose them"
TOO_WIDE = "features must have steps of 2 numbers, got "
WRONG_STEPS = [
    ([np.ones((2, 4))] * 2, TURNED),
    ([np.ones((2, 3))] * 2, f"{TOO_WIDE}3; transpose them"),
    ([np.ones((1, 4)), np.ones((2, 4))], f"{TOO_WIDE}4"),
    ([np.ones((2, 1)), np.ones((4, 1))], f"{TOO_WIDE}1"),
]


@pytest.mark.parametrize("dtype", [np.float64, np.uint8])
@pytest.mark.parametrize("records, message", WRONG_STEPS, ids=[m for _, m in WRONG_STEPS])
def test_steps_of_another_width_are_refused_in_arrow(records, message, dtype):
    rows = pa.array([x.astype(dtype).tolist() for x in records])
    table = pa.table({"x": rows, "y": pa.array([[0]] * 2)})
    batch = table_batch(table, {"features": "x", "labels": "y"}, "t", 0, sequences=MASKS)
    with pytest.raises(DataError, match=f"^t, record 0: {message}$"):
        SCHEMA.check(batch, "t")


@pytest.mark.parametrize("shape, got", [((4, 1), 1), ((1, 4), 4), ((2, 3), 3), ((1, 2, 2), 4)])
def test_steps_of_another_width_are_refused_in_arrays(shape, got):
    raw = Arrays(np.ones((3, *shape)), np.ones((3, T))).splits()[0].data
    with pytest.raises(DataError, match=f"here, record 0: {TOO_WIDE}{got}"):
        SCHEMA.check(raw, "here")


IMAGES = Schema(features=(T, 3, 4, 5), masks={"features": "mask"})
STEP = np.arange(60.0)


@pytest.mark.parametrize("shape", [(3, 4, 5), (60,), (1, 3, 4, 5), (3, 20)])
@pytest.mark.parametrize("lengths", [[2, 1], [2, 2], [4, 4]])
def test_images_of_each_step_may_be_flat(shape, lengths):
    if shape == (3, 20) and lengths == [4, 4]:
        shape = (60,)
    found = read([np.tile(STEP, (n, 1)).reshape(n, *shape) for n in lengths], IMAGES)
    for x, n in zip(found.features, lengths, strict=True):
        np.testing.assert_array_equal(x[:n], np.tile(STEP, (n, 1)).reshape(n, 3, 4, 5))
        assert not x[n:].any()


@pytest.mark.parametrize("lengths", [[2, 1], [2, 2], [1, 4]])
def test_images_of_each_step_have_their_axes_in_order(lengths):
    message = r"steps of features must have the shape \(3, 4, 5\), or be flat, got \(4, 5, 3\)"
    with pytest.raises(DataError, match=f"record 0: {message}; channels come first"):
        read([np.ones((n, 4, 5, 3)) for n in lengths], IMAGES)


def test_a_whole_sequence_may_come_as_one_image_in_arrow():
    rows = pa.array([x.reshape(1, T, F).tolist() for x in (X[0], -X[0])])
    table = pa.table({"x": rows, "y": pa.array([np.eye(3)[[2, 0, 1, 1]].tolist()] * 2)})
    batch = table_batch(table, {"features": "x", "labels": "y"}, "t", 0, sequences=MASKS)
    found = SCHEMA.check(batch, "t")
    np.testing.assert_array_equal(found.features, [X[0], -X[0]])
    np.testing.assert_array_equal(found.labels, [[2, 0, 1, 1]] * 2)


def test_values_of_each_step():
    schema = Schema(
        features=(T, F),
        labels={"labels": Label(kind="values", size=1, shape=(T, 1))},
        masks=MASKS,
    )
    found = read([(x, x[:, 0]) for x in X], schema)
    np.testing.assert_array_equal(found.labels[..., 0], found.features[..., 0])


def test_one_hot_labels_of_each_step():
    found = read([(X[0], np.eye(3)[[2, 0, 1, 1]].tolist())])
    np.testing.assert_array_equal(found.labels, [[2, 0, 1, 1]])


def test_a_class_that_is_ignored_may_be_out_of_range():
    label = Label(kind="class", size=3, shape=(T,), ignored=-1)
    schema = Schema(features=(T, F), labels={"labels": label})
    np.testing.assert_array_equal(read([(X[0], [2, -1, 0, -1])], schema).labels, [[2, -1, 0, -1]])
    with pytest.raises(DataError, match=r"label must be in \[0, 3\) or -1, got -2 at 1"):
        read([(X[0], [2, -2, 0, -1])], schema)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_pad(dtype):
    x, mask = pad([x.astype(dtype) for x in X])
    assert x.dtype == dtype and x.shape == (4, T, F) and mask.shape == (4, T)
    check(Batch.of(x).replace(mask=mask), Schema(features=(T, F)))
    assert pad([[1, 2], [3]], steps=3)[0].tolist() == [[1, 2, 0], [3, 0, 0]]
    with pytest.raises(DataError, match="sequence 0: a sequence must have at most 3 steps, got 4"):
        pad(X, steps=3)


BAD_SEQUENCES = [
    ([], "pad needs one sequence or more, got none"),
    ([3, 4], r"sequence 0: must be of shape \(length\), got \(\)"),
    ([[1], 2], r"sequence 1: must be of shape \(length\), got \(\)"),
    ([np.ones((2, 3)), np.ones((1, 2))], r"1: must be of shape \(length, 3\), got \(1, 2\)"),
]


@pytest.mark.parametrize("sequences, message", BAD_SEQUENCES, ids=[m for _, m in BAD_SEQUENCES])
def test_what_are_no_sequences_of_like_steps_is_refused(sequences, message):
    with pytest.raises(DataError, match=message):
        pad(sequences)


def test_masks_that_leave_nothing_out_are_dropped():
    batch = Batch.of(np.ones((2, 3, 1))).replace(mask=np.ones((2, 3)), gap=np.array([[1], [0]]))
    lean = without_full_masks(batch, ["mask", "gap", "other"])
    assert list(lean.columns) == ["features", "gap"]
    assert without_full_masks(lean, ["mask", "gap"]) is lean


@pytest.mark.parametrize("row, stays", [([1, 1], True), ([NO_MASK] * 2, False), ([1, 0], True)])
def test_a_mask_of_labels_is_dropped_where_no_record_has_one(row, stays):
    own = np.array([row, [NO_MASK, NO_MASK]])
    batch = Batch.of(np.ones((2, 2, 1))).replace(mask=np.ones((2, 2)), own=own)
    lean = without_full_masks(batch, ["mask"], ["own"])
    assert list(lean.columns) == ["features", *["own"] * stays]


def test_ragged_columns_know_their_records():
    ragged = Ragged.of([np.ones((2, 3)), np.ones((0, 3))])
    assert len(ragged) == 2 and ragged.lengths.tolist() == [2, 0]


SEVERAL = Schema(
    features={"left": (2,), "right": (3,)},
    labels={"kind": Label(kind="class", size=2), "size": Label(kind="values", size=1)},
)


def several(i):
    return {"left": [i, 1], "right": [i, 2, 3], "kind": i % 2, "size": 0.5 * i, "other": "x"}


@pytest.mark.parametrize("row", [dict, lambda d: Row(**d)], ids=["dict", "Row"])
def test_several_columns_come_by_their_names(row):
    found = read([row(several(i)) for i in range(5)], SEVERAL)
    assert list(found.columns) == ["left", "right", "kind", "size"]
    np.testing.assert_array_equal(found.columns["right"][:, 0], range(5))
    np.testing.assert_array_equal(found.columns["kind"], [0, 1, 0, 1, 0])
    assert found.columns["size"].shape == (5, 1)


def test_several_columns_need_names():
    with pytest.raises(DataError, match=r"must be a Row or dict with columns \['left', 'right'"):
        read([([1, 2], 0)], SEVERAL)
    with pytest.raises(DataError, match="right must have 3 numbers, got 2"):
        read([several(0) | {"right": [1, 2]}], SEVERAL)


def test_weights_are_passed_on():
    schema = Schema(features=(2,), labels="class", label_size=2)
    raw = Arrays({"features": np.ones((3, 2)), "weights": [1, 0.5, 0]}, [0, 1, 1])
    found = schema.check(raw.splits()[0].data, "here")
    assert found.columns["weights"].dtype == np.float32
    records = [{"features": [1, 2], "label": 1, "w": 0.25}] * 2
    (found,) = schema.records(records, 0, weights="w")
    np.testing.assert_array_equal(found.columns["weights"], [0.25, 0.25])
    assert list(next(schema.records(records, 0)).columns) == ["features", "labels"]


@pytest.mark.parametrize(
    "bad, got",
    [(-1, "-1.0"), (float("inf"), "inf"), (float("nan"), "nan at 0; fill in missing numbers")],
)
def test_a_bad_weight_is_named(bad, got):
    schema = Schema(features=(2,))
    raw = Arrays({"features": np.ones((3, 2)), "weights": [1, bad, 0]})
    with pytest.raises(DataError, match=f"here, record 1: weights must be .*, got {got}"):
        schema.check(raw.splits()[0].data, "here")


def test_arrays_of_different_length_are_refused():
    with pytest.raises(DataError, match="arrays of 3 features need as many mask, got 2"):
        Arrays({"features": np.ones((3, 2)), "mask": np.ones((2, 2))})


def test_a_batch_with_more_columns_is_a_source():
    batch = Batch.of(np.ones((3, 2)), np.arange(3)).replace(weights=np.ones(3))
    assert set(Arrays.of(batch).splits()[0].data.columns) == {"features", "labels", "weights"}


OPTIONS = [
    (lambda: Label(kind="other"), "Label.kind must be one of"),
    (lambda: Label(kind="class", size=0), "Label.size must be an integer >= 1"),
    (lambda: Label(kind="class", shape=(0,)), "Label.shape must be a shape of integers >= 1"),
    (lambda: Schema(features={}), "Schema.features must be a shape"),
    (lambda: Schema(features={"x": (0,)}), "Schema.features must be a shape"),
]


@pytest.mark.parametrize("make, message", OPTIONS, ids=[m for _, m in OPTIONS])
def test_options_are_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


@pytest.mark.parametrize("shape", [(), (1,)])
def test_single_numbers_may_lie_in_one_row_of_a_record(shape):
    x, mask = Ragged.of([np.array([[1, 2, 3]]), np.array([[4, 5, 6]])]).pad(4, shape, "ids")
    assert x[..., 0].tolist() == [[1, 2, 3, 0], [4, 5, 6, 0]]
    assert mask.sum(axis=1).tolist() == [3, 3]
