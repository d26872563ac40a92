"""Layers with randomness in training, and their jax equivalents.

Both use our random numbers; tests/engine/ops/test_random.py verifies those.
"""

import jax
import jax.numpy as jnp
import numpy as np

from sparkdl.engine import ops
from sparkdl.nn import layers
from tests.nn.layer_cases.place import EPOCH, IDS, SEED, STREAM

LAYERS = [
    (layers.SpatialDropout(rate=0.4), (5, 6)),
    (layers.SpatialDropout(), (6, 2, 3)),
    (layers.SpatialDropout(rate=0.2), (6, 2, 2, 2)),
    (layers.StochasticDepth(rate=0.4), (3,)),
    (layers.StochasticDepth(), (2, 3, 4)),
    (layers.AlphaDropout(rate=0.3), (20,)),
    (layers.GaussianDropout(rate=0.3), (20,)),
    (layers.GaussianNoise(std=0.5), (3, 4)),
    (layers.RRelu(), (20,)),
    (layers.RRelu(low=0.2, high=0.9), (2, 3, 4)),
]


def uniform(*shape):
    return ops.uniform(IDS, EPOCH, shape, SEED, STREAM)


def normal(*shape):
    return ops.normal(IDS, EPOCH, shape, SEED, STREAM)


def in_training(function):
    def layer(layer, params, x, buffers, training):
        return function(layer, x) if training else x

    return layer


@in_training
def spatial_dropout(layer, x):
    shape = (1, x.shape[2]) if x.ndim == 3 else (x.shape[1], *[1] * (x.ndim - 2))
    return x * (uniform(*shape) >= np.float32(layer.rate)) / (1 - layer.rate)


@in_training
def stochastic_depth(layer, x):
    kept = uniform(1).reshape(len(x), *[1] * (x.ndim - 1)) >= np.float32(layer.rate)
    return x * kept / (1 - layer.rate)


@in_training
def alpha_dropout(layer, x):
    """Keeps mean 0 and variance 1 for any dropped value and rate."""
    kept, low = 1 - layer.rate, -jax.nn.selu(-1e9) * -1
    mean = (1 - kept) * low
    variance = kept + (1 - kept) * low**2 - mean**2
    dropped = uniform(*x.shape[1:]) < np.float32(layer.rate)
    return (jnp.where(dropped, low, x) - mean) / jnp.sqrt(variance)


@in_training
def gaussian_dropout(layer, x):
    spread = np.float32(np.sqrt(layer.rate / (1 - layer.rate)))
    return x * (1 + normal(*x.shape[1:]) * spread)


def r_relu(layer, params, x, buffers, training):
    if not training:
        return jax.nn.leaky_relu(x, (layer.low + layer.high) / 2)
    slopes = uniform(*x.shape[1:]) * np.float32(layer.high - layer.low) + np.float32(layer.low)
    return jnp.where(x > 0, x, x * slopes)


THEIRS = {
    "SpatialDropout": spatial_dropout,
    "StochasticDepth": stochastic_depth,
    "AlphaDropout": alpha_dropout,
    "GaussianDropout": gaussian_dropout,
    "GaussianNoise": in_training(lambda layer, x: x + normal(*x.shape[1:]) * np.float32(layer.std)),
    "RRelu": r_relu,
}
