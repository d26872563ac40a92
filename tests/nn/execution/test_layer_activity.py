"""Largest outputs of rectifiers, compared with the layers' full outputs."""

import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.nn import (
    Activation,
    Conv1D,
    Conv2D,
    Dense,
    Flatten,
    GlobalPool,
    MaxPool2D,
    NetworkConf,
    Output,
)
from sparkdl.nn.activations import ThresholdedRelu
from sparkdl.nn.execution.layer_activity import largest_outputs, rectified_layers
from sparkdl.nn.execution.replica import Replica

N = 5
IMAGES = [
    Conv2D(filters=4, kernel_size=3, activation="relu"),
    MaxPool2D(size=2),
    Flatten(),
    Dense(units=6, activation=ThresholdedRelu(threshold=0.5)),
    Dense(units=3, activation="tanh"),
    Activation(function="relu6"),
    Output(units=2),
]
SEQUENCES = [Conv1D(filters=4, kernel_size=3, activation="relu"), GlobalPool(), Output(units=2)]


@pytest.mark.parametrize(
    "shape, layers, axes",
    [
        ((2, 8, 8), IMAGES, {"conv2d_1": (0, 2, 3), "dense_1": (0,), "activation_1": (0,)}),
        ((7, 3), SEQUENCES, {"conv1d_1": (0, 1)}),
    ],
)
def test_they_are_the_largest_of_each_unit(shape, layers, axes, rng):
    conf = NetworkConf(input_shape=shape, layers=layers, seed=3)
    replica = Replica(conf)
    x = rng.normal(size=(N, *shape)).astype(np.float32)
    found = largest_outputs(replica, Batch.of(x))
    whole = replica.forward(x, tuple(axes))
    assert list(found) == list(axes) == [place.name for place in rectified_layers(conf)]
    for name, other in axes.items():
        np.testing.assert_allclose(found[name], whole[name].max(axis=other), rtol=1e-5)


def test_a_unit_whose_bias_is_far_below_zero_is_dead(rng):
    conf = NetworkConf(
        input_shape=(4,), layers=[Dense(units=5, activation="relu"), Output(units=2)]
    )
    replica = Replica(conf)
    replica.arrays()[0]["dense_1/b"][...] = [9, 9, -99, 9, -99]
    found = largest_outputs(replica, Batch.of(rng.normal(size=(N, 4)).astype(np.float32)))
    assert (found["dense_1"] > 0).tolist() == [True, True, False, True, False]


def test_a_network_without_rectifiers_has_none(rng):
    replica = Replica(NetworkConf(input_shape=(4,), layers=[Output(units=2)]))
    assert largest_outputs(replica, Batch.of(rng.normal(size=(N, 4)))) == {}
