"""Activation functions against jax.nn, and their gradients against central differences."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparkdl.engine import ops
from sparkdl.engine.backends import get
from sparkdl.errors import ConfigError
from sparkdl.nn import activations
from sparkdl.nn.activations import ActivationFunction, Elu, HardSigmoid, LeakyRelu, Softmax
from tests.nn.examples import ACTIVATIONS
from tests.nn.jax_activations import THEIRS
from tests.nn.support import label, value_and_gradients
from tests.support.gradients import value_and_grad


def allowed(function, x):
    """Returns x, made positive where the function is only defined there."""
    return np.abs(x) + 0.1 if function.type_name == "log" else x


def test_every_activation_is_compared():
    assert set(THEIRS) == set(ActivationFunction.members)


@pytest.mark.parametrize("function", ACTIVATIONS, ids=str)
def test_equals_jax(function, rng, x64):
    x = np.concatenate([rng.normal(size=(3, 8)) * 3, np.linspace(-40, 40, 16).reshape(2, 8)])
    x = allowed(function, x)
    theirs = jax.jit(partial(THEIRS[function.type_name], function))(jnp.asarray(x))
    np.testing.assert_allclose(function.apply(x), theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("function", ACTIVATIONS, ids=str)
def test_gradient_equals_that_of_jax(function, rng, x64):
    x, weights = rng.normal(size=(2, 4, 6)) * 2
    x = allowed(function, x)

    def theirs(x):
        return (THEIRS[function.type_name](function, x) * weights).sum()

    loss, (gx,) = value_and_gradients(lambda x: ops.sum(function.apply(x) * weights), x)
    expected, slope = jax.jit(jax.value_and_grad(theirs))(jnp.asarray(x))
    assert loss == pytest.approx(float(expected), rel=1e-9)
    np.testing.assert_allclose(gx, slope, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("function", ACTIVATIONS, ids=str)
def test_float32_stays_float32(function):
    x = np.linspace(-3, 3, 8, dtype=np.float32).reshape(2, 4)
    y = function.apply(allowed(function, x).astype(np.float32))
    assert y.dtype == np.float32 and y.shape == (2, 4)


def test_hard_sigmoid_is_that_of_jax_unless_told_otherwise(x64):
    x = np.linspace(-4, 4, 33)
    np.testing.assert_allclose(HardSigmoid().apply(x), jax.nn.hard_sigmoid(x), atol=1e-12)
    np.testing.assert_allclose(HardSigmoid(slope=0.2).apply(np.array([1.0, 3.0])), [0.7, 1.0])


# (function, x, y by hand)
BY_HAND = [
    (activations.RationalTanh(), 1.5, 1.7159 * (1 - 1 / (3 + 1.41645))),
    (activations.RationalTanh(), -1.5, -1.7159 * (1 - 1 / (3 + 1.41645))),
    (activations.ThresholdedRelu(), 1.0, 0),
    (activations.ThresholdedRelu(), 1.5, 1.5),
    (activations.Power(power=-0.5, shift=1.0, scale=3.0), 1.0, 0.5),
    (activations.Exp(base=2, shift=1, scale=3), 2.0, 128),
    (activations.Exp(base=0.5), 2.0, 0.25),
    (activations.Log(base=2, shift=2, scale=3), 2.0, 3),
    (activations.Log(), np.e, 1),
    (activations.Clip(low=-1, high=3), 4.0, 3),
]


@pytest.mark.parametrize("function, x, y", BY_HAND, ids=label)
def test_equals_what_is_computed_by_hand(function, x, y):
    np.testing.assert_allclose(function.apply(np.array([x])), [y], rtol=1e-12)


def test_rational_tanh_has_its_slope_at_0():
    _, (gx,) = value_and_gradients(lambda x: ops.sum(activations.RationalTanh().apply(x)), [0.0])
    np.testing.assert_allclose(gx, [1.7159 * 2 / 3])


@pytest.mark.parametrize("kind, largest", [("float16", 6e4), ("float32", 3e38)])
def test_rational_tanh_of_large_numbers_is_its_limit(kind, largest):
    def function(x):
        return ops.cast(activations.RationalTanh().apply(ops.cast(x, kind)), "float32")

    x = np.array([-largest, -30, 30, largest], np.float32)
    np.testing.assert_allclose(function(x), 1.7159 * np.sign(x), rtol=1e-3)
    _, (gx,) = value_and_grad(lambda x: ops.sum(function(x)))(x)
    np.testing.assert_allclose(gx, 0, atol=1e-3)


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3, 2, 4, 5)], ids=["images", "volumes"])
def test_softmax_of_images_and_volumes_is_over_channels(shape, rng, x64):
    x = rng.normal(size=shape)
    theirs = jax.nn.log_softmax(x, axis=1)
    np.testing.assert_allclose(activations.LogSoftmax().apply(x), theirs, rtol=1e-12)
    np.testing.assert_allclose(Softmax().apply(x), jax.nn.softmax(x, axis=1), rtol=1e-12)


@pytest.mark.parametrize("backend", sorted({"reference", get("auto").name}))
@pytest.mark.parametrize("function", [Softmax(), activations.LogSoftmax()], ids=str)
def test_backends_give_softmax_of_volumes_and_its_gradient_over_channels(function, backend, rng):
    x, weights = rng.normal(size=(2, 2, 3, 2, 4, 5)).astype(np.float32)

    def theirs(x):
        y = THEIRS[function.type_name](function, x.swapaxes(1, -1)).swapaxes(1, -1)
        return (y * weights).sum()

    ours = value_and_grad(lambda x: ops.sum(function.apply(x) * weights), backend=backend)
    loss, (gx,) = ours(x)
    assert loss == pytest.approx(float(theirs(x)), rel=1e-5)
    np.testing.assert_allclose(gx, jax.grad(theirs)(jnp.asarray(x)), rtol=1e-4, atol=1e-5)


REFUSED = [
    (lambda: Elu(alpha=0), "Elu.alpha must be a number above 0, got 0"),
    (lambda: LeakyRelu(alpha=float("nan")), "LeakyRelu.alpha must be a finite number, got nan"),
    (lambda: HardSigmoid(slope="1"), "HardSigmoid.slope must be a number above 0, got '1'"),
    (
        lambda: activations.ThresholdedRelu(threshold=-1),
        "ThresholdedRelu.threshold must be a number >= 0, got -1",
    ),
    (lambda: activations.Clip(low=2, high=1), "Clip.high must be a number above low (2), got 1"),
    (lambda: activations.Clip(low=None, high=1), "Clip.low must be a finite number, got None"),
    (lambda: activations.Power(power="2"), "Power.power must be a finite number, got '2'"),
    (lambda: activations.Exp(scale=True), "Exp.scale must be a finite number, got True"),
    (lambda: activations.Log(shift=None), "Log.shift must be a finite number, got None"),
    (lambda: activations.Exp(base=-1), "Exp.base must be a number above 0 or None, got -1"),
    (lambda: activations.Log(base=1), "Log.base must be a number above 0 but 1, or None for e"),
]


@pytest.mark.parametrize("make, message", REFUSED, ids=label)
def test_refuses(make, message):
    with pytest.raises(ConfigError) as caught:
        make()
    assert message in str(caught.value)
