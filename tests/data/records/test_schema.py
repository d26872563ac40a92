"""Every kind of record gives the same batch; errors name the mismatch."""

import re
from collections import namedtuple

import numpy as np
import pytest
import scipy.sparse as sparse
from hypothesis import given
from hypothesis import strategies as st
from pyspark.ml.linalg import Vectors
from pyspark.mllib.linalg import Vectors as OldVectors
from pyspark.mllib.regression import LabeledPoint
from pyspark.sql import Row

from sparkdl.data import Batch, Schema
from sparkdl.data.records.label import Label
from sparkdl.errors import ConfigError, DataError
from tests.support.tables import for_all

SCHEMA = Schema(features=(1, 2, 3), labels="class", label_size=4)
X = np.array([[0, 1, 2, 3, 4, 5], [6, 0, 0, 7, 0, 0], [9, 8, 7, 6, 5, 4]])
Y = [3, 0, 2]

Named = namedtuple("Named", "label features")


def sparse_vector(x, vectors=Vectors):
    return vectors.sparse(6, {int(i): float(x[i]) for i in np.flatnonzero(x)})


FEATURES = {
    "float64": lambda x: x.astype(float),
    "int64": lambda x: x,
    "bool": lambda x: x.astype(bool),
    "float16": lambda x: x.astype(np.float16),
    "shaped": lambda x: x.reshape(1, 2, 3),
    "no channel axis": lambda x: x.reshape(2, 3).astype(float),
    "transposed view": lambda x: np.asfortranarray(x.reshape(2, 3)),
    "list": lambda x: x.tolist(),
    "tuple": lambda x: tuple(x.tolist()),
    "nested list": lambda x: x.reshape(1, 2, 3).tolist(),
    "list of arrays": lambda x: list(x.reshape(2, 3)),
    "dense vector": lambda x: Vectors.dense(x),
    "sparse vector": sparse_vector,
    "mllib dense": lambda x: OldVectors.dense(x),
    "mllib sparse": lambda x: sparse_vector(x, OldVectors),
    "csr row": lambda x: sparse.csr_matrix(x[None]),
    "csc row": lambda x: sparse.csc_array(x[None]),
    "coo row": lambda x: sparse.coo_array(x),
    "uint8": lambda x: x.astype(np.uint8),
    "bytes": lambda x: x.astype(np.uint8).tobytes(),
    "bytearray": lambda x: bytearray(x.astype(np.uint8).tobytes()),
}
BYTES = {"uint8", "bytes", "bytearray"}

RECORDS = {
    "pair": lambda x, y: (x, y),
    "list pair": lambda x, y: [x, y],
    "dict": lambda x, y: {"id": 7, "features": x, "label": y},
    "row": lambda x, y: Row(label=y, features=x),
    "positional row": lambda x, y: Row(x, y),
    "named tuple": lambda x, y: Named(features=x, label=y),
}

LABELS = {
    "int": int,
    "float": float,
    "numpy int": np.int64,
    "numpy float": np.float32,
    "uint8": np.uint8,
    "array of one": lambda y: np.array([y]),
    "0-d array": np.array,
    "one-hot list": lambda y: [int(i == y) for i in range(4)],
    "one-hot array": lambda y: np.eye(4)[y],
    "one-hot vector": lambda y: Vectors.dense(np.eye(4)[y]),
    "one-hot sparse": lambda y: Vectors.sparse(4, [y], [1.0]),
}


def read(records, schema=SCHEMA, size=1024, **names):
    return Batch.concat(schema.records(iter(records), 1, size, **names))


def check(batch, dtype=np.float32, x=X):
    assert batch.features.dtype == dtype
    np.testing.assert_array_equal(batch.features, x.reshape(-1, 1, 2, 3))
    assert batch.labels.dtype == np.int32
    np.testing.assert_array_equal(batch.labels, Y)


@pytest.mark.parametrize("kind", FEATURES)
def test_features_of_every_kind(kind):
    batch = read([(FEATURES[kind](x), y) for x, y in zip(X, Y)])
    check(batch, np.uint8 if kind in BYTES else np.float32, X != 0 if kind == "bool" else X)


