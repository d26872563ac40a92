"""Gradients of layers read from Keras, against Keras on JAX."""

import jax
import numpy as np
import pytest

from sparkdl.interop.keras import read_keras
from tests.interop.keras.layer_table import CASES, made
from tests.interop.keras.models import chain, drawn, keras, train
from tests.support.tables import for_all, in_parts

RATE = 0.1
OTHERWISE = {"GRU", "GRU back", "LSTM hard"}  # two trained biases; dropout
MOST = 2  # cases per class


def trained_cases():
    """Returns the names of the first cases of each class with weights."""
    classes, chosen = {}, []
    for name, (layer, _) in CASES.items():
        seen = classes.setdefault(layer.func.__name__, [])
        if len(seen) < MOST and name not in OTHERWISE and "bidirectional" not in name:
            seen.append(name)
            chosen.append(name)
    return [*chosen, "bidirectional last"]


def moved_by_keras(model, x, y):
    """Takes one step of the model's optimizer on the mean squared error.

    Compiling all gradients as one program takes less than half the time.
    """
    trained = [weight.value for weight in model.trainable_variables]
    others = [weight.value for weight in model.non_trainable_variables]

    def loss(values):
        z, _ = model.stateless_call(values, others, x, training=True)
        return keras.ops.mean(keras.ops.square(z - y))

    if trained:
        model.optimizer.apply(jax.jit(jax.grad(loss))(trained), model.trainable_variables)


@pytest.mark.slow
@pytest.mark.parametrize("names", in_parts(trained_cases(), quick=3))
def test_gradients_are_those_of_keras(names):
    def check(name):
        layer, shape = CASES[name]
        model = chain(made(layer), keras.layers.Flatten(), shape=shape)
        if not model.trainable_variables:
            return
        model.compile(keras.optimizers.SGD(RATE), "mse")
        x = drawn(2, 3, *shape)
        x = np.floor(np.abs(x) * 3) if name == "embedding" else x
        y = drawn(3, 3, *model.output_shape[1:])
        ours = read_keras(model).network
        train(ours, x, y, 1)
        moved_by_keras(model, x, y)
        theirs = read_keras(model).network.state.params
        np.testing.assert_allclose(ours.state.params, theirs, rtol=1e-4, atol=1e-5)

    for_all(names, check)
