"""Counts survive packing, which takes few bytes."""

import numpy as np
import pytest

from sparkdl.training.evaluation.packed_counts import pack, unpack

COUNTS = {
    "nothing": (np.zeros((3, 4), np.int64), 32),
    "few": (np.eye(300, dtype=np.int64) * 7, 2000),
    "all": (np.arange(1, 13).reshape(3, 4), 32),
    "large": (np.array([0, 2**40, 1]), 50),
    "weights": (np.array([0.0, 0.1, 0.0, 0.0, 2.5]), 50),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_stay_as_they_are(name):
    counts, most = COUNTS[name]
    arrays = pack(counts)
    found = unpack(arrays, counts.shape)
    np.testing.assert_array_equal(found, counts)
    assert found.dtype == counts.dtype and sum(array.nbytes for array in arrays) <= most
    with pytest.raises(ValueError, match="counts of shape"):
        unpack(arrays, (7, 7))
    with pytest.raises(ValueError, match="counts of shape"):
        unpack([arrays[0], arrays[1], arrays[2][:-1].astype(complex)], counts.shape)