@pytest.mark.parametrize("kind", FEATURES)
def test_bare_features_of_every_kind(kind):
    bare = read([FEATURES[kind](x) for x in X], Schema(features=(1, 2, 3)))
    assert bare.labels is None
    np.testing.assert_array_equal(bare.features.reshape(3, 6), X != 0 if kind == "bool" else X)


@pytest.mark.parametrize("kind", RECORDS)
@pytest.mark.parametrize("features", ["float64", "list", "dense vector", "uint8"])
def test_records_of_every_kind(kind, features):
    records = [RECORDS[kind](FEATURES[features](x), y) for x, y in zip(X, Y)]
    check(read(records), np.uint8 if features == "uint8" else np.float32)


def test_numbers_of_classes_stand_for_one_hot_labels():
    label = Label(kind="values", size=4, one_hot=True)
    schema = Schema(features=(6,), labels={"labels": label})

    def same(kind):
        labels = read([(x, LABELS[kind](y)) for x, y in zip(X, Y)], schema).labels
        assert labels.dtype == np.float32
        np.testing.assert_array_equal(labels, np.eye(4)[Y])

    for_all(LABELS, same)
    soft = [0.25, 0.75, 0, 0]
    np.testing.assert_array_equal(read([(X[0], soft)], schema).labels, [soft])
    for wrong, message in {4: r"label must be in \[0, 4\), got 4", 1.5: "a whole number"}.items():
        with pytest.raises(DataError, match=message):
            read([(X[0], wrong)], schema)
    with pytest.raises(DataError, match="label must have 4 numbers, got 3"):
        read([(X[0], [1, 0, 0])], schema)


@pytest.mark.parametrize("kind", [k for k in RECORDS if k != "list pair"])
def test_labels_are_dropped_where_none_are_wanted(kind):
    records = [RECORDS[kind](x, y) for x, y in zip(X, Y)]
    batch = read(records, Schema(features=(1, 2, 3)))
    assert list(batch.columns) == ["features"]
    np.testing.assert_array_equal(batch.features.reshape(3, 6), X)


def test_labeled_points():
    check(read([LabeledPoint(y, OldVectors.dense(x)) for x, y in zip(X, Y)]))


def test_columns_of_other_names():
    rows = [Row(count=x.tolist(), index=y) for x, y in zip(X, Y)]  # also methods of tuple
    check(read(rows, features="count", label="index"))


@pytest.mark.parametrize("kind", LABELS)
def test_class_labels_of_every_kind(kind):
    check(read([(x, LABELS[kind](y)) for x, y in zip(X, Y)]))


@pytest.mark.parametrize("kind", [float, list, np.array, tuple, Vectors.dense])
def test_values_of_every_kind(kind):
    size = 1 if kind is float else 3
    schema = Schema(features=(6,), labels="values", label_size=size)
    labels = [0.5, 1.5, -2.0] if kind is float else [[0.5, 1, 2], [3, 4, 5], [6, 7, -8]]
    batch = read([(x, kind(y)) for x, y in zip(X, labels)], schema)
    assert batch.labels.dtype == np.float32
    np.testing.assert_array_equal(batch.labels, np.reshape(labels, (3, size)))


def test_kinds_may_be_mixed():
    dense, sparse_one, nested = Vectors.dense(X[0]), sparse_vector(X[1]), X[2].reshape(2, 3)
    check(read([(dense, 3), Row(label=0.0, features=sparse_one), {"features": nested, "label": 2}]))


def test_a_row_among_positional_rows_keeps_its_names():
    rows = [Row(X[0], 3), Row(label=0, features=X[1]), Row(X[2], 2)]
    check(read(rows))


