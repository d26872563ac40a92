"""Contract of every layer: shapes, outputs and gradients against jax."""

from dataclasses import replace
from functools import cache
from math import prod

import jax
import numpy as np
import pytest

from sparkdl.engine import ops
from sparkdl.engine.gradient_check import check_gradients
from sparkdl.nn.layers import Dense, Layer
from sparkdl.nn.layers.core.run import Run
from tests.nn.examples import ACTIVATIONS
from tests.nn.layer_cases import LAYERS, THEIRS
from tests.nn.layer_cases.core import dense
from tests.nn.layer_cases.place import BATCH, EPOCH, IDS, SEED, STREAM
from tests.nn.support import value_and_gradients
from tests.support.tables import first_of_each, for_all, kind_of_layer, slow

BATCHWISE = {"Stack", "Unstack", "BatchReindex"}  # they change the batch: joining/test_stack.py
DRAWING = {"StochasticPool2D"}  # it takes no negative numbers: test_stochastic_pool.py
INDEXED = {"Embedding", "EmbeddingSequence"}  # they take integers
COMPARED = [row for row in LAYERS if row[0].type_name not in BATCHWISE | DRAWING]
STOPPING = {"Frozen", "StopGradient"}  # they block the gradient on purpose
DIFFERENTIATED = [row for row in COMPARED if row[0].type_name not in STOPPING]

rows = pytest.mark.parametrize(
    "row",
    first_of_each(range(len(COMPARED)), lambda row: kind_of_layer(COMPARED[row])),
    ids=[f"{layer}-{in_shape}" for layer, in_shape in COMPARED],
)


def drawn(shapes, rng):
    return {name: rng.uniform(0.5, 1.5, shape) for name, shape in shapes.items()}


def batch_of(layer, in_shape, draw):
    """Returns a tuple of arrays made by `draw(shape)`, one for each input."""
    shapes = in_shape if layer.multi_input else (in_shape,)
    arrays = tuple(draw((BATCH, *shape)) for shape in shapes)
    if getattr(layer, "operation", None) == "mask":
        arrays = arrays[0], np.maximum(arrays[1], 0)  # zeros hide
    return arrays if layer.type_name not in INDEXED else tuple(indices(layer, a) for a in arrays)


def indices(layer, array):
    """Maps `array` to valid indices plus 0.5: the layer takes the integer part."""
    return (np.floor(abs(3 * array)) % layer.vocabulary_size + 0.5).astype(array.dtype)


def given(layer, xs):
    """Returns the inputs in the form that the layer takes."""
    return xs if layer.multi_input else xs[0]


def reference(layer, *arguments):
    """Returns the other library's output; compiling the whole takes a fifth of the time."""
    return THEIRS[layer.type_name](layer, *arguments)


@cache
def theirs_of(row):
    """Returns the other library's ({training: y}, loss, gradients by inputs and parameters) for a
    row of COMPARED and the arguments that `asked` gives, all computed by one program."""
    layer, in_shape = COMPARED[row]
    params, xs, run, weights = asked(layer, in_shape)

    def loss(xs, params):
        y = reference(layer, params, given(layer, xs), run.buffers, True)
        return (y * weights).sum(), y

    @jax.jit
    def all_of(xs, params):
        (total, y), grads = jax.value_and_grad(loss, (0, 1), has_aux=True)(xs, params)
        in_use = reference(layer, params, given(layer, xs), run.buffers, False)
        return {True: y, False: in_use}, total, grads

    return all_of(xs, params)


def asked(layer, in_shape):
    """Returns (parameters, inputs, run, weights of the summed output), the same on every call."""
    rng = np.random.default_rng(12)
    params = drawn(layer.param_shapes(in_shape), rng)
    xs, run = batch_of(layer, in_shape, normal(rng)), run_of(layer, in_shape, rng)
    return params, xs, run, rng.normal(size=(BATCH, *layer.out_shape(in_shape)))


def normal(rng):
    return lambda shape: rng.normal(size=shape)


def apart(rng):
    """Draws well-separated numbers, none near 0, so that a finite difference crosses no kink."""

    def draw(shape):
        numbers = np.linspace(-3, 3.1, prod(shape)) + rng.uniform(0, 0.3 / prod(shape))
        return rng.permuted(numbers).reshape(shape)

    return draw


def run_of(layer, in_shape, rng, training=True):
    buffers = drawn(layer.buffer_shapes(in_shape), rng)
    options = {"seed": SEED, "stream": STREAM, "ids": IDS, "epoch": EPOCH}
    return Run(training=training, buffers=buffers, **options)


