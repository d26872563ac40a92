"""Records of several batches by their position."""

import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.data.batches.random_access import RandomAccess

SIZES = {"several": (3, 1, 4), "one": (5,), "with empty ones": (0, 2, 0, 3)}


@pytest.mark.parametrize("rows", [[0], [0, 1, 2, 3, 4], [1, 4], [4]])
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_records_are_those_at_their_positions(sizes, rows):
    x = np.arange(2 * sum(sizes)).reshape(-1, 2)
    ends = np.cumsum(sizes)
    parts = [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
    records = RandomAccess([Batch.of(x[part], start=part.start) for part in parts])
    taken = records.take(np.array(rows))
    assert len(records) == len(x)
    np.testing.assert_array_equal(taken.features, x[rows])
    np.testing.assert_array_equal(taken.ids, rows)


def test_there_may_be_none():
    assert len(RandomAccess([])) == 0
