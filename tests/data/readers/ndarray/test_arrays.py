"""Arrays in memory as a source."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from sparkdl.data import Arrays, Batch, Schema, check_batches
from sparkdl.data.source import split_bounds
from sparkdl.errors import ConfigError, DataError

X, Y = np.arange(20.0).reshape(10, 2), np.arange(10) % 3
SCHEMA = Schema(features=(2,), labels="class", label_size=3)


def read(source, schema=SCHEMA):
    splits = source.splits()
    return Batch.concat([b for s in splits for b in check_batches(source.read, s, schema)])


@pytest.mark.parametrize("size", [None, 1, 3, 100])
def test_arrays_come_back(size):
    batch = read(Arrays(X, Y, records_per_split=size))
    np.testing.assert_array_equal(batch.features, X)
    np.testing.assert_array_equal(batch.labels, Y)
    assert len(set(batch.ids)) == 10


def test_a_batch_is_a_source():
    np.testing.assert_array_equal(read(Arrays.of(Batch.of(X, Y))).features, X)


def test_lists_and_no_labels():
    batch = read(Arrays(X.tolist()), Schema(features=(2,)))
    np.testing.assert_array_equal(batch.features, X)
    assert batch.labels is None


def test_only_the_split_travels():
    source = Arrays(np.zeros((10_000, 100)), records_per_split=10)
    assert len(pickle.dumps((source.read, source.splits()[3]))) < 10_000


def test_offences_name_the_split():
    with pytest.raises(
        DataError, match=r"^arrays, partition 0, record 2: label must be in \[0, 2\)"
    ):
        read(Arrays(X, Y, records_per_split=3), Schema(features=(2,), labels="class", label_size=2))


def test_no_records_make_no_splits():
    assert Arrays(np.zeros((0, 3))).splits() == []


def test_labels_of_another_length_are_refused():
    with pytest.raises(DataError, match="arrays of 10 features need as many labels, got 9"):
        Arrays(X, Y[1:])


def test_arrays_refuses_splits_of_nothing():
    with pytest.raises(ConfigError, match="records_per_split must be an integer >= 1 or None"):
        Arrays(X, records_per_split=-1)


@given(st.integers(0, 5_000_000))
def test_default_splits_are_small_and_not_too_many(count):
    bounds = split_bounds(count)
    assert [start for start, _ in bounds[1:]] == [stop for _, stop in bounds[:-1]]
    assert sum(stop - start for start, stop in bounds) == count
    assert len(bounds) <= 4096
    assert all(stop > start for start, stop in bounds)


def test_default_splits_of_large_records_can_be_sent():
    volumes = np.broadcast_to(np.float32(0), (30, 6 * 10**6))  # 24 MB each, without memory
    splits = Arrays(volumes, np.zeros(30)).splits()
    assert [split.count for split in splits] == [2] * 15
    assert [split.count for split in Arrays(volumes, records_per_split=20).splits()] == [20, 10]


MASKED = np.ma.masked_greater(X, 5)
HIDDEN = {
    "features": ((MASKED, Y), "features"),
    "rows of a list": (([*MASKED], Y), "features"),
    "lists of rows": (([[*MASKED]] * 2, Y[:2]), "features"),
    "a column": (
        ({"features": X, "weights": np.ma.masked_equal(Y, 1)}, Y),
        r"features\['weights'\]",
    ),
    "labels": ((X, np.ma.masked_equal(Y, 1)), "labels"),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_masked_numbers_are_refused(name):
    """The numbers beneath the mask were trained on, such as the fill values of NetCDF files."""
    columns, field = HIDDEN[name]
    with pytest.raises(ConfigError, match=rf"(?s)^Arrays.{field} must be .*; some numbers are ma"):
        Arrays(*columns)


def test_a_mask_that_hides_nothing_is_fine():
    shown = np.ma.masked_array(X, np.zeros_like(X, bool))
    np.testing.assert_array_equal(read(Arrays(shown, Y)).features, X)


@pytest.mark.parametrize("kind", [scipy.sparse.csr_matrix, scipy.sparse.coo_array])
def test_sparse_matrices_are_refused(kind):
    """They ended in numpy's "len() of unsized object"."""
    for pair in ((kind(X), Y), (X, kind(X)), ({"a": kind(X)}, Y)):
        with pytest.raises(ConfigError, match="; toarray.. makes one of a sparse matrix$"):
            Arrays(*pair)
