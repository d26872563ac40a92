"""What every layer promises, asked of every layer: shapes, numbers and gradients against jax."""

from math import prod

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from sparkdl.engine import ops
from sparkdl.engine.check import check_gradients
from sparkdl.nn.layers import Dense, Layer
from sparkdl.nn.run import Run
from tests.nn.examples import ACTIVATIONS, LAYERS
from tests.nn.support import value_and_gradients
from tests.nn.test_activations import THEIRS as ACTIVATED

BATCH, SEED, STREAM, EPOCH = 3, 5, 2, 4
IDS = np.array([7, 1 << 40, (1 << 40) + 1], np.uint64)

cases = pytest.mark.parametrize("layer, in_shape", LAYERS, ids=str)


def drawn(shapes, rng):
    return {name: rng.uniform(0.5, 1.5, shape) for name, shape in shapes.items()}


def run_of(layer, in_shape, rng, training=True):
    buffers = drawn(layer.buffer_shapes(in_shape), rng)
    options = {"seed": SEED, "stream": STREAM, "ids": IDS, "epoch": EPOCH}
    return Run(training=training, buffers=buffers, **options)


# The same layers in jax: theirs(layer, params, x, buffers, training)


def dense(layer, params, x, buffers, training):
    y = x @ params["W"] + params.get("b", 0)
    function = getattr(layer, "activation", None)
    return y if function is None else ACTIVATED[function.type_name](function, y)


def sides(layer, in_shape):
    """Padding as lax takes it, from each layer's own words."""
    if layer.padding == "same":
        return "SAME"
    both = layer.padding if isinstance(layer.padding, tuple) else (layer.padding,) * 2
    return [side if isinstance(side, tuple) else (side, side) for side in both]


def two(value):
    return value if isinstance(value, tuple) else (value, value)


def conv2d(layer, params, x, buffers, training):
    y = lax.conv_general_dilated(
        x,
        params["W"],
        two(layer.stride),
        sides(layer, x.shape),
        rhs_dilation=two(layer.dilation),
        feature_group_count=layer.groups,
    )
    y = y + params["b"][:, None, None] if layer.bias else y
    return y if layer.activation is None else jax.nn.relu(y)


def windows(layer, x, start, combine):
    """reduce_window, with what `ceil` adds at the bottom and right put there first."""
    size, stride = two(layer.size), two(layer.size if layer.stride is None else layer.stride)
    padding = sides(layer, x.shape)
    if layer.rounding == "ceil":
        out = layer.out_shape(x.shape[1:])[1:]
        spans = [(m - 1) * s + k for m, s, k in zip(out, stride, size)]
        more = [span - n - sum(p) for span, n, p in zip(spans, x.shape[2:], padding)]
        padding = [(a, b + max(0, m)) for (a, b), m in zip(padding, more)]
    if padding != "SAME":
        padding = [(0, 0), (0, 0), *padding]
    return lax.reduce_window(x, start, combine, (1, 1, *size), (1, 1, *stride), padding)


def max_pool(layer, params, x, buffers, training):
    return windows(layer, x, -jnp.inf, lax.max)


def avg_pool(layer, params, x, buffers, training):
    if not layer.count_padding:
        return windows(layer, x, 0.0, lax.add) / windows(layer, jnp.ones_like(x), 0.0, lax.add)
    padding = [(0, 0), (0, 0), *sides(layer, x.shape)]
    x = jnp.pad(x, padding)
    bare = type(layer)(size=layer.size, stride=layer.stride, rounding=layer.rounding)
    return windows(bare, x, 0.0, lax.add) / windows(bare, jnp.ones_like(x), 0.0, lax.add)


def global_pool(layer, params, x, buffers, training):
    return {"avg": jnp.mean, "max": jnp.max, "sum": jnp.sum}[layer.kind](x, axis=(2, 3))


def batch_norm(layer, params, x, buffers, training):
    axes = (0, *range(2, x.ndim))
    shape = (1, -1, *[1] * (x.ndim - 2))
    mean, variance = (
        (x.mean(axes), x.var(axes)) if training else (buffers["mean"], buffers["variance"])
    )
    scale = params["gamma"] / jnp.sqrt(variance + layer.epsilon)
    return (x - mean.reshape(shape)) * scale.reshape(shape) + params["beta"].reshape(shape)


def dropout(layer, params, x, buffers, training):
    if not training:
        return x
    kept = ops.uniform(IDS, EPOCH, x.shape[1:], SEED, STREAM) >= np.float32(layer.rate)
    return x * kept / (1 - layer.rate)


def activation(layer, params, x, buffers, training):
    axis = 1 if x.ndim == 4 else -1
    return {"relu": jax.nn.relu, "softmax": lambda x: jax.nn.softmax(x, axis=axis)}[
        layer.function.type_name
    ](x)


THEIRS = {
    "Dense": dense,
    "Output": dense,
    "Conv2D": conv2d,
    "MaxPool2D": max_pool,
    "AvgPool2D": avg_pool,
    "GlobalPool": global_pool,
    "BatchNorm": batch_norm,
    "Dropout": dropout,
    "Activation": activation,
    "Flatten": lambda layer, params, x, buffers, training: x.reshape(len(x), -1),
}


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
