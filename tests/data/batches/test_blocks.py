"""Blocks contain all records in order and have the requested size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkdl.data import Batch, blocks, permutation
from sparkdl.errors import ConfigError


def batches_of(lengths):
    starts = np.cumsum([0, *lengths])
    for start, n in zip(starts, lengths, strict=False):
        yield Batch.of(np.arange(start, start + n, dtype=np.float32)[:, None], start=start)


@given(st.lists(st.integers(0, 12), max_size=12), st.integers(1, 20))
def test_blocks_hold_every_record_once_in_order(lengths, size):
    found = list(blocks(batches_of(lengths), size))
    total = sum(lengths)
    assert [len(b) for b in found] == [size] * (total // size) + [total % size] * bool(total % size)
    if found:
        joined = Batch.concat(found)
        np.testing.assert_array_equal(joined.features[:, 0], np.arange(total))
        np.testing.assert_array_equal(joined.ids, np.arange(total))


def test_blocks_come_before_the_source_ends():
    def endless():
        while True:
            yield from batches_of([3])

    assert len(next(blocks(endless(), 7))) == 7


def test_a_block_inside_a_batch_is_a_view():
    [batch] = batches_of([10])
    assert np.shares_memory(next(blocks([batch], 4)).features, batch.features)


def test_size_zero_is_refused_at_once():
    with pytest.raises(ConfigError, match="at least 1 record, got 0"):
        blocks([], 0)


@given(st.integers(0, 200), st.integers(-(2**63), 2**63 - 1), st.integers(0, 9))
def test_permutation_is_one_and_repeats(n, seed, epoch):
    order = permutation(seed, epoch, n=n)
    np.testing.assert_array_equal(np.sort(order), np.arange(n))
    np.testing.assert_array_equal(order, permutation(seed, epoch, n=n))


def test_permutation_never_changes_between_versions():
    assert permutation(1, 2, n=8).tolist() == [5, 4, 1, 2, 0, 3, 6, 7]


def test_permutations_differ_by_every_part_of_the_key():
    keys = [(0,), (1,), (0, 0), (0, 1), (1, 0), (2**32,), (0, 0, 0)]
    assert len({tuple(permutation(*key, n=50)) for key in keys}) == len(keys)
