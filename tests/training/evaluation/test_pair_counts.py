"""Counts of pairs match numpy and scikit-learn."""

import pickle
from itertools import permutations

import numpy as np
import pytest
from sklearn import metrics

from sparkdl.errors import ConfigError
from sparkdl.training.evaluation.pair_counts import FIRST, PairCounts

CASES = {
    "none": (3, 0),
    "few of many classes": (100_000, 50),
    "many of few classes": (3, 5000),
    "more than wait": (900, 2 * FIRST),
}


def drawn(rng, classes, n):
    return rng.integers(0, min(classes, 900), n), rng.integers(0, min(classes, 900), n)


@pytest.mark.parametrize("name", CASES)
def test_counts_are_those_of_numpy(name, rng):
    classes, n = CASES[name]
    truth, predicted = drawn(rng, classes, n)
    counts = PairCounts(classes)
    for start in range(0, n, 997):
        counts.add(truth[start : start + 997], predicted[start : start + 997])
    codes, wanted = np.unique(truth * classes + predicted, return_counts=True)
    for found, array in zip(
        counts.triples(), (codes // classes, codes % classes, wanted), strict=True
    ):
        np.testing.assert_array_equal(found, array)
    right, said, there = counts.by_class()
    np.testing.assert_array_equal(right, np.bincount(truth[truth == predicted], minlength=classes))
    np.testing.assert_array_equal(said, np.bincount(predicted, minlength=classes))
    np.testing.assert_array_equal(there, np.bincount(truth, minlength=classes))
    if classes <= 900 and n:
        matrix = metrics.confusion_matrix(truth, predicted, labels=range(classes))
        np.testing.assert_array_equal(counts.matrix(), matrix)
        assert pickle.dumps(PairCounts.of_matrix(matrix)) == pickle.dumps(counts)


def test_sums_in_any_order_are_the_same_bits(rng):
    parts = [PairCounts(40) for _ in range(3)]
    for part in parts:
        part.add(*drawn(rng, 40, 300))
    texts = {pickle.dumps(a + b + c) for a, b, c in permutations(parts)}
    texts |= {pickle.dumps(a + (b + c)) for a, b, c in permutations(parts)}
    assert len(texts) == 1


def test_a_matrix_of_too_many_classes_is_refused():
    with pytest.raises(ConfigError, match="at most 10,000 classes, got 100,000, .*80,000,000,000"):
        PairCounts(100_000).matrix()


DAMAGED = {
    "codes fall": ([3, 1], [1, 1]),
    "twice": ([1, 1], [1, 1]),
    "too large": ([1, 9], [1, 1]),
    "negative": ([-1, 2], [1, 1]),
    "no count": ([1, 2], [1, 0]),
    "too few counts": ([1, 2], [1]),
    "floats": ([1.0, 2.0], [1, 1]),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_arrays_that_cannot_be_counts_are_refused(name):
    with pytest.raises(ValueError, match="rising codes below 9"):
        PairCounts(3).with_arrays([np.array(one) for one in DAMAGED[name]])
