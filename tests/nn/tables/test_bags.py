"""Bags of rows: sums by hand, gradients by central differences, errors."""

import numpy as np
import pytest

from sparkdl.errors import DataError, ShapeError
from sparkdl.nn.tables.bags import Bags, RowGradients, make_bag, merge
from sparkdl.nn.tables.row_keys import RowKeys

IDS = np.array([[7, 3, 7], [-1, 2**62, -1], [-1, -1, -1]])
WEIGHTS = np.array([[1, 2, 0.5], [9, 3, 9], [1, 1, 1]])
ROWS = {3: [1.0, 2.0], 7: [10.0, 20.0], 2**62: [100.0, 200.0]}

# First two bags: ids 3 (once) and 7 (twice), then 2^62 alone. The third is empty, so 0.
BY_HAND = {
    ("sum", False): [[21, 42], [100, 200]],
    ("mean", False): [[7, 14], [100, 200]],
    ("sqrtn", False): [[21 / 3**0.5, 42 / 3**0.5], [100, 200]],
    ("sum", True): [[17, 34], [300, 600]],
    ("mean", True): [[17 / 3.5, 34 / 3.5], [100, 200]],
    ("sqrtn", True): [[17 / 5.25**0.5, 34 / 5.25**0.5], [100, 200]],
}


def rows_of(bags):
    return np.array([ROWS[int(id_)] for id_ in bags.keys.ids], np.float32)


def bags_of(*options):
    return Bags.of([make_bag(*options)])


def pool(bags, rows):
    [pooled] = bags.pool(rows)
    return pooled


@pytest.mark.parametrize("combine, weighted", BY_HAND)
def test_bags_are_those_by_hand(combine, weighted):
    bags = bags_of(IDS, combine, WEIGHTS if weighted else None)
    assert bags.keys.ids.tolist() == [7, 3, 2**62]  # in order of appearance
    expected = [*BY_HAND[combine, weighted], [0, 0]]
    np.testing.assert_allclose(pool(bags, rows_of(bags)), expected, rtol=1e-6)


@pytest.mark.parametrize("combine, weighted", BY_HAND)
def test_gradients_are_those_of_central_differences(combine, weighted, rng):
    bags = bags_of(IDS, combine, WEIGHTS if weighted else None)
    slopes, rows = rng.normal(size=(3, 2)).astype(np.float32), rows_of(bags)
    result = bags.spread([slopes])
    assert result.keys is bags.keys
    for place in np.ndindex(*rows.shape):
        up, down = rows.copy(), rows.copy()
        up[place] += 1
        down[place] -= 1  # it is linear, so a long step is exact
        difference = ((pool(bags, up) - pool(bags, down)) / 2 * slopes).sum()
        assert result.rows[place] == pytest.approx(difference, abs=1e-4)


def test_one_id_each_is_a_lookup():
    bags = bags_of(np.array([[7], [3], [-1]]), "mean")
    np.testing.assert_array_equal(pool(bags, rows_of(bags)), [ROWS[7], ROWS[3], [0, 0]])


@pytest.mark.parametrize("combine", ["mean", "sqrtn"])
def test_a_bag_whose_divisor_is_0_is_0(combine):
    """As in tf.nn.embedding_lookup_sparse, which uses div_no_nan."""
    weights = np.array(
        [[1, -2, 1], [9, 0, 9], [1, 1, 1]] if combine == "mean" else np.zeros((3, 3))
    )
    bags = bags_of(IDS, combine, weights)
    np.testing.assert_array_equal(pool(bags, rows_of(bags)), np.zeros((3, 2)))
    assert not bags.spread([np.ones((3, 2), np.float32)]).rows.any()


@pytest.mark.parametrize("weight", [1e-45, 1e-30, 1e-23, 1, 1e19, 1e20, 3e38])
def test_means_do_not_depend_on_the_size_of_weights(weight):
    weights = np.full((1, 2), weight, np.float32)
    for combine, factor in {"mean": 0.5, "sqrtn": 0.5**0.5}.items():
        factors = make_bag(np.array([[1, 2]]), combine, weights).factors
        np.testing.assert_allclose(factors, [[factor, factor]], rtol=1e-6)


def test_ordinary_weights_have_the_quotients_of_float32(rng):
    weights = rng.normal(size=(50, 7)).astype(np.float32)
    factors = make_bag(rng.integers(0, 9, (50, 7)), "mean", weights).factors
    np.testing.assert_array_equal(factors, weights / weights.sum(1)[:, None])


def test_a_batch_without_ids_has_no_rows():
    bags = bags_of(np.full((2, 3), -1), "sum")
    empty = np.zeros((0, 2), np.float32)
    np.testing.assert_array_equal(pool(bags, empty), np.zeros((2, 2)))
    assert bags.spread([np.ones((2, 2), np.float32)]).rows.shape == (0, 2)
    assert merge([RowGradients(bags.keys, empty)]).rows.shape == (0, 2)


def test_bags_of_several_tables_are_those_of_each(rng):
    ids = [rng.integers(-1, 6, (4, width)) for width in (1, 3, 1)]
    tables, combines = (0, 1, 0), ("sum", "mean", "sum")
    parts = [make_bag(i, c, None, t) for i, c, t in zip(ids, combines, tables)]
    bags, rows = Bags.of(parts), {}
    values = rng.normal(size=(len(bags.keys.ids), 2)).astype(np.float32)
    keys = zip(bags.keys.tables.tolist(), bags.keys.ids.tolist(), values)
    rows = {(table, id_): row for table, id_, row in keys}
    slopes = [rng.normal(size=(4, 2)).astype(np.float32) for _ in ids]
    expected = {key: np.zeros(2) for key in rows}
    for own, table, pooled, slope in zip(ids, tables, bags.pool(values), slopes):
        for example, bag in enumerate(own):
            present = [(table, int(id_)) for id_ in bag if id_ >= 0]
            mean = sum((rows[key] for key in present), np.zeros(2)) / max(len(present), 1)
            np.testing.assert_allclose(pooled[example], mean, atol=1e-6)
            for key in present:
                expected[key] += slope[example] / len(present)
    result = bags.spread(slopes)
    np.testing.assert_allclose(result.rows, [*expected.values()], atol=1e-6)


def test_merge_adds_by_key():
    one = RowGradients(RowKeys.of([1, 5]), np.array([[1.0], [2.0]], np.float32))
    two = RowGradients(RowKeys.of([0, 5]), np.array([[4.0], [8.0]], np.float32))
    keys, rows = merge([one, two], [0.5, 0.25])
    assert keys.ids.tolist() == [1, 5, 0] and rows.tolist() == [[0.5], [3.0], [1.0]]
    other = RowGradients(RowKeys.of([1], table=1), np.array([[7.0]], np.float32))
    keys, rows = merge([one, other])
    assert keys.tables.tolist() == [0, 0, 1] and rows.tolist() == [[1.0], [2.0], [7.0]]


ERRORS = {
    "float": (np.ones((1, 2)), None, DataError, "must be integers, got float64"),
    "negative": (np.array([[1, -2]]), None, DataError, "or -1 for none, got -2"),
    "far": (
        np.array([[2**63]], np.uint64),
        None,
        DataError,
        "below 2\\^63, got 9223372036854775808",
    ),
    "weights": (np.array([[1, 2]]), np.ones((1, 3)), ShapeError, r"\(1, 2\), got \(1, 3\)"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_what_is_wrong(name):
    ids, weights, kind, text = ERRORS[name]
    with pytest.raises(kind, match=text):
        bags_of(ids, "sum", weights)