@given(st.integers(0, 50), st.integers(1, 20))
def test_batches_have_the_size_and_consecutive_ids(n, size):
    records = [(np.full(6, i), i % 4) for i in range(n)]
    batches = list(SCHEMA.records(iter(records), 2, size))
    assert [len(b) for b in batches] == [size] * (n // size) + [n % size] * bool(n % size)
    if n:
        whole = Batch.concat(batches)
        np.testing.assert_array_equal(whole.ids, (2 << 40) + np.arange(n))
        np.testing.assert_array_equal(whole.features[:, 0, 0, 0], np.arange(n))


def with_record(bad, at=17):
    records = [(np.arange(6.0), 1)] * at
    return [*records, bad, *records]


ok = [0.0] * 6
PLACE = "partition 1, record 17: "
OFFENCES = [
    ((ok[1:], 1), "features must have 6 numbers, got 5"),
    ((np.zeros((2, 2)), 1), "features must have 6 numbers, got 4"),
    ((b"12345", 1), "features must have 6 numbers, got 5"),
    ((Vectors.dense([1, 2]), 1), "features must have 6 numbers, got 2"),
    ((0.5, 1), "features must have 6 numbers, got 1"),
    (([], 1), "features must have 6 numbers, got 0"),
    (
        (np.zeros((3, 2, 1)), 1),
        r"features must have the shape \(1, 2, 3\), or be flat, "
        r"got \(3, 2, 1\); transpose them",
    ),
    (
        ([0, 1, 2, float("nan"), 4, 5], 1),
        "features must be finite, got nan at 3; fill in missing numbers",
    ),
    ((np.array([[0, 1, 2], [3, 4, -np.inf]]), 1), "features must be finite, got -inf at 5"),
    (([1e39, *ok[1:]], 1), "features must be finite, got inf at 0"),
    (([None, *ok[1:]], 1), "features must be numbers, got None at 0"),
    (([*ok[1:], "1"], 1), "features must be numbers, got "),
    (("123456", 1), "features must be numbers, got '123456'"),
    ((None, 1), "features must be numbers, got None"),
    ((np.zeros(6, complex), 1), "features must be numbers, got an array of complex128"),
    ((np.array(["1"] * 6), 1), "features must be numbers, got an array of <U1"),
    (([[1, 2, 3], [4, 5]], 1), "features must be numbers in rows of one length, got list"),
    ((ok, 12), r"label must be in \[0, 4\), got 12; number classes .*, or raise .*units to 13 at"),
    ((ok, -1), r"label must be in \[0, 4\), got -1; number classes .*StringIndexer does; .*ignore"),
    ((ok, np.int64(4)), r"label must be in \[0, 4\), got 4; number classes from 0 on, as "),
    ((ok, float("inf")), r"label must be in \[0, 4\), got inf"),
    ((ok, 2.5), "label must be a whole number, got 2.5"),
    ((ok, float("nan")), "label must be a whole number, got nan; where labels are missing, "),
    ((ok, "2"), "label must be numbers, got '2'"),
    ((ok, None), "label must be numbers, got None"),
    ((ok, 10**30), "label must be "),
    ((ok, [1, 0, 0]), "label must be a number or one-hot of 4, got 3 numbers"),
    ((ok, [1, 0, 1, 0]), r"label must be one-hot \(one 1, else 0\), got \[1, 0, 1, 0\]"),
    ((ok, [0.5, 0.5, 0, 0]), "label must be one-hot"),
    ((ok, [2, -1, 0, 0]), "label must be one-hot"),
    ({"x": ok, "label": 1}, r"has no column 'features'; columns are \['x', 'label'\]"),
    (Row(features=ok, y=1), r"has no column 'label'; columns are \['features', 'y'\]"),
    (Named(features=ok, label=7), r"label must be in \[0, 4\), got 7"),
    (
        np.zeros(6),
        r"must be a \(features, label\) pair, a Row or dict with named columns, or a "
        "LabeledPoint, got ndarray",
    ),
    ((ok, 1, 2), ".* LabeledPoint, got tuple of 3"),
    (5, ".* LabeledPoint, got int"),
]


def test_images_with_their_channels_last_are_told_where_these_stand():
    message = r"must have the shape \(3, 4, 5\), or be flat, got \(4, 5, 3\); channels come first; "
    with pytest.raises(DataError, match=message + "transpose them"):
        list(Schema(features=(3, 4, 5)).records([np.zeros((4, 5, 3))], 0))


@pytest.mark.parametrize("record, message", OFFENCES, ids=[m for _, m in OFFENCES])
@pytest.mark.parametrize("size", [1, 8, 1024])
def test_the_offending_record_is_named(record, message, size):
    with pytest.raises(DataError, match=f"^{PLACE}{message}"):
        read(with_record(record), size=size)


def test_the_first_of_several_is_named():
    records = with_record((ok, 9)) + with_record((ok[1:], 1))
    with pytest.raises(DataError, match="record 17: label must be in"):
        read(records)


VALUES = [
    ([1, 2], "label must have 3 numbers, got 2"),
    (1.0, "label must have 3 numbers, got 1"),
    ([1, 2, float("nan")], "label must be finite, got nan at 2; where .*, fill in .*ignore_label$"),
    ([1, 2, float("inf")], "label must be finite, got inf at 2$"),
]


@pytest.mark.parametrize("label, message", VALUES, ids=[m for _, m in VALUES])
def test_the_offending_value_is_named(label, message):
    schema = Schema(features=(6,), labels="values", label_size=3)
    records = [(ok, [1.0, 2.0, 3.0])] * 4 + [(ok, label)]
    with pytest.raises(DataError, match=f"partition 1, record 4: {message}"):
        read(records, schema)


def test_errors_of_foreign_classes_are_named_too():
    class Broken:
        def toArray(self):
            raise RuntimeError("no such thing")

    with pytest.raises(DataError, match="record 17: cannot be read: no such thing"):
        read(with_record((Broken(), 1)))


def test_records_before_the_offence_are_given_first():
    batches = SCHEMA.records(with_record((ok, 9)), 1, 4)
    assert [len(next(batches)) for _ in range(4)] == [4] * 4


def raw(features, labels=None, start=10):
    return Batch.of(
        np.asarray(features), None if labels is None else np.asarray(labels), start=start
    )


def test_check_converts_whole_batches():
    checked = SCHEMA.check(raw(X, np.array(Y, float)).replace(extra=np.zeros(3)), "here")
    check(checked)
    assert list(checked.columns) == ["features", "labels"]


def test_check_keeps_bytes_without_a_copy():
    batch = raw(X.astype(np.uint8), Y)
    checked = SCHEMA.check(batch, "here")
    check(checked, np.uint8)
    assert np.shares_memory(checked.features, batch.features)


def test_check_drops_labels_that_are_not_wanted():
    assert list(Schema(features=(6,)).check(raw(X, Y), "here").columns) == ["features"]


def test_check_takes_an_empty_batch():
    checked = SCHEMA.check(raw(np.zeros((0, 6)), np.zeros(0)), "here")
    assert checked.features.shape == (0, 1, 2, 3)
    assert checked.labels.shape == (0,)


BATCHES = [
    (raw(X[:, 1:], Y), "here, record 10: features must have 6 numbers, got 5"),
    (raw(np.where(X == 7, np.nan, X), Y), "here, record 11: features must be finite, got nan at 3"),
    (raw(X, [0, 1, 4]), r"here, record 12: label must be in \[0, 4\), got 4"),
    (raw(X), r"here: has no column 'labels'; columns are \['features'\]"),
    (raw(np.where(X == 7, None, X), Y), "here, record 11: features must be numbers, got None at 3"),
]


@pytest.mark.parametrize("batch, message", BATCHES, ids=[m for _, m in BATCHES])
def test_check_names_the_record(batch, message):
    with pytest.raises(DataError, match=f"^{message}"):
        SCHEMA.check(batch, "here")


FREE = Schema(features=(2, None, None))


@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_free_sizes_are_as_they_come(dtype):
    x = np.arange(24).reshape(1, 2, 3, 4).astype(dtype)
    found = FREE.check(raw(x), "here").features
    assert found.dtype == (np.uint8 if dtype == np.uint8 else np.float32)
    np.testing.assert_array_equal(found, x)


@pytest.mark.parametrize("shape", [(3, 4, 4), (2, 4), (24,)], ids=str)
def test_free_sizes_are_not_a_free_shape(shape):
    hint = "; ReshapeRecords before other" if len(shape) == 1 else "$"
    got = rf"features must have the shape \(2, any, any\), got {re.escape(str(shape))}{hint}"
    with pytest.raises(DataError, match=f"^here, record 10: {got}"):
        FREE.check(raw(np.zeros((1, *shape))), "here")


REFUSED = [
    ({"features": ()}, "Schema.features must be a shape of integers >= 1, got ()"),
    ({"features": (0,)}, "Schema.features must be a shape of integers >= 1, got (0,)"),
    ({"features": (3,), "labels": "kind"}, "Schema.labels must be one of"),
    ({"features": (3,), "labels": "class", "label_size": 0}, "Schema.label_size must be"),
]


@pytest.mark.parametrize("options, message", REFUSED, ids=[m for _, m in REFUSED])
def test_schema_refuses(options, message):
    with pytest.raises(ConfigError) as caught:
        Schema(**options)
    assert message in str(caught.value)


def test_a_sum_that_overflows_is_not_an_offence():
    large = np.full((2, 6), 3e38, np.float32)
    assert np.isfinite(SCHEMA.check(raw(large, [0, 1]), "here").features).all()


IDS = Schema(features={"words": (2,), "x": (1,)}, ids=frozenset({"words"}))


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8, np.uint64])
def test_ids_stay_integers(kind):
    words = np.array([[3, 120], [0, 7]], kind)
    batch = IDS.check(Batch(columns={"words": words, "x": X[:2, :1]}, ids=np.arange(2)), "here")
    assert batch.columns["words"].dtype == np.int64
    assert batch.columns["words"].tolist() == words.tolist()


