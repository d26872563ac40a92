"""Records of users: ids in arrays. The other kinds are in test_schema.py."""

from decimal import Decimal

import numpy as np
import pytest
from pyspark.ml.linalg import Vectors
from pyspark.sql import Row

from sparkdl.data.batches.batch import Batch, position
from sparkdl.data.records import rows
from sparkdl.data.records.schema import Schema
from sparkdl.errors import ConfigError, DataError

IDS = Schema(features={"words": (2,), "x": (1,)}, ids=frozenset({"words"}))


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint64])
def test_ids_of_records_may_be_arrays(kind):
    words = np.array([[2**24 + 1, 3], [5, 7]], kind)  # float32 cannot represent 2^24 + 1
    records = [{"words": row, "x": np.array([0.5])} for row in words]
    [batch] = IDS.records(records, 0)
    assert batch.columns["words"].dtype == np.int64
    assert batch.columns["words"].tolist() == words.tolist()
    assert batch.columns["x"].dtype == np.float32


WORDS = Schema(features={"words": (1,)}, ids=frozenset({"words"}))
SOLE = {  # columns of the records, `features`, the column that is read
    "its own": ({"words": 7, "x": 1}, "features", "words"),
    "features before its own": ({"features": 7, "words": 1}, "features", "features"),
    "features": ({"features": 7, "x": 1}, "features", "features"),
    "another": ({"words": 1, "x": 7}, "x", "x"),
}


@pytest.mark.parametrize("name", SOLE)
def test_the_only_features_are_read_from_their_own_column(name):
    record, features, column = SOLE[name]
    [batch] = WORDS.records([record], 0, features=features)
    assert batch.columns["words"].tolist() == [[7]]
    assert WORDS.fields(features, names=[*record]) == {"words": column}


def test_whole_batches_may_have_the_only_features_under_either_name():
    for name in ("words", "features"):
        batch = Batch(ids=np.arange(2, dtype=np.uint64), columns={name: np.array([[7], [8]])})
        assert WORDS.check(batch, "here").columns["words"].tolist() == [[7], [8]]
    both = {"words": np.array([[1], [2]]), "features": np.array([[7], [8]])}
    batch = Batch(ids=np.arange(2, dtype=np.uint64), columns=both)
    assert WORDS.check(batch, "here").columns["words"].tolist() == [[7], [8]]


def test_the_only_features_are_missed_by_their_own_name():
    with pytest.raises(DataError, match="has no column 'words'"):
        list(WORDS.records([{"x": 1}], 0))


def test_two_columns_of_one_name_are_refused_as_of_a_dataframe():
    row = Row("words", "x", "words")([1, 2], 0.5, [3, 4])
    with pytest.raises(DataError, match="record 0: column 'words' must be there once, got 2; rena"):
        list(IDS.records([row], 0))
    [batch] = WORDS.records([Row("words", "x", "x")(7, 1, 2)], 0)  # nothing reads x
    assert batch.columns["words"].tolist() == [[7]]


def test_decimals_are_numbers_as_in_a_dataframe():
    schema = Schema(features=(2,), labels="class", label_size=3)
    rows = [([Decimal("1.5"), 2], Decimal("1.00")), ([3.0, Decimal("-0.1")], Decimal(2))]
    [batch] = schema.records(rows, 0)
    np.testing.assert_array_equal(batch.features, np.float32([[1.5, 2], [3, -0.1]]))
    assert batch.labels.tolist() == [1, 2]
    [batch] = WORDS.records([{"words": Decimal(2**62 + 1)}, {"words": Decimal(3)}], 0)
    assert batch.columns["words"].tolist() == [[2**62 + 1], [3]]
    for wrong, got in {None: "None", Decimal("NaN"): "nan", "1": "'1'"}.items():
        with pytest.raises(DataError, match=f"record 0: features must be .*, got {got} at 1"):
            list(schema.records([([Decimal(1), wrong], 0)], 0))
    with pytest.raises(DataError, match="record 0: features must be integers"):
        list(WORDS.records([{"words": Decimal("3.0")}], 0))


INFINITE = {
    "a decimal": [Decimal("1E+400"), Decimal(1)],
    "one of a billion digits": [Decimal("1E+999999999"), Decimal(1)],
    "with a fraction": [Decimal("1E+400"), Decimal("0.5")],
    "an integer": [10**400, Decimal(1)],
    "a negative integer": [-(10**400), Decimal("0.5")],
}


