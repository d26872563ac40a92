"""The contract of every codec. A new codec is one more row."""

import json
import struct

import ml_dtypes
import numpy as np
import pytest

from sparkdl.errors import CheckpointError, ConfigError, DivergedError, ShapeError
from sparkdl.exchange.codecs import (
    AdaptiveThreshold,
    Codec,
    FixedThreshold,
    Half,
    OneBit,
    TargetSparsity,
    Threshold,
    ThresholdRule,
    TopK,
    TwoBit,
)

EXAMPLES = [
    Half(),
    Half("bfloat16"),
    OneBit(),
    OneBit(chunk=64, zero_threshold=False),
    TwoBit(),
    TwoBit(0.01),
    Threshold(),
    Threshold(FixedThreshold(1.5), clip=None),
    Threshold(TargetSparsity(0.5), clip_every=2),
    TopK(),
    TopK(0.3),
]
RULES = [FixedThreshold(0.1), AdaptiveThreshold(), TargetSparsity(initial=1.0)]
LENGTHS = [0, 1, 7, 8, 9, 511, 512, 513, 131_072, 140_001]

every_codec = pytest.mark.parametrize("codec", EXAMPLES, ids=str)


def vector(n, seed=0, scale=1.0):
    return np.random.default_rng(seed).standard_normal(n, dtype=np.float32) * np.float32(scale)


def decoded(codec, message, n):
    out = np.full(n, np.nan, np.float32)
    codec.decode(message, out)
    return out


@pytest.mark.slow
def test_every_codec_and_every_rule_has_an_example():
    assert {type(codec).__name__ for codec in EXAMPLES} == set(Codec.members)
    assert {type(rule).__name__ for rule in RULES} == set(ThresholdRule.members)


@every_codec
@pytest.mark.parametrize("n", LENGTHS)
def test_what_is_sent_and_what_is_kept_are_what_was_given(codec, n):
    if isinstance(codec, Threshold):
        codec = Threshold(codec.rule, clip=None)
    coder, sent, wanted = codec.coder(n), np.zeros(n, np.float32), np.zeros(n)
    for step in range(12):
        x = vector(n, seed=step)
        codec.decode(coder.encode(x), sent, add=True)
        wanted += x if not isinstance(codec, Half) else decoded(codec, coder.encode(x), n)
    kept = coder.state().get("residual", 0)
    np.testing.assert_allclose(sent + kept, wanted, atol=2e-4)


@every_codec
@pytest.mark.parametrize("n", [0, 1, 1000])
def test_decoding_fills_or_adds(codec, n):
    message = codec.coder(n).encode(vector(n))
    filled, added = decoded(codec, message, n), vector(n, seed=1)
    codec.decode(bytes(message), added, add=True)
    np.testing.assert_array_equal(added, vector(n, seed=1) + filled)


@every_codec
def test_zeros_are_sent_as_zeros(codec):
    coder = codec.coder(1000)
    for _ in range(3):
        assert not decoded(codec, coder.encode(np.zeros(1000, np.float32)), 1000).any()


@every_codec
def test_a_restored_coder_goes_on_as_the_first_would_have(codec):
    first, second = codec.coder(999), codec.coder(999)
    for step in range(7):
        first.encode(vector(999, step))
    state = first.state()
    second.restore(state)
    for step in range(7, 14):
        ours, theirs = first.encode(vector(999, step)), second.encode(vector(999, step))
        np.testing.assert_array_equal(ours, theirs)
    fresh = codec.coder(999)
    fresh.restore(state)  # the coders that continued have left it unchanged
    assert (fresh.encode(vector(999, 7)) == second_message(codec, 7)).all()


def second_message(codec, steps):
    coder = codec.coder(999)
    for step in range(steps):
        coder.encode(vector(999, step))
    return coder.encode(vector(999, steps))


def test_a_state_of_another_length_is_refused():
    with pytest.raises(CheckpointError, match="OneBit needs state"):
        OneBit().coder(10).restore(OneBit().coder(11).state())


