"""Sums through codecs: equal on every rank, and nothing is lost."""

import numpy as np
import pytest

from sparkdl.errors import (
    CheckpointError,
    ConfigError,
    DivergedError,
    PeerError,
    ShapeError,
)
from sparkdl.exchange.codecs import (
    AdaptiveThreshold,
    FixedThreshold,
    Half,
    OneBit,
    Threshold,
    TopK,
    TwoBit,
)
from sparkdl.exchange.collectives import compressed_all_reduce
from sparkdl.exchange.compressed_sum import CompressedSum
from tests.exchange.crew import crew

SIZES = [1, 2, 3, 4]
CODECS = [
    Half("bfloat16"),
    OneBit(chunk=64),
    TwoBit(),
    Threshold(FixedThreshold(0.7), clip=None),
    TopK(0.2),
]
LENGTHS = [0, 1, 3, 1000, 300_007]
STEPS = 4


def checked(results):
    """Returns the results of a crew; raises if one is an error."""
    for result in results:
        assert result is not None
        if isinstance(result, Exception):
            raise result
    return results


def vector(rank, step, n):
    return np.random.default_rng([rank, step]).standard_normal(n, dtype=np.float32)


def sum_all(group):
    """Returns (accumulated sum, this rank's residual) for all codecs and lengths."""
    return [summed(group, codec, n) for codec in CODECS for n in LENGTHS]


def summed(group, codec, n):
    sums, total = CompressedSum(group, codec, n), np.zeros(n, np.float32)
    for step in range(STEPS):
        x = vector(group.rank, step, n)
        if step % 2:
            assert sums.sum(x) is x
        else:
            assert sums.start(x).wait() is x
        total += x
    return total, kept(sums, n)


def kept(sums, n):
    """Returns a rank's residual, at its place in the vector."""
    return sums.state().get("residual", np.zeros(n, np.float32))


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_all_ranks_get_the_same_and_nothing_is_lost(size):
    results = checked(crew(size, sum_all))
    cases = [(codec, n) for codec in CODECS for n in LENGTHS]
    for (codec, n), ranks in zip(cases, zip(*results), strict=True):
        totals, keeps = zip(*ranks)
        assert len({total.tobytes() for total in totals}) == 1
        given = sum(vector(rank, step, n) for rank in range(size) for step in range(STEPS))
        tolerance = 0.25 if isinstance(codec, Half) else 1e-3
        np.testing.assert_allclose(totals[0] + sum(keeps), given, atol=tolerance, err_msg=codec)