@pytest.mark.parametrize("name", INFINITE)
def test_decimals_beyond_floats_are_not_finite(name):
    """int(Decimal("1E+999999999")) would take minutes and 400 megabytes."""
    got = "-inf" if "negative" in name else "inf"
    message = f"^partition 0, record 0: features must be finite, got {got} at 0$"
    with pytest.raises(DataError, match=message):
        list(Schema(features=(2,)).records([INFINITE[name]], 0))


@pytest.mark.parametrize(
    "number", [np.int64(2), np.uint8(2), np.float32(2), np.float64(2)], ids=repr
)
def test_decimals_may_stand_beside_numbers_of_numpy(number):
    schema = Schema(features=(2,))
    for one in (Decimal("1.5"), Decimal(3)):
        [batch] = schema.records([[one, number]], 0)
        np.testing.assert_array_equal(batch.features, np.float32([[float(one), 2]]))
    with pytest.raises(DataError, match=r"features must be numbers, got .*1j.* at 1"):
        list(schema.records([[Decimal("1.5"), np.complex64(1j)]], 0))


def test_ids_may_be_decimals_beside_numbers_of_numpy():
    pairs = Schema(features={"words": (2,)}, ids=frozenset({"words"}))
    [batch] = pairs.records([{"words": [Decimal(2**62 + 1), np.int64(3)]}], 0)
    assert batch.columns["words"].tolist() == [[2**62 + 1, 3]]


def test_features_named_weights_are_no_weights_of_records():
    """Predictions read them as features; with labels the name would be ambiguous."""
    schema = Schema(features={"x": (1,), "weights": (3,)})
    [batch] = schema.records([{"x": 1.0, "weights": [1, -2, 3]}], 0)
    assert batch.columns["weights"].tolist() == [[1, -2, 3]]
    with pytest.raises(ConfigError, match="no input, bag or label with the column 'weights'"):
        Schema(features={"x": (1,), "weights": (3,)}, labels="class", label_size=2)


def array_of(shape, dtype=np.float32):
    return lambda i: np.full(shape, i % 2, dtype)


# {case: (schema, function of i that makes record i, records read at once)}
LARGE = {
    "of a fixed size": (Schema(features=(2**20,)), array_of(2**20), 16),
    "lists": (Schema(features=(2**20,)), lambda i: [i % 2] * 2**20, 8),
    "sparse": (Schema(features=(2**22,)), lambda i: Vectors.sparse(2**22, {i: 1.0}), 4),
    "of a free size": (Schema(features=(None, 2, 2)), array_of((2**18, 2, 2)), 16),
    "bytes of a free size": (
        Schema(features=(None, 1)),
        array_of((2**22, 1), np.uint8),
        16,
    ),
    "with labels": (
        Schema(features=(2,), labels="values", label_size=2**20),
        lambda i: ([i, i], np.zeros(2**20, np.float32)),
        15,
    ),
    "of more than all bytes": (Schema(features=(2**25,)), array_of(2**25), 1),
    "small": (Schema(features=(2,)), array_of(2), 40),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_large_records_are_read_a_few_at_a_time(name):
    schema, record, expected = LARGE[name]
    taken = []

    def records():
        for i in range(40):
            taken.append(i)
            yield record(i)

    first = next(iter(schema.records(records(), 0)))
    assert len(first) == len(taken) == expected
    assert [position(one) for one in first.ids] == taken


def test_no_record_is_left_out_between_chunks(monkeypatch):
    monkeypatch.setattr(rows, "WINDOW_BYTES", 24)
    batches = list(Schema(features=(2,)).records(([i, i + 1] for i in range(7)), 0))
    assert [len(batch) for batch in batches] == [1] * 7
    monkeypatch.setattr(rows, "WINDOW_BYTES", 48)
    whole = Batch.concat(Schema(features=(2,)).records(([i, i + 1] for i in range(7)), 0))
    np.testing.assert_array_equal(whole.features, [[i, i + 1] for i in range(7)])
    assert list(Schema(features=(2,)).records(iter(()), 0)) == []


def test_masked_numbers_of_records_are_refused():
    """What lies beneath the mask was trained on."""
    shown, hidden = np.ma.masked_array([1.0], [False]), np.ma.masked_array([2.0], [True])
    schema = Schema(features=(1,), labels="values")
    [batch] = schema.records([(shown, 0.5)], 0)
    assert batch.features.tolist() == [[1.0]]
    for record in ((hidden, 0.5), (shown, np.ma.masked)):
        with pytest.raises(DataError, match="record 1: (features|label) must be numbers, got mask"):
            list(schema.records([(shown, 0.5), record], 0))
