"""Attention: masks, causality, and errors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparkdl.data.batches.batch import Batch
from sparkdl.engine.backends import get
from sparkdl.engine.dtypes import BFLOAT16
from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn import (
    Dense,
    GraphBuilder,
    LearnedSelfAttention,
    MultiHeadAttention,
    PositionalEncoding,
    PositionEmbedding,
    RnnOutput,
    SelfAttention,
)
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.layers.core.run import Run
from tests.nn.support import label

LENGTHS = np.array([5, 2, 3])
MASK = (np.arange(5) < LENGTHS[:, None]).astype(np.float32)


def drawn(layer, in_shape, rng):
    return {n: rng.normal(size=s) for n, s in layer.param_shapes(in_shape).items()}


def in_use(*masks):
    return Run(training=False, seed=0, masks=masks)


@pytest.mark.slow
@pytest.mark.parametrize("causal", [False, True])
def test_without_weights_it_is_dot_product_attention(causal, rng, x64):
    layer = SelfAttention(project=False, causal=causal)
    x = rng.normal(size=(3, 5, 4))
    lengths = jnp.asarray(LENGTHS, jnp.int32)
    one_head = jnp.asarray(x)[:, :, None]
    theirs = jax.nn.dot_product_attention(
        one_head, one_head, one_head, is_causal=causal, key_value_seq_lengths=lengths
    )
    y = layer.forward({}, x, in_use(MASK))
    for i, length in enumerate(LENGTHS):
        np.testing.assert_allclose(
            y[i, :length], theirs[i, :length, 0], atol=1e-6
        )  # float32 internally


@pytest.mark.parametrize(
    "layer",
    [
        SelfAttention(heads=2),
        SelfAttention(heads=2, causal=True),
        LearnedSelfAttention(queries=2, heads=2),
    ],
    ids=str,
)
def test_padding_is_not_looked_at(layer, rng):
    x, params = rng.normal(size=(3, 5, 4)), drawn(layer, (5, 4), rng)
    y = layer.forward(params, x, in_use(MASK))
    for i, length in enumerate(LENGTHS):
        alone = layer.forward(params, x[i : i + 1, :length], in_use(None))
        np.testing.assert_allclose(y[i, : alone.shape[1]], alone[0], rtol=1e-12)


HOLED = {  # which of five steps are real
    "left": [0, 0, 1, 1, 1],
    "holes": [0, 1, 0, 0, 1],
    "last": [0, 0, 0, 0, 1],
    "none": [0, 0, 0, 0, 0],
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("name", HOLED)
def test_causal_steps_that_see_only_padding_mix_nothing(name, dtype, rng):
    layer, mask = SelfAttention(project=False, causal=True), np.array([HOLED[name]])
    x = rng.normal(size=(1, 5, 4)).astype(dtype)
    weights = np.exp(x[0] @ x[0].T / 2.0) * np.tri(5) * mask
    wanted = weights @ x[0] / np.maximum(weights.sum(1, keepdims=True), 1e-30)
    y = layer.forward({}, x, in_use(mask.astype(np.float32)))
    np.testing.assert_allclose(y[0], wanted, atol=1e-2 if dtype is np.float16 else 1e-5)


def test_the_mask_of_cross_attention_is_that_of_the_keys(rng):
    layer, shapes = MultiHeadAttention(heads=2), ((3, 4), (5, 2))
    params = drawn(layer, shapes, rng)
    queries, keys = (rng.normal(size=(3, *shape)) for shape in shapes)
    own = np.ones((3, 3), np.float32)
    y = layer.forward(params, (queries, keys), in_use(own, MASK))
    alone = layer.forward(params, (queries[1:2], keys[1:2, :2]), in_use(None, None))
    np.testing.assert_allclose(y[1], alone[0], rtol=1e-12)
    assert layer.out_mask((own, MASK), shapes) is own


def test_a_sequence_of_padding_gives_numbers(rng):
    layer = SelfAttention(causal=True)
    x, params = rng.normal(size=(3, 5, 4)), drawn(layer, (5, 4), rng)
    assert np.isfinite(layer.forward(params, x, in_use(np.zeros((3, 5), np.float32)))).all()


KINDS = [
    SelfAttention(heads=2),
    SelfAttention(project=False),
    LearnedSelfAttention(queries=2, heads=2),
]


@pytest.mark.parametrize("layer", KINDS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, BFLOAT16], ids=str)
def test_a_sequence_of_padding_gives_the_bias_whatever_it_holds(layer, dtype, rng):
    params = {n: p.astype(dtype) for n, p in drawn(layer, (5, 4), rng).items()}
    expected = np.zeros(4) if "Wo" not in params else params["bo"].astype(float)
    for scale in (1, 50):
        x = (scale * rng.normal(size=(3, 5, 4))).astype(dtype)
        y = layer.forward(params, x, in_use(np.zeros((3, 5), np.float32)))
        assert y.dtype == dtype
        np.testing.assert_array_equal(y.astype(float), np.broadcast_to(expected, y.shape))


def test_keys_of_padding_give_the_bias_whatever_they_hold(rng):
    layer, shapes = MultiHeadAttention(heads=2), ((3, 4), (5, 2))
    params = drawn(layer, shapes, rng)
    queries, keys = (rng.normal(size=(3, *shape)) for shape in shapes)
    y = layer.forward(params, (queries, keys), in_use(None, np.zeros((3, 5), np.float32)))
    np.testing.assert_array_equal(y, np.broadcast_to(params["bo"], y.shape))


def test_no_step_learns_of_later_ones(rng):
    layer = SelfAttention(heads=2, causal=True)
    x, params = rng.normal(size=(2, 6, 4)), drawn(layer, (6, 4), rng)
    y = layer.forward(params, x, in_use())
    x[:, 4:] += 1
    changed = layer.forward(params, x, in_use())
    np.testing.assert_array_equal(y[:, :4], changed[:, :4])
    assert (y[:, 4:] != changed[:, 4:]).all()


def test_a_summary_has_no_mask():
    assert LearnedSelfAttention(queries=2).out_mask(MASK, (5, 4)) is None
    assert SelfAttention().out_mask(MASK, (5, 4)) is MASK


def translator():
    """Returns a network with cross-attention between two sequences, each with a mask."""
    build = GraphBuilder(source=(5, 3), target=(4, 3))
    build.add(PositionalEncoding(), "source", name="placed")
    build.add(SelfAttention(heads=3, dropout=0.2), "placed", name="encoder")
    build.add(SelfAttention(heads=3, causal=True), "target", name="decoder")
    build.add(MultiHeadAttention(heads=3), "decoder", "encoder", name="cross")
    build.add(Dense(units=8, activation="gelu"), "cross", name="dense")
    build.add(RnnOutput(units=2), "dense", name="out")
    return build.conf(seed=1)


@pytest.mark.slow
@pytest.mark.skipif(get("auto").name != "onednn", reason="libdnnl is not here")
def test_backends_agree_on_a_step_of_training(rng):
    columns = {
        "source": rng.normal(size=(3, 5, 3)).astype(np.float32),
        "target": rng.normal(size=(3, 4, 3)).astype(np.float32),
        "source_mask": MASK,
        "labels": rng.integers(0, 2, (3, 4)).astype(np.int32),
    }
    batch = Batch(columns=columns, ids=np.arange(3, dtype=np.uint64))
    ours, plain = (Replica(translator(), backend=name) for name in ("onednn", "reference"))
    (loss, _), (expected, _) = ours.gradient(batch), plain.gradient(batch)
    assert loss == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(ours.grad, plain.grad, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("layer", [LearnedSelfAttention(queries=2, heads=2), PositionEmbedding()])
def test_what_is_no_weight_takes_the_type_of_the_input(layer, rng):
    params = {n: p.astype(np.float32) for n, p in drawn(layer, (5, 4), rng).items()}
    wide = layer.forward(params, rng.normal(size=(3, 5, 4)).astype(np.float32), in_use(MASK))
    params |= {name: params[name].astype(BFLOAT16) for name in layer.penalized}
    narrow = layer.forward(params, rng.normal(size=(3, 5, 4)).astype(BFLOAT16), in_use(MASK))
    assert (wide.dtype, narrow.dtype) == (np.float32, BFLOAT16)


REFUSED = [
    (lambda: SelfAttention(heads=0), "SelfAttention.heads must be an integer >= 1, got 0"),
    (lambda: SelfAttention(head_size=0), "head_size must be an integer >= 1 or None, got 0"),
    (lambda: SelfAttention(dropout=1), "SelfAttention.dropout must be a number in [0, 1), got 1"),
    (lambda: SelfAttention(causal=1), "SelfAttention.causal must be True or False, got 1"),
    (lambda: SelfAttention(project=None), "project must be True or False, got None"),
    (lambda: SelfAttention(project=False, heads=2), "must be 1 where nothing is projected"),
    (lambda: SelfAttention(project=False, units=2), "must be None where nothing is projected"),
    (lambda: LearnedSelfAttention(queries=0), "queries must be an integer >= 1, got 0"),
    (lambda: LearnedSelfAttention(queries=1, causal=True), "causal must be False"),
    (lambda: PositionalEncoding(period=1), "period must be a number above 1, got 1"),
    (lambda: PositionEmbedding(steps=0), "steps must be an integer >= 1 or None, got 0"),
]
MISFITS = [
    (SelfAttention(heads=3), (5, 4), "3 heads needs a width that they divide, got (5, 4)"),
    (SelfAttention(), (4,), "SelfAttention takes sequences (steps, features), got (4,)"),
    (MultiHeadAttention(), ((5, 4), (3, 4), (2, 4)), "needs a value for each key"),
    (MultiHeadAttention(), ((5, 4),) * 4, "takes one to three inputs, got 4"),
    (MultiHeadAttention(), ((5, 4), (4,)), "takes sequences (steps, features), got (4,)"),
    (MultiHeadAttention(causal=True), ((5, 4), (3, 4)), "needs as many keys as queries"),
    (PositionEmbedding(steps=3), (5, 4), "PositionEmbedding.steps must be at least 5, got 3"),
]


@pytest.mark.parametrize("make, message", REFUSED, ids=label)
def test_options_out_of_their_range_are_refused(make, message):
    with pytest.raises(ConfigError) as error:
        make()
    assert message in str(error.value)


@pytest.mark.parametrize("layer, in_shape, message", MISFITS, ids=label)
def test_shapes_that_do_not_fit_are_refused(layer, in_shape, message):
    with pytest.raises(ShapeError) as error:
        layer.out_shape(in_shape)
    assert message in str(error.value)