def test_every_layer_is_compared():
    ours = {n for n, c in Layer.members.items() if c.__module__.startswith("sparkdl.")}
    assert set(THEIRS) | BATCHWISE | DRAWING == ours


@rows
@pytest.mark.parametrize("training", [True, slow(False)], ids=["training", "in use"])
def test_equals_jax(row, training, x64):
    layer, in_shape = COMPARED[row]
    params, xs, run, _ = asked(layer, in_shape)
    y = layer.forward(params, given(layer, xs), replace(run, training=training))
    assert y.shape == (BATCH, *layer.out_shape(in_shape))
    np.testing.assert_allclose(y, theirs_of(row)[0][training], rtol=1e-9, atol=1e-12)


@rows
def test_gradients_equal_those_of_jax(row, x64):
    layer, in_shape = COMPARED[row]
    params, xs, run, weights = asked(layer, in_shape)
    count = len(xs)

    def ours(*arrays):
        values = dict(zip(params, arrays[count:], strict=True))
        return ops.sum(layer.forward(values, given(layer, arrays[:count]), run) * weights)

    loss, grads = value_and_gradients(ours, *xs, *params.values())
    _, expected, (theirs_xs, theirs_params) = theirs_of(row)
    assert loss == pytest.approx(float(expected), rel=1e-9)
    for grad, wanted in zip(grads[:count], theirs_xs, strict=True):
        np.testing.assert_allclose(grad, wanted, rtol=1e-7, atol=1e-10)
    for name, grad in zip(params, grads[count:], strict=True):
        np.testing.assert_allclose(grad, theirs_params[name], rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("layer, in_shape", DIFFERENTIATED, ids=str)
def test_gradients_equal_central_differences(layer, in_shape, rng):
    params = drawn(layer.param_shapes(in_shape), rng)
    xs, run = batch_of(layer, in_shape, apart(rng)), run_of(layer, in_shape, rng)

    def function(*arrays):
        values = dict(zip(params, arrays[len(xs) :], strict=True))
        return layer.forward(values, given(layer, arrays[: len(xs)]), run)

    check_gradients(function, *xs, *params.values())


def test_float32_stays_float32(rng):
    def check(row):
        layer, in_shape = row
        params = {
            n: p.astype(np.float32) for n, p in drawn(layer.param_shapes(in_shape), rng).items()
        }
        run = run_of(layer, in_shape, rng)
        run.buffers.update({n: b.astype(np.float32) for n, b in run.buffers.items()})
        xs = batch_of(layer, in_shape, lambda shape: rng.normal(size=shape).astype(np.float32))
        assert layer.forward(params, given(layer, xs), run).dtype == np.float32
        assert all(value.dtype == np.float32 for value in run.updates.values())

    for_all(COMPARED, check)


def test_every_parameter_and_buffer_has_a_first_value(rng):
    def check(row):
        layer, in_shape = row
        for name, shape in (layer.param_shapes(in_shape) | layer.buffer_shapes(in_shape)).items():
            assert layer.initial(name, shape, rng).shape == shape
        assert set(layer.penalized) <= set(layer.param_shapes(in_shape))

    for_all(COMPARED, check)


@pytest.mark.slow
def test_does_not_change_its_inputs(rng):
    def check(row):
        layer, in_shape = row
        params = drawn(layer.param_shapes(in_shape), rng)
        xs, run = batch_of(layer, in_shape, normal(rng)), run_of(layer, in_shape, rng)
        before = [a.copy() for a in (*xs, *params.values(), *run.buffers.values())]
        layer.forward(params, given(layer, xs), run)
        for old, new in zip(before, (*xs, *params.values(), *run.buffers.values()), strict=True):
            np.testing.assert_array_equal(old, new)

    for_all(COMPARED, check)


@pytest.mark.parametrize("function", ACTIVATIONS, ids=str)
def test_every_activation_may_follow_dense(function, rng, x64):
    layer = Dense(units=4, activation=function)
    sign = np.abs if function.type_name == "log" else np.array  # log needs positive numbers
    params = {"W": sign(rng.normal(size=(3, 4))), "b": sign(rng.normal(size=4))}
    x = sign(rng.normal(size=(2, 3)))
    y = layer.forward(params, x, None)
    np.testing.assert_allclose(y, dense(layer, params, x, {}, True), rtol=1e-9, atol=1e-12)