def test_ids_of_records_are_exact():
    far = 2**62 + 1
    [batch] = IDS.records([{"words": [far, -1], "x": [0.5]}], 0)
    assert batch.columns["words"].tolist() == [[far, -1]]


WRONG_IDS = {
    "float": (np.ones((2, 2)), "record 0: words must be integers, as they are ids, got float64"),
    "negative": (np.array([[1, 2], [3, -2]]), "record 1: words must be at least 0, or -1 for none"),
    "long": (np.array([[2**63, 1]] * 2, np.uint64), r"words must be below 2\^63"),
    "width": (np.ones((2, 3), int), "words must have 2 numbers, got 3"),
}


@pytest.mark.parametrize("name", WRONG_IDS)
def test_wrong_ids_are_refused_by_record(name):
    words, text = WRONG_IDS[name]
    with pytest.raises(DataError, match=text):
        IDS.check(Batch(columns={"words": words, "x": X[:2, :1]}, ids=np.arange(2)), "here")


OF_SEVERAL = [
    ({"price": np.nan, "kind": 1}, "label 'price' must be finite, got nan at 0"),
    ({"price": "x", "kind": 1}, "label 'price' must be numbers, got 'x'"),
    ({"price": 1.0, "kind": 3}, r"label 'kind' must be in \[0, 3\), got 3"),
    ({"price": 1.0, "kind": 0.5}, "label 'kind' must be a whole number, got 0.5"),
    ({"price": 1.0, "kind": [1, 1, 0]}, r"label 'kind' must be one-hot .*, got \[1, 1, 0\]"),
    ({"price": 1.0, "kind": [1, 1]}, "label 'kind' must be a number or one-hot of 3, got 2"),
    ({"price": [1.0, 2.0], "kind": 1}, "label 'price' must have 1 numbers, got 2"),
]


