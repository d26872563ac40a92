"""Sums over workers: the same bits in any order of arrival, and few summands at the driver."""

import numpy as np
import pytest

from sparkdl.errors import DataError, WorkerError
from sparkdl.training.workers.contribution import (
    Contribution,
    Failure,
    group,
    levels,
    total,
    tree_total,
    unwrap,
)

LEVELS = {  # workers, depth -> sums left after each level except the driver's
    (1, 2): [],
    (2, 2): [],
    (3, 2): [2],
    (16, 2): [2],
    (200, 2): [2],
    (1, 1): [],
    (200, 1): [],
    (2, 3): [],
    (3, 3): [2],
    (8, 3): [4, 2],
    (200, 3): [20, 2],
    (16, 4): [8, 4, 2],
    (1000, 4): [125, 16, 2],
    (5, 9): [3, 2],
}


def contribution(rank, rng, n=50):
    """Numbers whose float32 sum depends on the order of addition."""
    vector = rng.normal(size=n) * 10.0 ** rng.integers(-4, 5, n)
    figures = {"examples": rank + 1, "loss": float(rng.normal()), "updates": rank % 4}
    seconds = {"reading": rank / 8, "compute": (7 - rank) ** 2 / 8}
    return Contribution(vector=np.float32(vector), **figures, **seconds)


def contributions(count, seed=0):
    """New ones on each call, because addition is in place."""
    rng = np.random.default_rng(seed)
    return [(rank, contribution(rank, rng)) for rank in range(count)]


@pytest.mark.parametrize("workers, depth", LEVELS)
def test_sums_left_after_each_level(workers, depth):
    assert levels(workers, depth) == LEVELS[workers, depth]


@pytest.mark.parametrize("depth", range(2, 9))
def test_at_most_two_sums_reach_the_driver_and_nobody_adds_many_more_than_others(depth):
    for workers in range(1, 201):
        sizes = levels(workers, depth)
        assert len(sizes) <= depth - 1
        assert (sizes or [workers])[-1] == min(workers, 2)
        assert sizes == sorted(sizes, reverse=True) and all(size >= 1 for size in sizes)
        fan_in = np.ceil((workers / 2) ** (1 / (depth - 1)))
        for left, groups in zip([workers, *sizes], sizes):
            members = np.bincount([group(rank, left, groups) for rank in range(left)])
            assert len(members) == groups and members.min() >= 1
            assert members.max() - members.min() <= 1 and members.max() <= fan_in + 1


def test_with_depth_one_the_driver_takes_all():
    assert all(levels(workers, 1) == [] for workers in range(1, 201))


@pytest.mark.parametrize("count", [1, 2, 3, 7, 64, 200])
def test_groups_are_neighbors_and_none_is_empty(count):
    for groups in range(1, count + 1):
        numbers = [group(rank, count, groups) for rank in range(count)]
        assert numbers == sorted(numbers) and sorted(set(numbers)) == list(range(groups))


def test_what_one_has_changed_is_changed_in_the_total():
    ranked = contributions(3)
    for (_, each), changed in zip(ranked, [0b1001, 0b0001, 0b0100], strict=True):
        each.changed = np.array([changed, 0], np.uint8)
    assert total(ranked).changed.tolist() == [0b1101, 0]


def test_a_total_sums_takes_the_most_and_waits_for_the_slowest():
    result = total(contributions(4))
    assert (result.examples, result.updates) == (10, 3)
    assert (result.reading, result.compute) == (3 / 8, 49 / 8)
    losses = [c.loss for _, c in contributions(4)]
    assert result.loss == pytest.approx(sum(losses))
    exact = sum(c.vector.astype(float) for _, c in contributions(4))
    np.testing.assert_allclose(result.vector, exact, rtol=1e-4, atol=1e-2)
    assert result.vector.dtype == np.float32


@pytest.mark.parametrize("count, depth", [(1, 2), (2, 2), (7, 1), (7, 2), (7, 3), (40, 3)])
def test_totals_are_the_same_bits_in_any_order_of_arrival(count, depth, rng):
    wanted = tree_total(contributions(count), count, depth)
    for _ in range(10):
        came = contributions(count)
        rng.shuffle(came)
        found = tree_total(came, count, depth)
        np.testing.assert_array_equal(found.vector, wanted.vector)
        assert found.loss == wanted.loss
        assert (found.examples, found.updates) == (wanted.examples, wanted.updates)


def test_a_shuffled_total_is_the_same_bits(rng):
    wanted = total(contributions(9)).vector
    for _ in range(10):
        came = contributions(9)
        rng.shuffle(came)
        np.testing.assert_array_equal(total(came).vector, wanted)


def test_the_order_of_adding_would_show():
    """Otherwise the tests above could not fail."""
    ranks = [rank for rank, _ in contributions(9)]
    backwards = [(8 - rank, c) for rank, (_, c) in zip(ranks, contributions(9))]
    assert (total(backwards).vector != total(contributions(9)).vector).any()


def test_a_tree_adds_as_its_levels_say():
    """With eight workers and depth 3: pairs, pairs of pairs, and the driver's addition."""
    v = [c.vector for _, c in contributions(8)]
    wanted = ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]))
    np.testing.assert_array_equal(tree_total(contributions(8), 8, 3).vector, wanted)
    straight = v[0] + v[1] + v[2] + v[3] + v[4] + v[5] + v[6] + v[7]
    np.testing.assert_array_equal(tree_total(contributions(8), 8, 1).vector, straight)


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("failed", [[0], [4], [6, 2], [7, 5, 6]])
def test_the_failure_of_the_lowest_rank_is_raised(failed, depth, rng):
    came = contributions(8)
    for rank in failed:
        came[rank] = (rank, Failure(DataError(f"rank {rank}")))
    rng.shuffle(came)
    with pytest.raises(DataError, match=f"rank {min(failed)}"):
        tree_total(came, 8, depth)


def test_a_total_with_failures_is_a_failure():
    first, second = Failure(DataError("first")), Failure(WorkerError("second"))
    assert total([(5, second), (0, contributions(1)[0][1]), (3, first)]) is first
    with pytest.raises(DataError, match="first"):
        unwrap(first)


def test_without_results_there_is_no_total():
    with pytest.raises(WorkerError, match="at least one worker's result, got none"):
        tree_total([], 0, 2)


def test_vectors_that_are_not_finite_add_up_quietly():
    """The master reports divergence; numpy's warning would come first and say less."""
    infinite = [np.float32([np.inf]), np.float32([-np.inf])]
    options = {"examples": 1, "loss": float("inf"), "updates": 1, "reading": 0.0, "compute": 0.0}
    ranked = [(rank, Contribution(vector=v, **options)) for rank, v in enumerate(infinite)]
    assert np.isnan(total(ranked).vector).all()


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_what_each_worker_did_stays_in_the_order_of_ranks(depth):
    found = tree_total(contributions(9), 9, depth).workers
    assert [(each.examples, each.reading) for each in found] == [(n + 1, n / 8) for n in range(9)]
