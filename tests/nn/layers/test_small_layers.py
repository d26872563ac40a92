"""Small layers: errors, frozen parameters, and constant images."""

import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.engine import ops
from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn import AdamW, NetworkConf, layers
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.layers.core.run import Run
from tests.nn.support import label, value_and_gradients


@pytest.mark.slow
def test_an_image_without_contrast_becomes_0_and_has_a_gradient():
    layer, x = layers.MVN(), np.full((1, 1, 2, 3), 5.0)

    def loss(x):
        return ops.sum(layer.forward({}, x, Run(training=True, seed=0)))

    value, (grad,) = value_and_gradients(loss, x)
    assert value == 0 and np.isfinite(grad).all()


@pytest.mark.parametrize(
    "part",
    [
        layers.Dense(units=4, l2=0.5, activation="tanh"),
        layers.BatchNorm(),
        layers.PRelu(),
        layers.Dropout(),
    ],
    ids=str,
)
def test_a_frozen_layer_stays_as_it_is_while_the_others_learn(part, rng):
    conf = NetworkConf(
        input_shape=(3,),
        layers=[
            layers.Dense(units=4),
            layers.Frozen(layer=part, name="ice"),
            layers.Output(units=2),
        ],
        optimizer=AdamW(learning_rate=0.1, weight_decay=0.5),
        l2=0.1,
    )
    replica = Replica(conf)
    params, buffers = replica.params.copy(), replica.buffers.copy()
    features = rng.normal(2, 3, size=(8, 3)).astype(np.float32)
    columns = {"features": features, "labels": np.arange(8) % 2}
    batch = Batch(columns=columns, ids=np.arange(8, dtype=np.uint64))
    losses = [replica.step(batch, 0.1, t) for t in range(1, 6)]
    assert losses[-1] < losses[0]
    before, after = (conf.params_layout.views(p) for p in (params, replica.params))
    for name, value in after.items():
        same = np.array_equal(before[name], value)
        assert same == name.startswith("ice/"), name
    np.testing.assert_array_equal(replica.buffers, buffers)


def test_a_frozen_layer_takes_the_network_s_choices():
    frozen = layers.Frozen(layer=layers.Dense(units=2))
    conf = NetworkConf(
        input_shape=(3,), layers=[frozen, layers.Output(units=1, loss="mse")], activation="relu"
    )
    assert conf.stack[0].layer.layer.activation.type_name == "relu"
    assert NetworkConf.from_yaml(conf.to_yaml()) == conf


OPTIONS = [
    (
        lambda: layers.Frozen(layer=layers.Output(units=1, loss="mse")),
        "Frozen.layer must be no output layer",
    ),
    (lambda: layers.Affine(scale=False, shift=False), "Affine.shift must be True where scale is"),
    (lambda: layers.PRelu(shared="yes"), "PRelu.shared must be True or False, got 'yes'"),
    (lambda: layers.Reshape(shape=(-1, -1)), "Reshape.shape must be a tuple of integers >= 1, one"),
    (lambda: layers.Reshape(shape=(0,)), "Reshape.shape must be a tuple of integers >= 1, one of"),
    (lambda: layers.Permute(order=(1, 2)), "Permute.order must be the numbers from 0, each once"),
    (lambda: layers.Permute(order=()), "Permute.order must be the numbers from 0, each once"),
    (lambda: layers.RepeatVector(count=0), "RepeatVector.count must be an integer >= 1, got 0"),
    (lambda: layers.MVN(epsilon=0), "MVN.epsilon must be a number above 0, got 0"),
    (lambda: layers.MVN(across_channels=1), "MVN.across_channels must be True or False, got 1"),
]

SHAPES = [
    (layers.Affine(), (), "Affine takes at least rows of features, got ()"),
    (layers.PRelu(), (), "PRelu takes at least rows of features, got ()"),
    (layers.ElementWiseMultiplication(), (1, 2, 3), "takes rows of features (n,) or sequences"),
    (layers.Reshape(shape=(2, 2)), (5,), "Reshape to (2, 2) does not fit the 5 of (5,)"),
    (layers.Reshape(shape=(3, -1)), (5,), "Reshape to (3, -1) does not fit the 5 of (5,)"),
    (layers.Permute(order=(1, 0)), (5,), "Permute to (1, 0) needs as many axes, got (5,)"),
    (layers.RepeatVector(count=2), (5, 1), "RepeatVector takes rows of features (n,), got (5, 1)"),
    (layers.MVN(), (5,), "MVN takes images (channels, height, width), got (5,)"),
]


@pytest.mark.parametrize("make, message", OPTIONS, ids=label)
def test_refuses_options(make, message):
    with pytest.raises(ConfigError) as caught:
        make()
    assert message in str(caught.value)


@pytest.mark.parametrize("layer, in_shape, message", SHAPES, ids=str)
def test_refuses_shapes(layer, in_shape, message):
    with pytest.raises(ShapeError) as caught:
        layer.out_shape(in_shape)
    assert message in str(caught.value)