@pytest.mark.parametrize("labels, message", OF_SEVERAL, ids=[message for _, message in OF_SEVERAL])
def test_of_several_labels_the_one_that_is_wrong_is_named(labels, message):
    kinds = {"price": Label(kind="values"), "kind": Label(kind="class", size=3)}
    schema = Schema(features=(2,), labels=kinds)
    with pytest.raises(DataError, match=message):
        list(schema.records(iter([{"features": [1.0, 2.0]} | labels]), 0))


def test_weights_that_are_texts_are_refused_with_the_cure():
    message = "must be numbers, got '2.0'; make numbers of texts, as float does$"
    with pytest.raises(DataError, match=f"^partition 0, record 1: weights {message}"):
        list(
            SCHEMA.records(
                [{"features": X[0], "label": 1, "w": w} for w in (1, "2.0")], 0, weights="w"
            )
        )
    batch = raw(X, Y).replace(weights=np.array(["2.0"] * 3))
    with pytest.raises(DataError, match=f"^here, record 10: weights {message}"):
        SCHEMA.check(batch, "here")
    with pytest.raises(DataError, match="weights must be numbers, got None$"):
        list(SCHEMA.records([{"features": X[0], "label": 1, "w": None}], 0, weights="w"))


def test_weights_need_no_labels():
    schema = Schema(features=(2,))
    assert schema.fields(weights="w") == {"features": "features", "weights": "w"}
    with pytest.raises(ConfigError, match=r"weights must be the name of a column, got {'a': 'w'}"):
        schema.fields(weights={"a": "w"})


