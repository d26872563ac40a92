"""Batch normalization folded into the preceding layer: predictions equal the unfolded network's."""

import numpy as np
import pytest

from sparkdl.data.batches.batch import Batch
from sparkdl.nn import (
    Activation,
    BatchNorm,
    Conv1D,
    Conv2D,
    Dense,
    DepthwiseConv2D,
    Flatten,
    Frozen,
    GlobalPool,
    GraphBuilder,
    Merge,
    NetworkConf,
    Output,
)
from sparkdl.nn.execution.forward import forward
from sparkdl.nn.execution.replica import Replica

BACKENDS = ("reference", "onednn")
IMAGES, SEQUENCES = (3, 6, 6), (5, 4)


def image_conv(**options):
    return Conv2D(filters=4, kernel_size=3, **options)


STACKS = {
    "convolution": (IMAGES, [image_conv(bias=False), BatchNorm(), Activation("relu")]),
    "convolution with bias": (IMAGES, [image_conv(padding=1), BatchNorm(epsilon=1e-2)]),
    "groups": (IMAGES, [DepthwiseConv2D(kernel_size=3), BatchNorm()]),
    "dense": ((4,), [Dense(units=6), BatchNorm(), Activation("tanh")]),
    "dense over steps": (SEQUENCES, [Dense(units=6), BatchNorm(), GlobalPool()]),
    "convolution of sequences": (
        SEQUENCES,
        [Conv1D(filters=6, kernel_size=3), BatchNorm(), GlobalPool()],
    ),
    "first": (IMAGES, [BatchNorm(), image_conv(padding=1), Activation("relu")]),
    "first, then dense": ((4,), [BatchNorm(), Dense(units=6)]),
    "activation between": (IMAGES, [image_conv(), Activation("relu"), BatchNorm()]),
    "activated": (IMAGES, [image_conv(activation="relu"), BatchNorm()]),
    "flattened between": (IMAGES, [image_conv(), Flatten(), BatchNorm()]),
    "twice": (IMAGES, [image_conv(), BatchNorm(), BatchNorm(epsilon=0.1)]),
    "both sides": (IMAGES, [BatchNorm(), image_conv(), BatchNorm(), image_conv()]),
    "without factors": (IMAGES, [image_conv(), BatchNorm(scale=False, shift=False)]),
    "as Caffe's": (IMAGES, [image_conv(), BatchNorm(debias=True, scale=False)]),
    "frozen": (IMAGES, [Frozen(layer=image_conv()), Frozen(layer=BatchNorm())]),
}


def network(name, **options):
    shape, stack = STACKS[name]
    return NetworkConf(input_shape=shape, layers=[*stack, Output(units=3)], seed=2, **options)


def shared():
    """Returns a graph of a BatchNorm shared by two convolutions, one also used without it."""
    build = GraphBuilder(features=IMAGES)
    first = build.add(image_conv(), "features", name="first")
    norm = build.add(BatchNorm(), first, name="norm")
    second = build.add(image_conv(), "features", name="second")
    again = build.add(BatchNorm(), second, name="again", shares="norm")
    plain = build.add(image_conv(), "features", name="plain", shares="first")
    flat = [build.add(Flatten(), one) for one in (norm, again, plain)]
    build.add(Output(units=3), build.add(Merge(), *flat))
    return build.conf(seed=2)


def random_vectors(replica, rng):
    """Fills all arrays with values that no initializer gives; variances are above 0."""
    for name, view in [pair for views in replica.arrays() for pair in views.items()]:
        spread = rng.normal(size=view.shape)
        view[...] = np.abs(spread) + 0.5 if "variance" in name or "weight" in name else spread


def by_layers(replica, x, names=(), masks=None):
    """Returns the layers' activations, computed one by one in float64."""
    views = [{n: v.astype(float) for n, v in part.items()} for part in replica.arrays()]
    names = names or (replica.conf.output.name,)
    result = forward(replica.conf, *views, x.astype(float), outputs=names, masks=masks)
    return result.activations


def assert_layers(replica, x, rtol=1e-5):
    for name, y in by_layers(replica, x).items():
        np.testing.assert_allclose(replica.forward(x)[name], y, rtol=rtol, atol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", STACKS)
def test_predictions_are_those_of_the_layers(name, backend, rng):
    conf = network(name)
    replica = Replica(conf, backend)
    random_vectors(replica, rng)
    assert_layers(replica, rng.normal(size=(5, *conf.input_shape)).astype(np.float32))


@pytest.mark.parametrize("name", ["convolution", "dense", "dense over steps", "groups"])
def test_nothing_is_normalized_behind_a_product(name):
    conf = network(name)
    text = Replica(conf).program_in_use(4, [conf.output.name]).describe()
    assert "Normalize" not in text


def test_what_is_asked_for_between_is_there(rng):
    conf = network("convolution")
    replica = Replica(conf)
    random_vectors(replica, rng)
    x = rng.normal(size=(3, *IMAGES)).astype(np.float32)
    names = ("conv2d_1", "batchnorm_1")
    wanted, found = by_layers(replica, x, names), replica.forward(x, names)
    for name in names:
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-4, atol=1e-5)


