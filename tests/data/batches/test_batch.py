"""Batches keep columns and ids aligned however they are sliced."""

import pickle

import numpy as np
import pytest

from sparkdl.data import Batch, position, record_ids
from sparkdl.errors import DataError


def batch(n=5, start=0):
    return Batch.of(np.arange(n * 2).reshape(n, 2), np.arange(n), partition=3, start=start)


def test_columns_of_another_length_are_refused():
    with pytest.raises(DataError, match=r"columns need 2 records, one per id, got \{'x': 3\}"):
        Batch(columns={"x": np.zeros(3)}, ids=record_ids(0, 0, 2))


def test_ids_say_partition_and_position():
    ids = record_ids(3, 7, 2)
    assert ids.dtype == np.uint64
    assert [int(i) >> 40 for i in ids] == [3, 3]
    assert [position(i) for i in ids] == [7, 8]


def test_ids_survive_narrow_integers():
    assert position(record_ids(np.int32(9), np.int32(4), 1)[0]) == 4
    assert int(record_ids(np.int32(9), 0, 1)[0]) >> 40 == 9


@pytest.mark.parametrize("index", [slice(1, 4), np.array([4, 0, 0])], ids=str)
def test_take_keeps_columns_and_ids_together(index):
    taken = batch().take(index)
    np.testing.assert_array_equal(taken.features, batch().features[index])
    np.testing.assert_array_equal(taken.labels, batch().labels[index])
    np.testing.assert_array_equal(taken.ids, batch().ids[index])


def test_a_slice_is_a_view():
    whole = batch()
    assert np.shares_memory(whole.take(slice(1, 3)).features, whole.features)


def test_concat_keeps_order():
    joined = Batch.concat([batch(2), batch(0), batch(3, start=2)])
    assert len(joined) == 5
    np.testing.assert_array_equal(joined.ids, record_ids(3, 0, 5))
    np.testing.assert_array_equal(joined.labels, [0, 1, 0, 1, 2])


def test_concat_refuses_other_columns():
    with pytest.raises(DataError, match=r"need the columns \['features', 'labels'\]"):
        Batch.concat([batch(), Batch.of(np.zeros((1, 2)))])


def test_concat_refuses_nothing():
    with pytest.raises(DataError, match="at least one batch"):
        Batch.concat([])


def test_absent_columns_are_none():
    bare = Batch.of(np.zeros((2, 3)))
    assert bare.labels is None
    assert Batch(columns={}, ids=bare.ids).features is None


def test_replace_exchanges_a_column():
    changed = batch().replace(features=np.ones((5, 1)))
    assert changed.features.shape == (5, 1)
    np.testing.assert_array_equal(changed.labels, batch().labels)


def test_bytes_are_counted():
    assert batch().nbytes == 5 * 2 * 8 + 5 * 8 + 5 * 8


def test_pickle_takes_the_slice_alone():
    large = Batch.of(np.zeros((10_000, 10)))
    small = pickle.dumps(large.take(slice(0, 3)))
    assert len(small) < 2_000
    assert len(pickle.loads(small)) == 3