@every_codec
def test_options_come_back_from_json(codec):
    assert Codec.from_dict(json.loads(json.dumps(codec.to_dict()))) == codec


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_rules_come_back_from_json(rule):
    assert ThresholdRule.from_dict(json.loads(json.dumps(rule.to_dict()))) == rule


WRONG = [
    (
        lambda: Codec.from_dict({"type": "OneBits"}),
        "Codec type must be one of .*did you mean 'OneBit'",
    ),
    (lambda: Codec.from_dict({"chunk": 64}), "Codec needs a 'type'"),
    (lambda: Codec.from_dict({"type": "OneBit", "chunks": 64}), "no field 'chunks'; did you"),
    (
        lambda: Codec.from_dict({"type": "Threshold", "rule": "Fixed"}),
        "Threshold.rule must be one of",
    ),
    (lambda: Half("float8"), "Half.dtype must be 'float16' or 'bfloat16', got 'float8'"),
    (lambda: OneBit(chunk=100), "OneBit.chunk must be 64, 128, ... 131072, got 100"),
    (lambda: TwoBit(0), "TwoBit.threshold must be a number above 0, got 0"),
    (lambda: TwoBit(1e-60), "TwoBit.threshold must be a number above 0"),
    (lambda: TwoBit(1e39), "TwoBit.threshold must be .* the largest possible is 3.4e\\+38"),
    (lambda: TopK(0), "TopK.fraction must be a number in \\(0, 1\\], got 0"),
    (lambda: Threshold(clip=0.5), "Threshold.clip must be a number >= 1 or None, got 0.5"),
    (lambda: Threshold(clip_every=0), "Threshold.clip_every must be an integer >= 1, got 0"),
    (lambda: Threshold(0.1), "Threshold.rule must be one of Adap.*, TargetSparsity, got 0.1"),
    (lambda: FixedThreshold(1e-60), "FixedThreshold.threshold must be at least 1.18e-38, .*1e-60"),
    (lambda: AdaptiveThreshold(1e-39), "AdaptiveThreshold.initial must be at least 1.18e-38"),
    (lambda: TargetSparsity(1e-39), "TargetSparsity.initial must be at least 1.18e-38"),
    (lambda: FixedThreshold(0), "FixedThreshold.threshold must be a number above 0, got 0"),
    (lambda: AdaptiveThreshold(decay=1), "AdaptiveThreshold.decay must be a number in"),
    (lambda: AdaptiveThreshold(min_sparsity=0.5), "max_sparsity must be at least min_sparsity"),
    (lambda: TargetSparsity(sparsity=0), "TargetSparsity.sparsity must be a number above 0, got 0"),
    (lambda: Half().coder(2**31), "a coder needs a length from 0 to 2147483647"),
]


@pytest.mark.parametrize("make, complaint", WRONG, ids=[complaint for _, complaint in WRONG])
def test_what_cannot_work_is_refused(make, complaint):
    with pytest.raises(ConfigError, match=complaint):
        make()


@every_codec
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 140_000])
def test_a_number_that_is_not_finite_is_refused(codec, bad, place):
    x = vector(140_001)
    x[place] = bad
    with pytest.raises(DivergedError, match=f"{type(codec).__name__} .*vector.{place}. is -?[in]"):
        codec.coder(len(x)).encode(x)


def test_a_number_too_large_for_float16_is_refused():
    with pytest.raises(DivergedError, match="at most 6.55e.04, .* the vector.1. is 70000"):
        Half().coder(2).encode(np.array([1, 70000], np.float32))
    Half("bfloat16").coder(2).encode(np.array([1, 70000], np.float32))


@every_codec
@pytest.mark.parametrize(
    "x", [np.zeros(3), np.zeros(4, np.float32), np.zeros(6, np.float32)[::2], [0, 0, 0]], ids=str
)
def test_only_vectors_of_float32_of_its_length_are_taken(codec, x):
    with pytest.raises(ShapeError, match="needs a contiguous float32 vector"):
        codec.coder(3).encode(x)


