"""Layers that learn to reconstruct their inputs, and networks that contain them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparkdl.engine import ops
from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn import (
    AutoEncoder,
    Dense,
    Dropout,
    Frozen,
    GraphConf,
    NetworkConf,
    Output,
    Reconstruction,
    VariationalAutoencoder,
    Vertex,
    pretraining,
)
from sparkdl.nn.layers.core.run import Run
from tests.nn.support import label, value_and_gradients

N, WIDTH, SEED, STREAM, EPOCH = 3, 4, 5, 2, 4
IDS = np.array([7, 8, 1 << 40], np.uint64)


def run_of(training=True):
    return Run(training=training, seed=SEED, stream=STREAM, ids=IDS, epoch=EPOCH)


def drawn(layer, rng):
    return {name: rng.normal(size=shape) for name, shape in layer.param_shapes((WIDTH,)).items()}


def compared(layer, theirs, rng, training=True):
    """Compares the reconstruction loss and its gradients with `theirs(x, params)` in jax."""
    x, params = rng.uniform(0.1, 0.9, (N, WIDTH)), drawn(layer, rng)

    def ours(*arrays):
        values = dict(zip(params, arrays, strict=True))
        return ops.sum(layer.reconstruction_loss(values, x, run_of(training)))

    each = layer.reconstruction_loss(params, x, run_of(training))
    np.testing.assert_allclose(each, jax.jit(theirs)(x, params), rtol=1e-9)
    _, grads = value_and_gradients(ours, *params.values())
    expected = jax.jit(jax.grad(lambda p: theirs(x, p).sum()))(params)
    for name, grad in zip(params, grads, strict=True):
        np.testing.assert_allclose(grad, expected[name], rtol=1e-7, atol=1e-10)


def bernoulli(z, x):
    return (jnp.logaddexp(0, z) - x * z).sum(axis=-1)


@pytest.mark.slow
@pytest.mark.parametrize("training", [True, False])
def test_an_auto_encoder_gives_back_what_was_corrupted(training, rng, x64):
    kept = ops.uniform(IDS, EPOCH, (WIDTH,), SEED, STREAM) >= np.float32(0.4)
    assert 0 < kept.sum() < kept.size

    def theirs(x, p):
        y = jax.nn.sigmoid((x * kept if training else x) @ p["W"] + p["b"])
        return bernoulli(y @ p["W"].T + p["visible_b"], x)

    compared(AutoEncoder(units=3, corruption=0.4, activation="sigmoid"), theirs, rng, training)


def test_an_auto_encoder_of_other_values(rng, x64):
    def theirs(x, p):
        return ((jnp.tanh(jnp.tanh(x @ p["W"]) @ p["W"].T) - x) ** 2).mean(axis=1)

    options = {"activation": "tanh", "decoder_activation": "tanh", "loss": "mse", "bias": False}
    compared(AutoEncoder(units=3, corruption=0, **options), theirs, rng)


def part(p, name, x):
    return x @ p[f"{name}_W"] + p[f"{name}_b"]


def negative_bound(x, p, noise, nats):
    """Returns the decoder's -log p(x | z), averaged over draws, plus the KL divergence."""
    hidden = jnp.tanh(part(p, "encoder_0", x))
    mean, log_variance = part(p, "mean", hidden), part(p, "log_variance", hidden)
    z = mean + jnp.exp(log_variance / 2) * noise  # (draws, N, units)
    out = part(p, "output", jnp.tanh(part(p, "decoder_0", z)))
    divergence = (mean**2 + jnp.exp(log_variance) - log_variance - 1).sum(axis=1) / 2
    return nats(out, x).mean(axis=0) + divergence


def gaussian(out, x):
    mean, log_variance = out[..., :WIDTH], out[..., WIDTH:]
    return -jax.scipy.stats.norm.logpdf(x, mean, jnp.exp(log_variance / 2)).sum(axis=-1)


@pytest.mark.slow
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("samples", [1, 3])
@pytest.mark.parametrize("distribution", ["sigmoid_cross_entropy", "gaussian"])
def test_a_variational_auto_encoder_has_the_evidence_bound(
    distribution, samples, training, rng, x64
):
    layer = VariationalAutoencoder(
        units=2,
        encoder=(5,),
        decoder=(3,),
        activation="tanh",
        distribution=distribution,
        samples=samples,
    )
    noise = ops.normal(IDS, EPOCH, (samples, 2), SEED, STREAM).swapaxes(0, 1)
    noise = noise if training else np.zeros_like(noise)
    nats = gaussian if distribution == "gaussian" else bernoulli
    compared(layer, lambda x, p: negative_bound(x, p, noise, nats), rng, training)


