"""Bags of rows: sums by hand, gradients by central differences, errors."""

import numpy as np
import pytest

from sparkdl.errors import DataError, ShapeError
from sparkdl.nn.tables.bags import RowGradients, bags_of, merge

IDS = np.array([[7, 3, 7], [-1, 2**62, -1], [-1, -1, -1]])
WEIGHTS = np.array([[1, 2, 0.5], [9, 3, 9], [1, 1, 1]])
ROWS = {3: [1.0, 2.0], 7: [10.0, 20.0], 2**62: [100.0, 200.0]}

# The first two bags; the third is empty, so 0. First 3 once and 7 twice, then 2^62 alone.
BY_HAND = {
    ("sum", False): [[21, 42], [100, 200]],
    ("mean", False): [[7, 14], [100, 200]],
    ("sqrtn", False): [[21 / 3**0.5, 42 / 3**0.5], [100, 200]],
    ("sum", True): [[17, 34], [300, 600]],
    ("mean", True): [[17 / 3.5, 34 / 3.5], [100, 200]],
    ("sqrtn", True): [[17 / 5.25**0.5, 34 / 5.25**0.5], [100, 200]],
}


def rows_of(bags):
    return np.array([ROWS[int(id_)] for id_ in bags.ids], np.float32)


@pytest.mark.parametrize("combine, weighted", BY_HAND)
def test_bags_are_those_by_hand(combine, weighted):
    bags = bags_of(IDS, combine, WEIGHTS if weighted else None)
    assert bags.ids.tolist() == sorted(ROWS)
    expected = [*BY_HAND[combine, weighted], [0, 0]]
    np.testing.assert_allclose(bags.pool(rows_of(bags)), expected, rtol=1e-6)


@pytest.mark.parametrize("combine, weighted", BY_HAND)
def test_gradients_are_those_of_central_differences(combine, weighted, rng):
    bags = bags_of(IDS, combine, WEIGHTS if weighted else None)
    slopes, rows = rng.normal(size=(3, 2)).astype(np.float32), rows_of(bags)
    result = bags.spread(slopes)
    assert result.ids.tolist() == bags.ids.tolist()
    for place in np.ndindex(*rows.shape):
        up, down = rows.copy(), rows.copy()
        up[place] += 1
        down[place] -= 1  # it is linear, so the step may be long
        difference = ((bags.pool(up) - bags.pool(down)) / 2 * slopes).sum()
        assert result.rows[place] == pytest.approx(difference, abs=1e-4)


def test_one_id_each_is_a_lookup():
    bags = bags_of(np.array([[7], [3], [-1]]), "mean")
    np.testing.assert_array_equal(bags.pool(rows_of(bags)), [ROWS[7], ROWS[3], [0, 0]])


def test_a_batch_without_ids_has_no_rows():
    bags = bags_of(np.full((2, 3), -1), "sum")
    empty = np.zeros((0, 2), np.float32)
    np.testing.assert_array_equal(bags.pool(empty), np.zeros((2, 2)))
    assert bags.spread(np.ones((2, 2), np.float32)).rows.shape == (0, 2)
    assert merge([RowGradients(bags.ids, empty)]).rows.shape == (0, 2)


def test_merge_adds_by_id():
    one = RowGradients(np.array([1, 5]), np.array([[1.0], [2.0]], np.float32))
    two = RowGradients(np.array([0, 5]), np.array([[4.0], [8.0]], np.float32))
    ids, rows = merge([one, two], [0.5, 0.25])
    assert ids.tolist() == [0, 1, 5] and rows.tolist() == [[1.0], [0.5], [3.0]]


ERRORS = {
    "float": (np.ones((1, 2)), None, DataError, "must be integers, got float64"),
    "negative": (np.array([[1, -2]]), None, DataError, "or -1 for none, got -2"),
    "weights": (np.array([[1, 2]]), np.ones((1, 3)), ShapeError, r"\(1, 2\) .*\(1, 3\)"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_what_is_wrong(name):
    ids, weights, kind, text = ERRORS[name]
    with pytest.raises(kind, match=text):
        bags_of(ids, "sum", weights)
