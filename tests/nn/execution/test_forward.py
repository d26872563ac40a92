"""The forward pass of a whole network against jax, on arrays and as a graph."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparkdl.engine import ops
from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn import (
    BatchNorm,
    Dense,
    Dropout,
    GraphBuilder,
    NetworkConf,
    Output,
    Stack,
    Unstack,
    forward,
    initial_buffers,
    initial_params,
)
from tests.nn.example_networks import lenet, mixed
from tests.nn.layers.core.test_base import THEIRS
from tests.nn.support import value_and_gradients
from tests.nn.test_activations import THEIRS as ACTIVATED

IDS = np.array([3, 9, 1 << 41, 12], np.uint64)
EPOCH = 2


def arrays(conf, rng):
    """Returns float64 parameters and buffers, shifted from their initial values."""
    params = initial_params(conf).astype(float) + 0.1 * rng.normal(size=conf.parameter_count)
    buffers = initial_buffers(conf) + rng.uniform(0, 0.5, conf.buffers_layout.size)
    return conf.params_layout.views(params), conf.buffers_layout.views(buffers)


def in_jax(conf, params, buffers, x, training):
    """Computes the network in jax by composing the layers' references."""
    for place in conf.stack:
        own = [
            {n: a[f"{place.name}/{n}"] for n in names}
            for a, names in [(params, place.param_shapes), (buffers, place.buffer_shapes)]
        ]
        kind = place.layer.type_name
        if kind == "Conv2D":  # the references of the layers know relu only
            bare = type(place.layer).from_dict(place.layer.to_dict() | {"activation": None})
            function = place.layer.activation
            x = THEIRS[kind](bare, own[0], x, own[1], training)
            x = ACTIVATED[function.type_name](function, x)
        elif kind == "Dropout" and training:
            u = ops.uniform(IDS, EPOCH, x.shape[1:], conf.seed, place.index)
            x = x * (u >= np.float32(place.layer.rate)) / (1 - place.layer.rate)
        else:
            x = THEIRS[kind](place.layer, own[0], x, own[1], training)
    return x


@pytest.mark.parametrize("training", [True, False], ids=["training", "in use"])
@pytest.mark.parametrize("conf", [lenet(), mixed()], ids=["lenet", "mixed"])
def test_equals_jax(conf, training, rng, x64):
    params, buffers = arrays(conf, rng)
    x = rng.normal(size=(4, *conf.input_shape))
    out = forward(conf, params, buffers, x, training=training, ids=IDS, epoch=EPOCH)
    theirs = jax.jit(lambda params, x: in_jax(conf, params, buffers, x, training))(params, x)
    np.testing.assert_allclose(out.logits, theirs, rtol=1e-8, atol=1e-10)


def test_gradients_of_all_parameters_equal_those_of_jax(rng, x64):
    conf, labels = mixed(), np.array([0, 2, 1, 1])
    params, buffers = arrays(conf, rng)
    x = rng.normal(size=(4, *conf.input_shape))
    run = {"training": True, "ids": IDS, "epoch": EPOCH}

    def ours(*values):
        out = forward(conf, dict(zip(params, values, strict=True)), buffers, x, **run)
        return ops.mean(conf.loss.per_example(out.logits, labels))

    def theirs(params):
        log_p = jax.nn.log_softmax(in_jax(conf, params, buffers, jnp.asarray(x), True))
        return -log_p[jnp.arange(4), labels].mean()

    loss, grads = value_and_gradients(ours, *params.values())
    expected, wanted = jax.jit(jax.value_and_grad(theirs))(params)
    assert loss == pytest.approx(float(expected), rel=1e-9)
    for name, grad in zip(params, grads, strict=True):
        np.testing.assert_allclose(grad, wanted[name], rtol=1e-7, atol=1e-10)


def test_gives_the_layers_that_were_asked_for(rng):
    conf = mixed()
    params, buffers = arrays(conf, rng)
    x = rng.normal(size=(4, *conf.input_shape))
    out = forward(conf, params, buffers, x, outputs=["pooled", "output_1", "conv2d_1"])
    assert {name: y.shape for name, y in out.activations.items()} == {
        "pooled": (4, 6),
        "output_1": (4, 3),
        "conv2d_1": (4, 4, 5, 5),
    }
    np.testing.assert_allclose(out.activations["output_1"].sum(axis=1), 1)
    np.testing.assert_allclose(out.activations["output_1"], ops.softmax(out.logits))
    assert out.buffer_updates == {}


def test_gives_what_a_prediction_is_made_of(rng):
    conf = mixed()
    params, buffers = arrays(conf, rng)
    x = rng.normal(size=(2, *next(iter(conf.input_shapes.values()))))
    name = conf.output.name
    out = forward(conf, params, buffers, x, outputs=[name, f"{name}/z"])
    np.testing.assert_array_equal(out.activations[f"{name}/z"], out.logits)
    exponents = np.exp(out.logits)
    expected = exponents / exponents.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(out.activations[name], expected, rtol=1e-6)
    with pytest.raises(ConfigError, match="no layer 'dense/z'"):
        forward(conf, params, buffers, x, outputs=["dense/z"])


def test_training_gives_the_next_values_of_the_buffers(rng):
    conf = NetworkConf(input_shape=(3,), layers=[BatchNorm(momentum=0.5), Output(units=2)])
    params, buffers = arrays(conf, rng)
    x = rng.normal(size=(4, 3))
    updates = forward(conf, params, buffers, x, training=True).buffer_updates
    wanted = 0.5 * buffers["batchnorm_1/mean"] + 0.5 * x.mean(axis=0)
    np.testing.assert_allclose(updates["batchnorm_1/mean"], wanted)
    assert set(updates) == set(buffers)


def test_bytes_become_numbers_of_the_network(rng):
    conf = lenet()
    params = conf.params_layout.views(initial_params(conf))
    x = rng.integers(0, 256, (2, 1, 28, 28)).astype(np.uint8)
    out = forward(conf, params, {}, x).logits
    assert out.dtype == np.float32
    np.testing.assert_array_equal(out, forward(conf, params, {}, x.astype(np.float32)).logits)


def test_refuses_what_does_not_fit(rng):
    conf = lenet()
    params = conf.params_layout.views(initial_params(conf))
    with pytest.raises(ShapeError) as caught:
        forward(conf, params, {}, np.zeros((2, 784), np.float32))
    assert "the network needs ('batch', 1, 28, 28), got (2, 784)" in str(caught.value)
    with pytest.raises(ConfigError, match="no layer 'dens_1'; did you mean 'dense_1'?"):
        forward(conf, params, {}, np.zeros((2, 1, 28, 28), np.float32), outputs=["dens_1"])
    params, buffers = arrays(mixed(), rng)
    with pytest.raises(ConfigError, match="needs the ids of the examples"):
        forward(mixed(), params, buffers, np.zeros((2, 2, 5, 5)), training=True)


def test_more_copies_of_a_batch_than_ids_tell_apart_still_compute():
    build = GraphBuilder(x=(3,))
    copies = [build.add(Dense(units=2), "x") for _ in range(66)]
    build.add(Stack(), *copies)
    build.add(Dropout(rate=0.5))
    build.add(Unstack(index=65, count=66))
    build.add(Output(units=2))
    conf = build.conf()
    params = conf.params_layout.views(initial_params(conf))
    x = np.ones((4, 3), np.float32)
    assert forward(conf, params, {}, x, training=True, ids=IDS).logits.shape == (4, 2)
