"""Activation functions against jax.nn, and their gradients against central differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparkdl.engine import ops
from sparkdl.errors import ConfigError
from sparkdl.nn.activations import ActivationFunction, Elu, HardSigmoid, LeakyRelu, Softmax
from tests.nn.examples import ACTIVATIONS
from tests.nn.support import label, value_and_gradients

THEIRS = {
    "cube": lambda f, x: x**3,
    "elu": lambda f, x: jax.nn.elu(x, f.alpha),
    "gelu": lambda f, x: jax.nn.gelu(x, approximate=False),
    "hard_sigmoid": lambda f, x: jnp.clip(f.slope * x + 0.5, 0, 1),
    "hard_tanh": lambda f, x: jax.nn.hard_tanh(x),
    "identity": lambda f, x: x,
    "leaky_relu": lambda f, x: jax.nn.leaky_relu(x, f.alpha),
    "relu": lambda f, x: jax.nn.relu(x),
    "relu6": lambda f, x: jax.nn.relu6(x),
    "selu": lambda f, x: jax.nn.selu(x),
    "sigmoid": lambda f, x: jax.nn.sigmoid(x),
    "softmax": lambda f, x: jax.nn.softmax(x, axis=-1),
    "softplus": lambda f, x: jax.nn.softplus(x),
    "softsign": lambda f, x: jax.nn.soft_sign(x),
    "swish": lambda f, x: jax.nn.swish(x),
    "tanh": lambda f, x: jnp.tanh(x),
}


def test_every_activation_is_compared():
    assert set(THEIRS) == set(ActivationFunction.members)


@pytest.mark.parametrize("function", ACTIVATIONS, ids=str)
def test_equals_jax(function, rng, x64):
    x = np.concatenate([rng.normal(size=(3, 8)) * 3, np.linspace(-40, 40, 16).reshape(2, 8)])
    theirs = THEIRS[function.type_name](function, jnp.asarray(x))
    np.testing.assert_allclose(function.apply(x), theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("function", ACTIVATIONS, ids=str)
def test_gradient_equals_that_of_jax(function, rng, x64):
    x, weights = rng.normal(size=(2, 4, 6)) * 2

    def theirs(x):
        return (THEIRS[function.type_name](function, x) * weights).sum()

    loss, (gx,) = value_and_gradients(lambda x: ops.sum(function.apply(x) * weights), x)
    assert loss == pytest.approx(float(theirs(x)), rel=1e-9)
    np.testing.assert_allclose(gx, jax.grad(theirs)(jnp.asarray(x)), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("function", ACTIVATIONS, ids=str)
def test_float32_stays_float32(function):
    y = function.apply(np.linspace(-3, 3, 8, dtype=np.float32).reshape(2, 4))
    assert y.dtype == np.float32 and y.shape == (2, 4)


def test_hard_sigmoid_is_that_of_jax_unless_told_otherwise(x64):
    x = np.linspace(-4, 4, 33)
    np.testing.assert_allclose(HardSigmoid().apply(x), jax.nn.hard_sigmoid(x), atol=1e-12)
    np.testing.assert_allclose(HardSigmoid(slope=0.2).apply(np.array([1.0, 3.0])), [0.7, 1.0])


def test_softmax_of_images_is_over_channels(rng, x64):
    x = rng.normal(size=(2, 3, 4, 5))
    np.testing.assert_allclose(Softmax().apply(x), jax.nn.softmax(x, axis=1), rtol=1e-12)


REFUSED = [
    (lambda: Elu(alpha=0), "Elu.alpha must be a number above 0, got 0"),
    (lambda: LeakyRelu(alpha=float("nan")), "LeakyRelu.alpha must be a finite number, got nan"),
    (lambda: HardSigmoid(slope="1"), "HardSigmoid.slope must be a number above 0, got '1'"),
]


@pytest.mark.parametrize("make, message", REFUSED, ids=label)
def test_refuses(make, message):
    with pytest.raises(ConfigError) as caught:
        make()
    assert message in str(caught.value)
