"""Gathered labels and predictions add up, up to a limit that no order of the parts changes."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkdl.errors import DataError
from sparkdl.training.evaluation.gathered_scores import GatheredScores

WIDTH = 3
EACH = 8 + 4 * WIDTH  # bytes of an example's int64 label and float32 predictions


def draw(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, WIDTH, n), rng.random((n, WIDTH)).astype(np.float32)


def sent(scores):
    return pickle.loads(pickle.dumps(scores))


def restored(scores):
    return GatheredScores(scores.limit).with_arrays(scores.arrays())


@settings(deadline=None, max_examples=40)
@given(sizes=st.lists(st.integers(0, 9), min_size=1, max_size=5), limit=st.integers(0, 25))
@pytest.mark.parametrize("way", [sent, restored])
def test_parts_make_the_whole_or_exceed_the_limit(way, sizes, limit):
    labels, predictions = draw(sum(sizes))
    parts, start = [], 0
    for size in sizes:
        parts.append(GatheredScores(limit * EACH))
        end = start + size
        for at in range(start, end, 2):
            two = slice(at, min(at + 2, end))
            parts[-1].add(labels[two], predictions[two])
        start = end
    for order in (parts, parts[::-1]):
        whole = GatheredScores(limit * EACH)
        for part in order:
            whole = whole + way(part)
        assert whole.is_exceeded == (sum(sizes) > limit)
        assert whole.nbytes == (0 if whole.is_exceeded else sum(sizes) * EACH)
    if not whole.is_exceeded and sum(sizes):
        found, scores = whole.both()
        assert found.dtype == labels.dtype and scores.dtype == np.float32
        rows = np.lexsort(np.column_stack([found, scores]).T)
        expected = np.lexsort(np.column_stack([labels, predictions]).T)
        np.testing.assert_array_equal(scores[rows], predictions[expected])
        np.testing.assert_array_equal(found[rows], labels[expected])


def test_they_are_copies():
    labels, predictions = draw(4)
    scores = GatheredScores()
    scores.add(labels, predictions)
    predictions[:] = 0
    assert scores.both()[1].any()


def test_examples_of_two_shapes_are_refused():
    scores, other = GatheredScores(), GatheredScores()
    scores.add(*draw(3))
    says = r"one shape, got examples of \[\(\), \(3,\)\] and \[\(\), \(2,\)\]; give subclasses"
    with pytest.raises(DataError, match=says):
        scores.add(np.zeros(2), np.zeros((2, 2)))
    other.add(np.zeros(2), np.zeros((2, 2)))
    with pytest.raises(DataError, match=says):
        scores + other


def test_other_arrays_are_refused():
    with pytest.raises(ValueError, match="as many labels as predictions"):
        GatheredScores().with_arrays([np.zeros(1), np.zeros(2), np.zeros((3, 1))])
