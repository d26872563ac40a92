"""What every layer promises, asked of every layer: shapes, numbers and gradients against jax."""

from math import prod

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparkdl.engine import ops
from sparkdl.engine.check import check_gradients
from sparkdl.nn.layers import Dense, Layer
from sparkdl.nn.run import Run
from tests.nn.examples import ACTIVATIONS
from tests.nn.layer_cases import LAYERS, THEIRS
from tests.nn.layer_cases.core import dense
from tests.nn.layer_cases.place import BATCH, EPOCH, IDS, SEED, STREAM
from tests.nn.support import value_and_gradients

cases = pytest.mark.parametrize("layer, in_shape", LAYERS, ids=str)


def drawn(shapes, rng):
    return {name: rng.uniform(0.5, 1.5, shape) for name, shape in shapes.items()}


def run_of(layer, in_shape, rng, training=True):
    buffers = drawn(layer.buffer_shapes(in_shape), rng)
    options = {"seed": SEED, "stream": STREAM, "ids": IDS, "epoch": EPOCH}
    return Run(training=training, buffers=buffers, **options)


def test_every_layer_is_compared():
    ours = {n for n, c in Layer.members.items() if c.__module__.startswith("sparkdl.")}
    assert set(THEIRS) == ours


@cases
@pytest.mark.parametrize("training", [True, False], ids=["training", "in use"])
def test_equals_jax(layer, in_shape, training, rng, x64):
    params = drawn(layer.param_shapes(in_shape), rng)
    x, run = rng.normal(size=(BATCH, *in_shape)), run_of(layer, in_shape, rng, training)
    y = layer.forward(params, x, run)
    theirs = THEIRS[layer.type_name](layer, params, jnp.asarray(x), run.buffers, training)
    assert y.shape == (BATCH, *layer.out_shape(in_shape))
    np.testing.assert_allclose(y, theirs, rtol=1e-9, atol=1e-12)


@cases
def test_gradients_equal_those_of_jax(layer, in_shape, rng, x64):
    params = drawn(layer.param_shapes(in_shape), rng)
    x, run = rng.normal(size=(BATCH, *in_shape)), run_of(layer, in_shape, rng)
    weights = rng.normal(size=(BATCH, *layer.out_shape(in_shape)))

    def ours(x, *values):
        y = layer.forward(dict(zip(params, values, strict=True)), x, run)
        return ops.sum(y * weights)

    def theirs(x, params):
        return (THEIRS[layer.type_name](layer, params, x, run.buffers, True) * weights).sum()

    loss, (gx, *grads) = value_and_gradients(ours, x, *params.values())
    expected, (theirs_x, theirs_params) = jax.value_and_grad(theirs, (0, 1))(x, params)
    assert loss == pytest.approx(float(expected), rel=1e-9)
    np.testing.assert_allclose(gx, theirs_x, rtol=1e-7, atol=1e-10)
    for name, grad in zip(params, grads, strict=True):
        np.testing.assert_allclose(grad, theirs_params[name], rtol=1e-7, atol=1e-10)


@cases
def test_gradients_equal_central_differences(layer, in_shape, rng):
    params = drawn(layer.param_shapes(in_shape), rng)
    # all numbers differ by far more than the step, and none is near 0: no kink is crossed
    x = rng.permuted(np.linspace(-3, 3.1, BATCH * prod(in_shape))).reshape(BATCH, *in_shape)
    run = run_of(layer, in_shape, rng)

    def function(x, *values):
        return layer.forward(dict(zip(params, values, strict=True)), x, run)

    check_gradients(function, x, *params.values())


@cases
def test_float32_stays_float32(layer, in_shape, rng):
    params = {n: p.astype(np.float32) for n, p in drawn(layer.param_shapes(in_shape), rng).items()}
    run = run_of(layer, in_shape, rng)
    run.buffers.update({n: b.astype(np.float32) for n, b in run.buffers.items()})
    x = rng.normal(size=(BATCH, *in_shape)).astype(np.float32)
    assert layer.forward(params, x, run).dtype == np.float32
    assert all(value.dtype == np.float32 for value in run.updates.values())


@cases
def test_every_parameter_and_buffer_has_a_first_value(layer, in_shape, rng):
    for name, shape in (layer.param_shapes(in_shape) | layer.buffer_shapes(in_shape)).items():
        assert layer.initial(name, shape, rng).shape == shape
    assert set(layer.penalized) <= set(layer.param_shapes(in_shape))


@cases
def test_does_not_change_its_inputs(layer, in_shape, rng):
    params = drawn(layer.param_shapes(in_shape), rng)
    x, run = rng.normal(size=(BATCH, *in_shape)), run_of(layer, in_shape, rng)
    before = [a.copy() for a in (x, *params.values(), *run.buffers.values())]
    layer.forward(params, x, run)
    for old, new in zip(before, (x, *params.values(), *run.buffers.values()), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("function", ACTIVATIONS, ids=str)
def test_every_activation_may_follow_dense(function, rng, x64):
    layer = Dense(units=4, activation=function)
    sign = np.abs if function.type_name == "log" else np.array  # a logarithm is of numbers above 0
    params = {"W": sign(rng.normal(size=(3, 4))), "b": sign(rng.normal(size=4))}
    x = sign(rng.normal(size=(2, 3)))
    y = layer.forward(params, x, None)
    np.testing.assert_allclose(y, dense(layer, params, x, {}, True), rtol=1e-9, atol=1e-12)