def flush(group):
    """Returns (residual, result of flush, residual afterwards) of this rank, for all codecs."""
    found = []
    for codec in CODECS:
        sums = CompressedSum(group, codec, 700)
        sums.sum(vector(group.rank, 0, 700))
        found.append((kept(sums, 700), sums.flush(), kept(sums, 700)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_all_ranks_get_all_that_was_kept_back_once(size):
    for ranks in zip(*checked(crew(size, flush)), strict=True):
        before, got, after = zip(*ranks)
        assert len({total.tobytes() for total in got}) == 1
        np.testing.assert_allclose(got[0], sum(x.astype(float) for x in before), atol=1e-5)
        assert not np.any(after)


def count_bytes(group, n):
    """Returns the bytes sent for one sum, by codec."""
    counts = []
    for codec in (OneBit(), Half(), TwoBit(), TopK(0.001)):
        sums, before = CompressedSum(group, codec, n), group.sent_bytes
        sums.sum(vector(group.rank, 0, n))
        counts.append(group.sent_bytes - before)
    return counts


@pytest.mark.slow
def test_bytes_on_the_wire():
    n, size = 1 << 20, 4
    for one_bit, half, two_bit, top_k in checked(crew(size, count_bytes, n)):
        around_the_ring = 2 * (size - 1) / size * 4 * n  # with float32
        assert around_the_ring / one_bit > 28
        assert around_the_ring / half == pytest.approx(2, rel=1e-2)
        assert two_bit == pytest.approx((size - 1) * n / 4, rel=1e-2)
        assert top_k == pytest.approx((size - 1) * 8 * 0.001 * n, rel=5e-2)


def use_badly(group):
    """Invalid calls are refused, and the sum under way continues."""
    sums, x, flag = CompressedSum(group, OneBit(), 1000), vector(group.rank, 0, 1000), np.zeros(1)
    with pytest.raises(CheckpointError, match="OneBit needs state"):
        sums.restore(CompressedSum(group, OneBit(), 2000).state())
    if group.rank == 1:
        group.receive(flag, 0)  # keeps rank 0's first sum from ending before
    pending = sums.start(x)
    if group.rank == 0:
        with pytest.raises(ConfigError, match="one vector at a time"):
            sums.sum(x)
        group.send(flag, 1)
    return pending.wait().tobytes()


@pytest.mark.slow
def test_what_cannot_be_is_refused():
    first, second = checked(crew(2, use_badly))
    assert first == second


def go_on(group):
    """Returns, for all codecs, whether a restored sum gives the bits of the original one."""
    same = []
    for codec in CODECS:
        first, second = CompressedSum(group, codec, 500), CompressedSum(group, codec, 500)
        for step in range(3):
            first.sum(vector(group.rank, step, 500))
        second.restore(first.state())
        ours, theirs = (s.sum(vector(group.rank, 3, 500)) for s in (first, second))
        same.append(ours.tobytes() == theirs.tobytes())
    return same


@pytest.mark.slow
def test_a_restored_sum_goes_on_as_the_first_would_have():
    for same in checked(crew(2, go_on)):
        assert all(same)


def settle(group):
    """Returns the thresholds before and after the ranks settle on one."""
    sums = CompressedSum(group, Threshold(AdaptiveThreshold(initial=1.0)), 1000)
    for step in range(3):
        sums.sum(vector(group.rank, step, 1000) * np.float32(1000 * group.rank))
    before = sums.state()["last"]
    sums.settle()
    CompressedSum(group, OneBit(), 10).settle()  # which has nothing to settle
    return before, sums.state()["last"]


def test_ranks_settle_on_the_mean_of_their_thresholds():
    (low, settled), (high, also) = checked(crew(2, settle))
    assert low[0] < 1 < high[0] and low[1] < high[1]
    np.testing.assert_array_equal(settled, also)
    np.testing.assert_allclose(settled, (low + high) / 2)


def damage(group, codec):
    """Rank 1 sends invalid messages and skips its own decoding.

    So the other ranks must detect them, whichever is first.
    """
    sums = CompressedSum(group, codec, 6400)
    if group.rank == 1:
        for coder in sums._coders:
            coder._message[:4] = 0
        compressed_all_reduce.decode = lambda *arguments, **options: None
    sums.sum(np.ones(6400, np.float32))


def differ(group):
    CompressedSum(group, OneBit(chunk=64 * (1 + group.rank)), 64).sum(np.ones(64, np.float32))


@pytest.mark.parametrize("codec", [OneBit(), TwoBit()], ids=str)
def test_a_rank_that_sends_no_message_is_named_on_all(codec):
    first, _, third = crew(3, damage, codec, timeout=5.0)
    for error in (first, third):
        assert isinstance(error, PeerError) and error.rank == 1
        assert "sent a message that cannot be decoded: a message of" in str(error)


def test_ranks_of_different_codecs_find_out():
    for error in crew(2, differ, timeout=5.0):
        assert isinstance(error, PeerError)
        assert "another call" in str(error)


def diverge(group, codec, n):
    x = np.ones(n, np.float32)
    x[7 * group.rank] = np.nan if group.rank else 1
    CompressedSum(group, codec, n).sum(x)


@pytest.mark.parametrize("codec", [OneBit(), TwoBit()], ids=str)
def test_a_rank_whose_vector_is_not_finite_is_named_on_all(codec):
    first, second = crew(2, diverge, codec, 10, timeout=5.0)
    assert isinstance(second, DivergedError) and "is nan" in str(second)
    assert isinstance(first, PeerError) and first.rank == 1 and "is nan" in str(first)


def diverge_beside(group):
    """Rank 1's sum fails in the background, beside a call that waits for rank 0."""
    x = np.full(100, np.nan if group.rank else 1, np.float32)
    earlier = group.start_receive(np.ones(1), 1 - group.rank)
    pending = CompressedSum(group, TopK(0.5), 100).start(x)
    return [outcome(pending), outcome(earlier)]


def outcome(pending):
    try:
        pending.wait()
    except Exception as error:
        return type(error)


def test_a_call_that_fails_in_the_background_raises_its_own_error():
    results = crew(2, diverge_beside, timeout=5.0)
    assert results == [[PeerError, PeerError], [DivergedError, PeerError]]


def test_a_vector_of_another_length_is_refused():
    [error] = crew(1, shorten)
    assert isinstance(error, ShapeError)


def shorten(group):
    CompressedSum(group, TwoBit(), 10).sum(np.ones(9, np.float32))
