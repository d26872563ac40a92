"""Windows over masked sequences: padding has no influence, and the output mask is right."""

import numpy as np
import pytest

from sparkdl.engine import compile
from sparkdl.engine.gradient_check import check_gradients
from sparkdl.nn import NetworkConf, forward, initial_params, layers
from sparkdl.nn.layers.core.run import Run
from tests.engine.support import feeds, trace

# (layer, input mask, output mask), counted by hand
MASKS = [
    (layers.Conv1D(filters=2, kernel_size=2), [1, 1, 1, 0, 0], [1, 1, 1, 0]),
    (layers.Conv1D(filters=2, kernel_size=3, padding="same"), [1, 1, 1, 0, 0], [1, 1, 1, 0, 0]),
    (layers.Conv1D(filters=2, kernel_size=3, padding="causal"), [1, 1, 1, 0, 0], [1, 1, 1, 0, 0]),
    (layers.Conv1D(filters=2, kernel_size=2, stride=2), [1, 1, 1, 0, 0, 0], [1, 1, 0]),
    (layers.Conv1D(filters=2, kernel_size=2, dilation=3), [0, 0, 1, 0, 0, 0], [0, 0, 1]),
    (layers.Conv1D(filters=2, kernel_size=3, stride=3, padding=1), [1, 1, 0, 0, 0, 0], [1, 0]),
    (layers.Conv1D(filters=2, kernel_size=1, padding=2), [1, 1, 0], [1, 1, 1, 1, 0, 0, 0]),
    (layers.Conv1D(filters=2, kernel_size=2, padding=(0, 3)), [1, 1, 0], [1, 1, 0, 0, 0]),
    (layers.Conv1D(filters=2, kernel_size=2, dilation=4, padding=2), [1, 1], [1, 1]),
    (layers.DepthwiseConv1D(kernel_size=1, padding=(1, 2)), [1, 0], [1, 1, 0, 0, 0]),
    (layers.LocallyConnected1D(filters=2, kernel_size=1, padding=1), [1, 0], [1, 1, 0, 0]),
    (layers.MaxPool1D(size=2, stride=1, padding=1), [1, 0, 0], [1, 1, 0, 0]),
    (layers.SeparableConv1D(filters=2, kernel_size=2), [1, 1, 1, 0, 0], [1, 1, 1, 0]),
    (layers.DepthwiseConv1D(kernel_size=2, stride=2), [0, 1, 0, 0], [1, 0]),
    (layers.MaxPool1D(size=2), [1, 1, 1, 0, 0, 0], [1, 1, 0]),
    (layers.MaxPool1D(size=2, rounding="ceil"), [1, 1, 1, 0, 0], [1, 1, 0]),
    (layers.AvgPool1D(size=2, stride=1), [1, 1, 0, 0], [1, 1, 0]),
    (layers.LpPool1D(size=3, stride=1, padding="same"), [1, 0, 0, 0], [1, 1, 0, 0]),
    (layers.Conv1DTranspose(filters=2, kernel_size=2), [1, 1, 0, 0], [1, 1, 1, 0, 0]),
    (layers.Conv1DTranspose(filters=2, kernel_size=2, stride=2), [1, 0, 1], [1, 1, 0, 0, 1, 1]),
    (layers.LocallyConnected1D(filters=2, kernel_size=2), [1, 1, 1, 0, 0], [1, 1, 1, 0]),
]
cases = pytest.mark.parametrize("layer, mask, after", MASKS, ids=str)


def masked(layer, mask, rng):
    """Returns (params, x, Run) of two examples with the given mask."""
    in_shape = (len(mask), 3)
    shapes = layer.param_shapes(in_shape)
    params = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    run = Run(training=True, seed=0, masks=(np.array([mask, mask], float),))
    return params, rng.normal(size=(2, *in_shape)), run


@cases
def test_mask_of_the_output(layer, mask, after, rng):
    _, x, run = masked(layer, mask, rng)
    found = layer.out_mask(run.mask, x.shape[1:])
    np.testing.assert_array_equal(found, [after, after])
    assert len(after) == layer.out_shape(x.shape[1:])[0]
    assert layer.out_mask(None, x.shape[1:]) is None


@cases
def test_steps_that_are_padding_change_nothing(layer, mask, after, rng):
    params, x, run = masked(layer, mask, rng)
    other = np.where(np.array(mask)[:, None] > 0, x, 100 * rng.normal(size=x.shape))
    y, z = layer.forward(params, x, run), layer.forward(params, other, run)
    np.testing.assert_array_equal(y, z)
    assert np.isfinite(y).all() and np.abs(y).max() < 1e6


@cases
def test_a_mask_of_ones_is_as_good_as_none(layer, mask, after, rng):
    params, x, _ = masked(layer, mask, rng)
    run = Run(training=True, seed=0, masks=(np.ones(x.shape[:2]),))
    bare = Run(training=True, seed=0)
    np.testing.assert_array_equal(layer.forward(params, x, run), layer.forward(params, x, bare))
    assert np.all(layer.out_mask(run.mask, x.shape[1:]))