def test_steps_that_a_mask_leaves_out(rng):
    conf = network("dense over steps")
    replica = Replica(conf)
    random_vectors(replica, rng)
    x = rng.normal(size=(3, *SEQUENCES)).astype(np.float32)
    mask = np.arange(5) < np.array([[5], [2], [3]])
    batch = Batch(columns={"features": x, "mask": mask.astype(np.float32)}, ids=np.arange(3))
    wanted = by_layers(replica, x, masks={"features": mask.astype(float)})
    for name, y in wanted.items():
        np.testing.assert_allclose(replica.forward(batch)[name], y, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["convolution with bias", "dense"])
def test_in_bfloat16_it_is_as_near_as_its_numbers(name, rng):
    conf = network(name, dtype="bfloat16")
    replica = Replica(conf)
    random_vectors(replica, rng)
    x = rng.normal(size=(5, *conf.input_shape)).astype(np.float32)
    exact = Replica(network(name))
    exact.load(replica.params, replica.buffers, exact.slots)
    found, wanted = replica.forward(x)["output_1"], exact.forward(x)["output_1"]
    np.testing.assert_allclose(found, wanted, atol=0.05)


def written(replica, rng):
    replica.params[...] = rng.normal(size=replica.params.shape)


def written_buffers(replica, rng):
    replica.buffers[...] = np.abs(rng.normal(size=replica.buffers.shape)) + 0.5


def assigned(replica, rng):
    replica.params = rng.normal(size=replica.params.shape).astype(np.float32)


def loaded(replica, rng):
    params = rng.normal(size=replica.params.shape).astype(np.float32)
    replica.load(params, replica.buffers.copy(), replica.slots.copy())


def viewed(replica, rng):
    replica.arrays()[0]["conv2d_1/W"][...] *= 2


def stepped(replica, rng):
    replica.step(batch_of(replica, rng), 0.1, 1)


def followed(replica, rng):
    """Runs a gradient pass, which alone moves the running statistics."""
    replica.gradient(batch_of(replica, rng))


def applied(replica, rng):
    replica.grad[...] = rng.normal(size=replica.grad.shape)
    replica.apply(0.1, 1)


CHANGES = (written, written_buffers, assigned, loaded, viewed, stepped, followed, applied)


def batch_of(replica, rng):
    x = rng.normal(size=(8, *replica.conf.input_shape)).astype(np.float32)
    columns = {"features": x, "labels": rng.integers(0, 3, 8).astype(np.int32)}
    return Batch(columns=columns, ids=np.arange(8, dtype=np.uint64))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("change", CHANGES)
def test_weights_that_change_count_at_once(change, backend, rng):
    replica = Replica(network("convolution with bias"), backend)
    x = rng.normal(size=(4, *IMAGES)).astype(np.float32)
    batch = batch_of(replica, rng)
    for _ in range(2):
        before, _ = replica.forward(x)["output_1"], replica.losses(batch)
        change(replica, rng)
        assert not np.array_equal(replica.forward(x)["output_1"], before)
        assert_layers(replica, x)
        wanted = by_layers(replica, batch.columns["features"])["output_1"]
        np.testing.assert_allclose(replica.losses(batch)[0], wanted, rtol=1e-4, atol=1e-5)


def test_predictions_do_not_drift(rng):
    replica = Replica(network("both sides"))
    random_vectors(replica, rng)
    x = rng.normal(size=(4, *IMAGES)).astype(np.float32)
    first = replica.forward(x)["output_1"]
    for _ in range(5):
        replica.load(replica.params.copy(), replica.buffers.copy(), replica.slots.copy())
        replica.forward(rng.normal(size=x.shape))
        np.testing.assert_array_equal(replica.forward(x)["output_1"], first)


@pytest.mark.parametrize("backend", BACKENDS)
def test_layers_that_share(backend, rng):
    replica = Replica(shared(), backend)
    random_vectors(replica, rng)
    x = rng.normal(size=(4, *IMAGES)).astype(np.float32)
    views = [{n: v.astype(float) for n, v in part.items()} for part in replica.arrays()]
    output = replica.conf.output.name
    wanted = forward(replica.conf, *views, x.astype(float), outputs=[output]).activations
    np.testing.assert_allclose(replica.forward(x)[output], wanted[output], rtol=1e-4, atol=1e-5)
