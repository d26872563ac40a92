"""Networks in bfloat16 learn as in float32; their vectors stay float32."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.engine.backends.memory import empty
from sparkdl.nn import (
    Activation,
    BatchNorm,
    Conv2D,
    Dense,
    EmbeddingSequence,
    Frozen,
    GraphBuilder,
    LayerNorm,
    MaxPool2D,
    NetworkConf,
    Output,
    Reshape,
    RnnOutput,
    TimeDistributed,
    zoo,
)
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.layers import Conv1DTranspose, Conv2DTranspose, Conv3DTranspose
from sparkdl.training.network import Network
from tests.nn.examples import ACTIVATIONS
from tests.nn.networks.test_graph import batch_of
from tests.support.tables import slow

BACKENDS = ["reference", "auto"]


def mixed():
    """Returns layers that compute in bfloat16, and one that does not."""
    layers = [
        Conv2D(filters=4, kernel_size=3, activation="relu"),
        BatchNorm(),
        MaxPool2D(size=2),
        Dense(units=6, activation="tanh"),
        LayerNorm(),
        Output(units=3),
    ]
    return NetworkConf(input_shape=(2, 6, 6), layers=layers, seed=2)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("conf", [mixed(), zoo.lenet()], ids=["mixed", "lenet"])
def test_the_gradient_points_where_that_of_float32_does(conf, backend, rng):
    batch = batch_of(conf, rng, 16)
    wide, narrow = Replica(conf, backend), Replica(replace(conf, dtype="bfloat16"), backend)
    losses = [replica.gradient(batch)[0] for replica in (wide, narrow)]
    assert losses[1] == pytest.approx(losses[0], rel=0.02)
    cosine = wide.grad @ narrow.grad / np.linalg.norm(wide.grad) / np.linalg.norm(narrow.grad)
    assert cosine > 0.99
    assert narrow.grad.dtype == narrow.params.dtype == np.float32


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_comes_out_is_float32(backend, rng):
    conf = replace(mixed(), dtype="bfloat16")
    found = Replica(conf, backend).forward(
        batch_of(conf, rng).features, ["conv2d_1", "layernorm_1", "output_1"]
    )
    assert {array.dtype.name for array in found.values()} == {"float32"}
    np.testing.assert_allclose(found["output_1"].sum(1), 1, rtol=1e-5)


OF_FROZEN = {  # a layer, and the shape of its input
    "rows": (Dense(units=5), (7,)),
    "images": (Conv2D(filters=3, kernel_size=2, activation="relu"), (2, 4, 5)),
    "steps": (TimeDistributed(layer=Dense(units=5)), (3, 7)),
}


@pytest.mark.parametrize("outside", [False, True], ids=["frozen", "each step frozen"])
@pytest.mark.parametrize("name", OF_FROZEN)
def test_frozen_layers_compute_in_bfloat16_as_others_do(name, outside, rng):
    layer, shape = OF_FROZEN[name]
    frozen = Frozen(layer=layer)
    if outside:
        shape = (2, *shape)
        layer, frozen = (TimeDistributed(layer=one) for one in (layer, frozen))
    x, found = rng.normal(size=(4, *shape)).astype(np.float32), []
    for one in (layer, frozen):
        build = GraphBuilder(features=shape)
        build.add(one, name="one")
        conf = build.conf(dtype="bfloat16", seed=3)
        found.append(Replica(conf, "reference").forward(x, ["one"])["one"])
    np.testing.assert_array_equal(*found)


def test_it_learns_a_batch(rng):
    conf = replace(zoo.lenet(), dtype="bfloat16")
    replica, batch = Replica(conf), batch_of(conf, rng, 16)
    losses = [replica.step(batch, 0.02, t) for t in range(1, 31)]
    assert losses[-1] < losses[0] / 4


def test_describe_tells_the_types():
    text = Replica(replace(zoo.lenet(), dtype="bfloat16")).describe(4)
    assert "Cast" in text


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("before", [Reshape(shape=(3, 1)), Activation("identity")], ids=str)
def test_indices_stay_exact_behind_layers_that_arrange_them(before, dtype):
    build = GraphBuilder(x=(3,))
    build.add(before)
    build.add(EmbeddingSequence(vocabulary_size=5000, units=4), name="rows")
    build.add(RnnOutput(units=2))
    network, indices = Network(build.conf(dtype=dtype)), [301, 2049, 4099]
    table = network.conf.params_layout.views(network.state.params)["rows/W"]
    rows = network.features(np.array([indices], np.float32), "rows")["rows"][0]
    np.testing.assert_allclose(rows, table[indices], rtol=0.01, atol=1e-6)


ABSENT = [{"scale": False}, {"shift": False}, {"scale": False, "shift": False}]
NORMS = {
    "rows": ((12,), lambda absent: [BatchNorm(**absent)]),
    "images": ((6, 4, 5), lambda absent: [BatchNorm(**absent)]),
    "sequences": ((7, 12), lambda absent: [BatchNorm(**absent), Dense(units=4)]),
    "rectified": ((16, 4, 5), lambda absent: [BatchNorm(**absent), Activation("relu")]),
    "debiased": ((12,), lambda absent: [BatchNorm(debias=True, **absent)]),
    "by example": ((12,), lambda absent: [LayerNorm(**absent)]),
}


@pytest.mark.parametrize("absent", ABSENT, ids=lambda absent: " and ".join(absent))
@pytest.mark.parametrize("name", NORMS)
def test_a_norm_without_scale_or_shift_is_the_reference_s(name, absent, rng):
    """Its stand-in is read as float32: a bfloat16 array would be read past its end."""
    in_shape, norm = NORMS[name]
    layers = [*norm(absent), Output(units=2)]
    conf = NetworkConf(input_shape=in_shape, layers=layers, dtype="bfloat16", seed=3)
    batch = batch_of(conf, rng, 16)
    first, second = (Replica(conf, backend) for backend in BACKENDS)
    losses = [replica.gradient(batch)[0] for replica in (first, second)]
    assert losses[1] == pytest.approx(losses[0], rel=0.02)
    np.testing.assert_allclose(second.grad, first.grad, 0, 0.02 * np.abs(first.grad).max())
    names = [place.name for place in conf.stack]
    expected, found = (replica.forward(batch.features, names) for replica in (first, second))
    for key, value in expected.items():
        np.testing.assert_allclose(found[key], value, 0.02, 0.02, err_msg=key)


@pytest.mark.parametrize("function", ACTIVATIONS, ids=str)
@pytest.mark.parametrize("kind", [slow(Conv1DTranspose), Conv2DTranspose, slow(Conv3DTranspose)])
def test_every_activation_follows_a_transposed_convolution(kind, function, rng):
    """Where oneDNN cannot fuse the activation, numpy computes it in float32."""
    layer = kind(filters=3, kernel_size=3, stride=2, activation=function)
    in_shape = (4, 2) if kind.axes == 1 else (2, *[3] * kind.axes)
    conf = NetworkConf(input_shape=in_shape, layers=[layer, Output(units=2)], dtype="bfloat16")
    x, name = batch_of(conf, rng, 2).features, conf.stack[0].name
    expected, found = (Replica(conf, b).forward(x, [name])[name] for b in BACKENDS)
    known = np.isfinite(expected)
    np.testing.assert_array_equal(np.isfinite(found), known)
    largest = np.abs(expected[known]).max()
    np.testing.assert_allclose(found[known], expected[known], 0.02, 0.02 * largest)


def filled_with_nan(size):
    memory = empty(size)
    memory[:] = 255
    return memory


ONE_WINDOW = {  # size of the image, kernel and stride; the next window would lie outside
    "fills": (1, 1, 2),
    "fills, larger": (3, 3, 2),
    "does not fill": (2, 1, 4),
}


@pytest.mark.parametrize("examples", [1, 2, 3])
@pytest.mark.parametrize("name", ONE_WINDOW)
def test_no_gradient_comes_from_memory_that_nobody_wrote(name, examples, rng, monkeypatch):
    monkeypatch.setattr("sparkdl.engine.backends.reference.empty", filled_with_nan)
    size, kernel, stride = ONE_WINDOW[name]
    stack = [Conv2D(filters=1, kernel_size=kernel, stride=stride), Output(units=2)]
    conf = NetworkConf(input_shape=(1, size, size), layers=stack, dtype="bfloat16")
    own, other = Replica(conf), Replica(conf, "reference")
    batch = batch_of(conf, rng, examples)
    for replica in (own, other):
        replica.gradient(batch)
    np.testing.assert_allclose(own.grad, other.grad, rtol=0.02, atol=1e-3)
