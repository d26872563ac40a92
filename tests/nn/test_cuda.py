"""Training on the "cuda" backend, through its host driver: numbers equal the reference's."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.nn import (
    Activation,
    Adam,
    Conv3D,
    Dense,
    Dropout,
    Momentum,
    NetworkConf,
    Output,
    RmsProp,
    Sgd,
)
from sparkdl.nn.execution.replica import Replica
from tests.nn.networks.test_graph import batch_of
from tests.support.cuda.on_host import use_host

LAYERS = [Dense(units=33, activation="relu"), Dropout(rate=0.2), Dense(units=17, activation="tanh")]
MLP = NetworkConf(input_shape=(20,), layers=[*LAYERS, Output(units=5)], seed=1)


@pytest.fixture(autouse=True)
def cuda(monkeypatch):
    use_host(monkeypatch)


def distance(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


def trained(conf, backend, rng, steps=5):
    """Returns (replica, losses) after `steps` steps, the last with a smaller batch."""
    replica, losses = Replica(conf, backend), []
    for t in range(1, steps + 1):
        batch = batch_of(conf, rng, 16 if t < steps else 7)
        losses.append(replica.step(batch, 0.02, t))
    return replica, losses


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("optimizer", [Sgd(), Momentum(), Adam(), RmsProp()], ids=repr)
def test_an_mlp_and_its_optimizers(optimizer, dtype):
    conf = replace(MLP, optimizer=optimizer, dtype=dtype)
    (own, losses), (other, expected) = (
        trained(conf, backend, np.random.default_rng(0)) for backend in ("cuda", "reference")
    )
    np.testing.assert_allclose(losses, expected, 1e-5)
    assert distance(own.params, other.params) < 1e-5
    if len(own.slots):  # a gradient rounded to a neighboring bfloat16 shows here first
        assert distance(own.slots, other.slots) < (1e-5 if dtype == "float32" else 1e-4)


@pytest.mark.parametrize("function", ["softmax", "log_softmax"])
def test_softmax_over_the_channels_of_volumes(function, rng):
    layers = [Conv3D(filters=3, kernel_size=1), Activation(function), Output(units=2)]
    conf = NetworkConf(input_shape=(2, 3, 2, 4), layers=layers)
    (own, losses), (other, expected) = (
        trained(conf, backend, np.random.default_rng(0), 2) for backend in ("cuda", "reference")
    )
    np.testing.assert_allclose(losses, expected, 1e-5)
    assert distance(own.params, other.params) < 1e-5


def test_a_step_is_a_gradient_and_an_update_to_the_bit(rng):
    whole, parts = (Replica(replace(MLP, optimizer=Adam()), "cuda") for _ in range(2))
    for t in range(1, 6):
        batch = batch_of(MLP, rng, 8)
        loss, _ = parts.gradient(batch)
        parts.apply(0.02, t)
        assert whole.step(batch, 0.02, t) == loss
        np.testing.assert_array_equal(whole.grad, parts.grad)
    np.testing.assert_array_equal(whole.params, parts.params)
    np.testing.assert_array_equal(whole.slots, parts.slots)


def test_what_is_written_on_the_host_counts(rng):
    own, other = Replica(MLP, "cuda"), Replica(MLP, "reference")
    batch = batch_of(MLP, rng, 8)
    for replica in (own, other):
        replica.gradient(batch)
        replica.grad *= 0.5
        replica.apply(0.1, 1)
        replica.params += 0.01
        replica.step(batch, 0.1, 2)
        replica.load(replica.params * 2, replica.buffers, replica.slots)
        replica.params = replica.params / 2
    assert distance(own.params, other.params) < 1e-6
    assert distance(own.grad, other.grad) < 1e-6
    assert own.params is own.params


def test_forward_losses_and_states_of_training(rng):
    own, other = Replica(MLP, "cuda"), Replica(MLP, "reference")
    batch = batch_of(MLP, rng, 9)
    names = ["dense_1", "output_1"]
    found, expected = (r.forward(batch.features, names) for r in (own, other))
    for name in names:
        np.testing.assert_allclose(found[name], expected[name], 1e-5, 1e-6)
    for a, b in zip(own.losses(batch), other.losses(batch), strict=True):
        np.testing.assert_allclose(a, b, 1e-5, 1e-6)


def test_parameters_are_told_as_their_gradients_become_final(rng):
    own, other, told = Replica(MLP, "cuda"), Replica(MLP, "reference"), []
    batch = batch_of(MLP, rng, 8)
    other.gradient(batch)
    expected = MLP.params_layout.views(other.grad)

    def check(name):
        view = MLP.params_layout.views(own.grad)[name]
        np.testing.assert_allclose(view, expected[name], 1e-4, 1e-6)
        told.append(name)

    for _ in range(3):
        own.gradient(batch, after={name: lambda name=name: check(name) for name in expected})
    assert sorted(told) == sorted(3 * list(expected)) and told[0].startswith("output")
