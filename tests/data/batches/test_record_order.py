"""Records in an order that does not depend on the one in which they came."""

import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.data.batches import record_order
from sparkdl.data.batches.batch import record_ids
from sparkdl.data.batches.record_order import common_types, hash_records, sort_records
from sparkdl.data.records.changes import PartByHash
from sparkdl.errors import DataError

COUNT = 60
KINDS = {
    "floats": lambda rng: {"x": rng.normal(size=(COUNT, 3)).astype("f4")},
    "bytes": lambda rng: {"x": rng.integers(0, 256, (COUNT, 5), "u1")},
    "ids above 2^53": lambda rng: {"x": 2**60 + rng.permutation(COUNT)},
    "sequences and their mask": lambda rng: {
        "x": rng.normal(size=(COUNT, 4, 2)).astype("f4"),
        "mask": (rng.random((COUNT, 4)) < 0.5).astype("f4"),
        "y": rng.integers(0, 9, COUNT).astype("i4"),
    },
    "more than is hashed at a time": lambda rng: {"x": rng.normal(size=(COUNT, 300))},
    "a column of no numbers": lambda rng: {
        "x": np.zeros((COUNT, 0), "f4"),
        "y": rng.permutation(COUNT),
    },
    "twins": lambda rng: {"x": rng.integers(0, 3, (COUNT, 2)).astype("f4")},
    "signed zeros and not a number": lambda rng: {
        "x": rng.choice(np.array([0.0, -0.0, np.nan, np.inf], "f4"), (COUNT, 4))
    },
}


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def cut(columns, order, size):
    """Returns the records in this order, in batches of up to `size`, with ids as they come."""
    return [
        Batch(
            columns={name: x[order[at : at + size]] for name, x in columns.items()},
            ids=record_ids(3, at, len(order[at : at + size])),
        )
        for at in range(0, COUNT, size)
    ]


def rows_of(columns):
    """Returns each record's bytes, of all columns."""
    return [b"".join(x[row].tobytes() for x in columns.values()) for row in range(COUNT)]


def bits(batch):
    return {name: x.tobytes() for name, x in batch.columns.items()} | {"ids": batch.ids.tobytes()}


@pytest.mark.parametrize("window", [1, 1 << 9, 1 << 26])
@pytest.mark.parametrize("kind", KINDS)
def test_the_order_is_the_same_however_they_come(kind, window, rng, monkeypatch):
    monkeypatch.setattr(record_order, "WINDOW_BYTES", window)
    columns = KINDS[kind](rng)
    ends = []
    for size in (7, 11, COUNT):
        batches = cut(columns, rng.permutation(COUNT), size)
        ends.append(Batch.concat(sort_records([*batches, batches[0].take(slice(0, 0))])))
    assert bits(ends[0]) == bits(ends[1]) == bits(ends[2])
    np.testing.assert_array_equal(ends[0].ids, record_ids(3, 0, COUNT))
    assert sorted(rows_of(columns)) == sorted(rows_of(ends[0].columns))


def test_ids_have_no_gaps_where_records_were_left_out(rng):
    """Random numbers depend on ids: a validation split leaves records out as they come."""
    columns = KINDS["floats"](rng)
    part = PartByHash(share=0.3, seed=1, columns=("x",), drawn=False)
    for size in (7, 11):
        left = [part(batch) for batch in cut(columns, rng.permutation(COUNT), size)]
        ids = Batch.concat(sort_records(left)).ids
        assert 30 < len(ids) < COUNT
        np.testing.assert_array_equal(ids, record_ids(3, 0, len(ids)))


def test_batches_of_mixed_types_have_one_order():
    """A list of whole numbers makes another array than one with fractions."""
    whole, broken = np.arange(4.0).astype("i8"), np.array([0.5, 1.5])
    one = [Batch.of(whole), Batch.of(broken)]
    other = [Batch.of(np.array([0.5, 3.0])), Batch.of(whole[2::-1]), Batch.of(np.array([1.5]))]
    assert [*np.concatenate([b.features for b in sort_records(one)])] == [
        *np.concatenate([b.features for b in sort_records(other)])
    ]


def test_all_batches_have_the_type_of_the_mixed_ones(monkeypatch):
    """Bytes among floats are bytes or floats as they arrive, and a Resize rounds bytes."""
    monkeypatch.setattr(record_order, "WINDOW_BYTES", 1)
    images, floats = np.arange(9, dtype="u1"), np.arange(9, 12, dtype="f4")
    batches = [Batch.of(images), Batch.of(floats)]
    assert {b.features.dtype for b in sort_records(batches)} == {floats.dtype}
    assert {b.features.dtype for b in sort_records(batches[:1])} == {images.dtype}


@pytest.mark.parametrize("kind", ["f4", "u1", "i8"])
def test_different_records_have_different_hashes(kind):
    x = np.arange(200 * 250).astype("i8")
    pairs = np.stack([x % 250, x // 250], axis=1).astype(kind)
    for rows in (pairs, pairs[:, :, np.newaxis] * np.ones((1, 1, 40), kind)):
        batches = [Batch.of(rows)]
        assert len({*hash_records(batches, common_types(batches)).tolist()}) == len(x)


def test_columns_that_differ_are_refused():
    batches = [Batch.of(np.ones(2)), Batch.of(np.ones(2), np.ones(2))]
    with pytest.raises(DataError, match=r"batches need the columns \['features'\]"):
        list(sort_records(batches))


def test_there_may_be_no_records():
    assert [*sort_records([])] == [*sort_records([Batch.of(np.ones((0, 3)))])] == []
