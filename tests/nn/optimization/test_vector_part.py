"""Parts of a vector, against numpy indexing."""

import numpy as np
import pytest

from sparkdl.nn.optimization.vector_part import VectorPart

WHOLE = np.arange(20)
PARTS = {
    "two": [(2, 5), (9, 14)],
    "neighbors": [(0, 3), (3, 8)],
    "an empty one": [(4, 4), (6, 7)],
    "none": [],
    "all": [(0, 20)],
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_taken_put_and_cut(name):
    part = VectorPart(tuple(slice(*bounds) for bounds in PARTS[name]))
    own = np.array([i for start, stop in PARTS[name] for i in range(start, stop)], int)
    np.testing.assert_array_equal(part.take(WHOLE), own)
    assert part.size == len(own)
    target = np.full(20, -1)
    part.put(part.take(WHOLE), target)
    np.testing.assert_array_equal(target, np.where(np.isin(WHOLE, own), WHOLE, -1))
    for stretch in (slice(0, 20), slice(3, 11), slice(5, 9), slice(7, 7)):
        inside = own[(own >= stretch.start) & (own < stretch.stop)]
        np.testing.assert_array_equal(own[part.local(stretch)], inside)
        moved = part.moved(stretch, 100)
        np.testing.assert_array_equal(moved.take(np.arange(200)), inside - stretch.start + 100)
