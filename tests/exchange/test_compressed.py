"""Sums through codecs: the same on every rank, and nothing lost on the way."""

import numpy as np
import pytest

from sparkdl.errors import CheckpointError, PeerError
from sparkdl.exchange.codecs import FixedThreshold, Half, OneBit, Threshold, TopK, TwoBit
from sparkdl.exchange.compressed import CompressedSum, turns
from tests.exchange.double import together

CODECS = [
    Half("bfloat16"),
    OneBit(chunk=64),
    TwoBit(),
    Threshold(FixedThreshold(0.7), clip=None),
    TopK(0.2),
]


def vector(rank, step, n):
    return np.random.default_rng([rank, step]).standard_normal(n, dtype=np.float32)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("codec", CODECS, ids=str)
@pytest.mark.parametrize("n", [0, 3, 1000])
def test_all_ranks_get_the_same_and_nothing_is_lost(codec, size, n):
    given = [[vector(rank, step, n) for step in range(6)] for rank in range(size)]
    results = together(size, summed, codec, n, given)
    totals = [total for total, _, _ in results]
    for total in totals[1:]:
        assert total.tobytes() == totals[0].tobytes()
    kept = sum(kept for _, kept, _ in results)
    wanted = np.sum(given, axis=(0, 1), dtype=np.float64)
    tolerance = 1e-4 if not isinstance(codec, Half) else 0.2
    np.testing.assert_allclose(totals[0] + kept, wanted, atol=tolerance)


def summed(group, codec, n, given):
    """The sum of all sums, what this rank keeps as one vector, and bytes sent."""
    sums, total = CompressedSum(group, codec, n), np.zeros(n)
    for x in given[group.rank]:
        x = x.copy()
        sums.sum(x)
        total += x
    kept = [array for name, array in sums.state().items() if name.endswith("residual")]
    return total, np.concatenate([np.zeros(0), *kept]) if kept else 0, sums.sent_bytes


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("codec, bytes_for", [
    (OneBit(), lambda size: 2 * (size - 1) * (8 + 16384 // size * (1 / 8 + 8 / 512))),
    (Half(), lambda size: 2 * (size - 1) * (8 + 16384 // size * 2)),
    (TwoBit(), lambda size: (size - 1) * (12 + 16384 // 4)),
], ids=str)  # fmt: skip
def test_bytes_sent(codec, bytes_for, size):
    given = [[vector(rank, 0, 16384)] for rank in range(size)]
    for _, _, sent in together(size, summed, codec, 16384, given):
        assert sent == bytes_for(size)


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_a_restored_sum_goes_on_as_the_first_would_have(codec):
    for ours, theirs in together(2, resumed, codec):
        assert ours == theirs


def resumed(group, codec):
    first, second = CompressedSum(group, codec, 500), CompressedSum(group, codec, 500)
    for step in range(3):
        first.sum(vector(group.rank, step, 500))
    second.restore(first.state())
    ours, theirs = vector(group.rank, 3, 500), vector(group.rank, 3, 500)
    first.sum(ours)
    second.sum(theirs)
    return ours.tobytes(), theirs.tobytes()


def test_a_state_of_a_group_of_another_size_is_refused():
    [state] = together(1, state_of)
    with pytest.raises(CheckpointError, match="OneBit needs state"):
        together(2, restored, state)


def state_of(group):
    return CompressedSum(group, OneBit(), 500).state()


def restored(group, state):
    CompressedSum(group, OneBit(), 500).restore(state)


OTHERS = [(Half(), Half("bfloat16")), (TwoBit(), TopK()), (TwoBit(0.5), TwoBit(0.25))]


@pytest.mark.parametrize("codec, other", OTHERS, ids=str)
def test_a_rank_that_sends_something_else_is_named(codec, other):
    with pytest.raises(PeerError, match="rank 1 on .*: sent what cannot be decoded: a message of"):
        together(2, mixed, codec, other)


def mixed(group, *codecs):
    CompressedSum(group, codecs[group.rank], 64).sum(np.ones(64, np.float32))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 9])
def test_in_each_turn_partners_have_each_other(size):
    orders = [list(turns(rank, size)) for rank in range(size)]
    for rank, order in enumerate(orders):
        assert sorted(order) == [other for other in range(size) if other != rank]