@pytest.mark.parametrize("layer", [layers.MaxPool1D(size=3), layers.MaxPool1D(size=2, stride=1)])
def test_padding_never_wins_a_maximum(layer, rng):
    x = -1 - rng.random((1, 6, 2))
    run = Run(training=True, seed=0, masks=(np.array([[1.0, 1, 0, 0, 0, 0]]),))
    y = layer.forward({}, x, run)
    np.testing.assert_array_equal(y[0, 0], x[0, :2].max(axis=0))
    np.testing.assert_array_equal(y[0, -1], 0)


MOVED = [
    (layers.UpSampling1D(size=2), [1, 1, 0], [1, 1, 1, 1, 0, 0]),
    (layers.Cropping1D(amount=(1, 2)), [1, 1, 0, 0], [1]),
    (layers.ZeroPadding1D(amount=(2, 1)), [1, 1, 0], [1, 1, 1, 1, 0, 0]),
    (layers.ZeroPadding1D(amount=(1, 1)), [0, 1], [0, 0, 1, 1]),
    (layers.Subset(axis=0, start=1, stop=4), [1, 1, 0, 0], [1, 0, 0]),
    (layers.Subset(axis=0, start=0, stop=3), [1, 1, 0], [1, 1, 0]),
    (layers.Subset(start=1, stop=3), [1, 1, 0], [1, 1, 0]),
]


@pytest.mark.parametrize("layer, mask, after", MOVED, ids=str)
def test_mask_moves_with_the_steps(layer, mask, after, rng):
    _, x, run = masked(layer, mask, rng)
    np.testing.assert_array_equal(layer.out_mask(run.mask, x.shape[1:]), [after, after])
    assert len(after) == layer.out_shape(x.shape[1:])[0]
    assert layer.out_mask(None, x.shape[1:]) is None


@pytest.mark.parametrize("kind", ["avg", "max", "sum", "lp"])
def test_global_pooling_sees_the_steps_that_are_there(kind, rng):
    layer, x = layers.GlobalPool(kind=kind), -1 - rng.random((3, 5, 2))
    mask = np.array([[1.0, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0]])
    y = layer.forward({}, x, Run(training=True, seed=0, masks=(mask,)))
    bare = Run(training=True, seed=0)
    np.testing.assert_allclose(y[0], layer.forward({}, x[:1], bare)[0], rtol=1e-12)
    np.testing.assert_allclose(y[1], layer.forward({}, x[1:2, :2], bare)[0], rtol=1e-12)
    np.testing.assert_array_equal(y[2], 0)
    assert layer.out_mask(mask, (5, 2)) is None


@pytest.mark.parametrize("kind", ["avg", "max", "sum", "lp"])
def test_gradients_of_masked_global_pooling(kind, rng):
    mask = np.array([[1.0, 1, 0, 0], [1, 1, 1, 1]])
    run = Run(training=True, seed=0, masks=(mask,))
    layer = layers.GlobalPool(kind=kind)
    check_gradients(lambda x: layer.forward({}, x, run), rng.normal(size=(2, 4, 3)))


def test_a_network_over_masked_sequences_does_not_see_their_padding(rng):
    """Appending padding to the same examples leaves their scores unchanged."""
    stack = [
        layers.Conv1D(filters=4, kernel_size=3, padding="same", activation="relu"),
        layers.MaxPool1D(size=2, rounding="ceil"),
        layers.SeparableConv1D(filters=3, kernel_size=2, padding="causal"),
        layers.GlobalPool(),
        layers.Output(units=2),
    ]
    short, long = (NetworkConf(input_shape=(steps, 3), layers=stack) for steps in (6, 10))
    params = short.params_layout.views(initial_params(short).astype(float))
    x, mask = rng.normal(size=(2, 10, 3)), np.array([[1.0] * 6 + [0] * 4, [1.0] * 3 + [0] * 7])
    name = next(iter(short.input_shapes))
    few = forward(short, params, {}, x[:, :6], masks={name: mask[:, :6]})
    more = forward(long, params, {}, x, masks={name: mask})
    np.testing.assert_allclose(few.logits, more.logits, rtol=1e-12)


@pytest.mark.parametrize("layer, mask", [row[:2] for row in [*MASKS, *MOVED]], ids=str)
def test_compiled_they_do_the_same(layer, mask, rng):
    params, x, run = masked(layer, mask, rng)
    arrays = [np.asarray(a, np.float32) for a in (x, run.mask, *params.values())]

    def function(x, mask, *values):
        run = Run(training=True, seed=0, masks=(mask,))
        y = layer.forward(dict(zip(params, values, strict=True)), x, run)
        return y, layer.out_mask(mask, tuple(x.shape[1:]))

    graph = trace(function, *arrays)
    found = compile(graph, "auto").run(feeds(arrays))
    for value, expected in zip(found.values(), function(*arrays), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5)