def test_what_is_generated_is_the_prediction_of_the_distribution(rng):
    layer = VariationalAutoencoder(units=2, encoder=(5,), decoder=(3,), activation="tanh")
    params, z = drawn(layer, rng), rng.normal(size=(N, 2))
    out = part(params, "output", np.tanh(part(params, "decoder_0", z)))
    np.testing.assert_allclose(layer.generate(params, z), 1 / (1 + np.exp(-out)))


def deep(**options):
    layers = [
        Dense(units=5, name="first", activation="tanh", l2=0.5),
        Dropout(rate=0.5, name="drop"),
        AutoEncoder(units=3, name="code"),
        Output(units=2, name="out"),
    ]
    return NetworkConf(**{"input_shape": (WIDTH,), "layers": layers, "seed": 3} | options)


def test_the_network_of_a_layer_is_what_leads_to_it():
    part = pretraining(deep(activation="sigmoid", l1=0.1), "code")
    kinds = {place.name: type(place.layer) for place in part.stack}
    assert kinds == {"first": Frozen, "drop": Frozen, "code": Reconstruction}
    assert [name for name, _ in part.params_layout.entries] == [
        "first/W",
        "first/b",
        "code/W",
        "code/b",
        "code/visible_b",
    ]
    code = part.stack[-1].layer.layer
    assert (code.activation.type_name, code.l1) == ("sigmoid", 0.1)
    assert not part.outputs and part.label_columns == {}
    assert GraphConf.from_json(part.to_json()) == part


def test_of_a_graph_only_the_ancestors_are_there():
    vertices = [
        Vertex(name="left", layer=Dense(units=3), inputs="a"),
        Vertex(name="right", layer=Dense(units=3), inputs="b"),
        Vertex(name="again", layer=Dense(units=3), inputs="b", shares="left"),
        Vertex(name="code", layer=AutoEncoder(units=2), inputs="again"),
        Vertex(name="out", layer=Output(units=2), inputs="code"),
    ]
    graph = GraphConf(inputs={"a": (4,), "b": (4,)}, vertices=vertices)
    part = pretraining(graph, "code")
    assert [place.name for place in part.stack] == ["left", "again", "code"]
    assert list(part.input_shapes) == ["a", "b"]


REFUSED = [
    (lambda: pretraining(deep(), "cod"), "no layer 'cod' learns without labels; did you mean"),
    (lambda: pretraining(deep(), "first"), "no layer 'first' learns without labels"),
    (lambda: AutoEncoder(units=1, corruption=1.0), "corruption must be a number in [0, 1), got 1"),
    (lambda: AutoEncoder(units=1, loss="softmax_cross_entropy"), "AutoEncoder.loss must be a loss"),
    (lambda: AutoEncoder(units=1, loss="gaussian"), "AutoEncoder.loss must be a loss"),
    (lambda: VariationalAutoencoder(units=0), "VariationalAutoencoder.units must be an integer"),
    (lambda: VariationalAutoencoder(units=1, encoder=()), "one or more integers >= 1, got ()"),
    (lambda: VariationalAutoencoder(units=1, decoder=3), "one or more integers >= 1, got 3"),
    (
        lambda: (
            VariationalAutoencoder(units=1, distribution="hinge").distribution
            and VariationalAutoencoder(units=1, distribution="multiclass_hinge")
        ),
        "VariationalAutoencoder.distribution must be a loss of values",
    ),
    (lambda: Reconstruction(layer=Dense(units=1)), "layer must be a layer that reconstructs"),
]


@pytest.mark.parametrize("make, message", REFUSED, ids=label)
def test_refuses(make, message):
    with pytest.raises(ConfigError) as caught:
        make()
    assert message in str(caught.value)


@pytest.mark.parametrize("layer", [AutoEncoder(units=2), VariationalAutoencoder(units=2)], ids=str)
def test_sequences_are_refused(layer):
    with pytest.raises(ShapeError, match=r"takes rows of features \(n,\), got \(5, 4\)"):
        layer.out_shape((5, 4))