BYTES = [
    (Half(), 2000),
    (Half("bfloat16"), 2000),
    (OneBit(chunk=512), 1000 // 8 + 2 * 8),
    (OneBit(chunk=64), 1000 // 8 + 16 * 8),
    (TwoBit(), 4 + 250),
    (Threshold(FixedThreshold(1e9)), 8),
    (Threshold(FixedThreshold(1e-9)), 8 + 250),
    (TopK(0.0101), 11 * 8),
]


@pytest.mark.parametrize("codec, size", BYTES, ids=str)
def test_bytes_of_a_message_for_a_thousand_numbers(codec, size):
    message = codec.coder(1000).encode(vector(1000))
    assert (message.dtype, len(message)) == (np.uint8, size + 8)


# Examples by hand


def test_half_rounds_as_others_do():
    x = np.concatenate([vector(5000, scale=s) for s in (1e-6, 1, 1e3)])
    np.testing.assert_array_equal(sent_by(Half(), x), x.astype(np.float16))
    np.testing.assert_array_equal(
        sent_by(Half("bfloat16"), x * 1e30), (x * 1e30).astype(ml_dtypes.bfloat16)
    )


def sent_by(codec, x):
    return decoded(codec, codec.coder(len(x)).encode(x), len(x))


def test_one_bit_sends_the_two_means_and_keeps_the_rest():
    x = np.array([1, 2, 6, -1, -4, 0], np.float32)
    coder = OneBit().coder(6)
    assert decoded(OneBit(), coder.encode(x), 6).tolist() == [2.25, 2.25, 2.25, -2.5, -2.5, 2.25]
    assert coder.residual.tolist() == [-1.25, -0.25, 3.75, 1.5, -1.5, -2.25]


def test_one_bit_around_the_mean_has_levels_as_far_from_it():
    codec = OneBit(zero_threshold=False)
    x = np.array([1, 2, 6, -1], np.float32)  # mean 2, mean distance from it 2
    assert sent_by(codec, x).tolist() == [0, 4, 4, 0]


def test_one_bit_has_levels_of_their_own_for_each_chunk():
    x = np.concatenate([np.full(64, 3), np.full(64, -5), [7, -7]]).astype(np.float32)
    np.testing.assert_array_equal(sent_by(OneBit(chunk=64), x), x)


def test_one_bit_agrees_with_the_formula():
    x, chunk = vector(40_000), 448
    parts = [x[i : i + chunk].astype(np.float64) for i in range(0, len(x), chunk)]
    wanted = [np.where(p < 0, p[p < 0].mean(), p[p >= 0].mean()) for p in parts]
    np.testing.assert_allclose(sent_by(OneBit(chunk=chunk), x), np.concatenate(wanted), rtol=1e-5)
    mean = [(p, p.mean(), np.abs(p - p.mean()).mean()) for p in parts]
    wanted = [np.where(p < m, m - d, m + d) for p, m, d in mean]
    codec = OneBit(chunk=chunk, zero_threshold=False)
    np.testing.assert_allclose(sent_by(codec, x), np.concatenate(wanted), rtol=1e-4, atol=1e-6)


def test_two_bit_sends_steps_as_mxnet_does():
    coder, x = TwoBit(0.5).coder(5), np.array([0.6, -0.5, 0.4, -1.2, 0.5], np.float32)
    message = coder.encode(x)
    assert message[12:].tolist() == [0b11_10_00_10, 0b11_000000]
    np.testing.assert_allclose(coder.residual, [0.1, 0, 0.4, -0.7, 0], atol=1e-7)
    assert decoded(TwoBit(0.5), coder.encode(0 * x), 5).tolist() == [0, 0, 0, -0.5, 0]


def test_threshold_lists_few_places():
    codec = Threshold(FixedThreshold(2.0))
    coder, x = codec.coder(1000), np.zeros(1000, np.float32)
    x[[3, 500, 999]] = 2, -5, 1.9
    message = coder.encode(x)
    assert struct.unpack("<4sIIfII", message) == (b"thr1", 1000, 0, 2.0, 3 * 2, 500 * 2 + 1)
    assert decoded(codec, message, 1000)[[3, 500, 999]].tolist() == [2, -2, 0]
    assert coder.residual[[3, 500]].tolist() == [0, -3]


def test_threshold_turns_to_two_bits_where_that_is_smaller():
    codec, x = Threshold(FixedThreshold(2.0)), np.zeros(1024, np.float32)
    x[:63] = 2
    assert len(codec.coder(1024).encode(x)) == 16 + 4 * 63
    x[63:67] = -2, -1, 1, -0.9
    coder = codec.coder(1024)
    message = coder.encode(x)
    assert len(message) == 16 + 1024 // 4
    assert decoded(codec, message, 1024)[62:67].tolist() == [2, -2, -1, 0, 0]
    np.testing.assert_allclose(coder.residual[62:67], [0, 0, 0, 1, -0.9])


def test_what_threshold_keeps_is_cut_every_fifth_message():
    coder = Threshold(FixedThreshold(1.0)).coder(1000)
    x = np.zeros(1000, np.float32)
    x[0] = 100
    kept = []
    for _ in range(11):
        coder.encode(x)
        kept.append(coder.residual[0])
    assert kept == [99, 198, 297, 396, 495, 5, 104, 203, 302, 401, 5]


def test_the_adaptive_threshold_moves_by_a_factor_of_two_in_twenty_messages():
    codec, n = Threshold(AdaptiveThreshold(initial=1.0), clip=None), 10_000
    coder = codec.coder(n)
    for _ in range(21):
        coder.encode(np.zeros(n, np.float32))  # too few entries
    assert coder.state()["last"][0] == pytest.approx(0.5)
    for _ in range(21):
        coder.encode(vector(n, scale=100))  # too many entries, from the second on
    assert coder.state()["last"][0] == pytest.approx(0.5 * 2**0.95)
    x = np.zeros(n, np.float32)
    x[:50] = 1e4
    steady = codec.coder(n)
    for _ in range(5):
        steady.encode(x)  # one in 200, as targeted
    assert steady.threshold == 1.0


def test_the_target_is_reached_and_held():
    codec, n = Threshold(TargetSparsity(initial=1.0, sparsity=1e-2), clip=None), 20_000
    coder, sparsity = codec.coder(n), []
    for step in range(150):
        coder.encode(vector(n, seed=step, scale=1e-2))
        sparsity.append(coder.state()["last"][1])
    assert 0.5e-2 < np.mean(sparsity[-40:]) < 2e-2


def test_the_threshold_neither_vanishes_nor_overflows():
    low = Threshold(AdaptiveThreshold(initial=1e-37, decay=0.5)).coder(10)
    for _ in range(20):
        low.encode(np.zeros(10, np.float32))
    assert 0 < low.threshold < 2e-38


def test_top_k_sends_the_largest_and_keeps_the_others():
    codec, x = TopK(0.4), np.array([1, -5, 2, 0, 3], np.float32)
    coder = codec.coder(5)
    assert decoded(codec, coder.encode(x), 5).tolist() == [0, -5, 0, 0, 3]
    assert coder.residual.tolist() == [1, 0, 2, 0, 0]
    assert decoded(codec, coder.encode(0 * x), 5).tolist() == [1, 0, 2, 0, 0]


@pytest.mark.parametrize("fraction", [0.001, 0.3, 1.0])
def test_top_k_agrees_with_a_sort(fraction):
    x = vector(50_000)
    order = np.argsort(-np.abs(x), kind="stable")[: int(np.ceil(fraction * len(x)))]
    wanted = np.zeros_like(x)
    wanted[order] = x[order]
    np.testing.assert_array_equal(sent_by(TopK(fraction), x), wanted)


def test_top_k_of_equal_numbers_sends_no_more_than_its_share():
    assert np.count_nonzero(sent_by(TopK(0.1), np.ones(100, np.float32))) == 10
