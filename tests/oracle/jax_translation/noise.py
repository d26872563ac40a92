"""Layers that are random in training; in inference they are the identity or use the expectation."""

import jax.numpy as jnp

from tests.oracle.jax_translation.seen import translates

DROPPING = ("Dropout", "SpatialDropout", "StochasticDepth", "AlphaDropout", "GaussianDropout")
RANDOM = (*DROPPING, "GaussianNoise", "RRelu", "StochasticPool2D")


@translates(*DROPPING, "GaussianNoise")
def as_it_is(layer, seen):
    return seen.x


@translates("RRelu")
def rrelu(layer, seen):
    return jnp.where(seen.x > 0, seen.x, (layer.low + layer.high) / 2 * seen.x)


def is_random(layer):
    """Returns whether a layer or its inner layer draws random numbers in training."""
    name = layer.type_name
    if name == "Frozen":
        return False
    if name in DROPPING:
        return layer.rate > 0
    if getattr(layer, "dropout", 0) > 0 or getattr(layer, "weight_noise", None) is not None:
        return True
    inner = getattr(layer, "layer", None)
    return name in RANDOM or (inner is not None and is_random(inner))