SEQUENCES = {"features": (4, 2)}
TWO = {"price": Label(kind="values"), "kind": Label(kind="class", size=3)}
IGNORED = [
    (
        Schema(features=(2,), labels=TWO),
        "kid_weights",
        "'weights', 'price_weights', 'kind_weights'",
    ),
    (
        Schema(features=(2,), labels="class", label_size=3),
        "labels_weights",
        r"one of \['weights'\]",
    ),
    (
        Schema(features=(2,), labels="class", label_size=3),
        "sample_weights",
        r"one of \['weights'\]",
    ),
    (Schema(features=SEQUENCES, masks={"features": "mask"}), "features_mask", r"one of \['mask'\]"),
    (Schema(features=(2,)), "features_mask", "records of sequences"),
    (Schema(features=(2,)), "mask", "records of sequences"),
    (
        Schema(features={"words": (4,)}, masks={"words": "words_mask"}),
        "mask",
        "one of .*words_mask",
    ),
    (Schema(features=SEQUENCES, masks={"features": "mask"}), "feature_mask", r"one of \['mask'\]"),
]


@pytest.mark.parametrize("schema, name, place", IGNORED, ids=[name for _, name, _ in IGNORED])
def test_weights_and_masks_that_nothing_would_read_are_refused(schema, name, place):
    """They were dropped: a typing error then trained on other numbers, without a word."""
    n = 3
    columns = {column: np.ones((n, *shape)) for column, shape in schema.inputs.items()}
    columns |= {column: np.ones(n) for column in schema.outputs}
    schema.check(Batch(columns=columns, ids=np.arange(n)), "file.h5")
    given = Batch(columns=columns | {name: np.ones(n)}, ids=np.arange(n))
    with pytest.raises(DataError, match=rf"^file.h5: .*{place}.*, got the column '{name}'; rename"):
        schema.check(given, "file.h5")


@pytest.mark.parametrize("name", ["mask", "features_mask"])
def test_masks_of_features_that_are_renamed_are_refused(name):
    schema = Schema(features={"words": (4,)}, masks={"words": "words_mask"})
    columns = {"features": np.ones((3, 4)), name: np.ones((3, 4))}
    with pytest.raises(DataError, match=f"one of .'words_mask'., got the column '{name}'"):
        schema.check(Batch(columns=columns, ids=np.arange(3)), "file.h5")


LEFT = {
    "of a column that is left out": (
        Schema(features=(2,), labels="class", label_size=3),
        ["features", "labels", "b", "b_weights", "b_mask"],
    ),
    "of features that are left out": (
        Schema(features={"x": (2,), "y": (2,)}),
        ["x", "y", "features", "mask", "features_mask"],
    ),
    "of labels that predictions leave out": (
        Schema(features=(2,), unread=frozenset({"steps", "mask"})),
        ["features", "mask", "steps_mask", "mask_weights", "mask_mask"],
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_weights_and_masks_of_columns_that_are_left_out_are_left_out(name):
    schema, names = LEFT[name]
    columns = {column: np.ones((3, 2)) for column in names} | {"labels": np.ones(3)}
    found = schema.check(Batch(columns=columns, ids=np.arange(3)), "file.h5").columns
    assert [*found] == [*schema.inputs, *schema.outputs]


def test_other_columns_are_left_out():
    """Also the weights of labels where no labels are read, as for predictions."""
    columns = {"features": np.ones((3, 2)), "price_weights": np.ones(3), "note": np.ones(3)}
    batch = Batch(columns=columns, ids=np.arange(3))
    assert set(Schema(features=(2,)).check(batch, "file.h5").columns) == {"features"}
