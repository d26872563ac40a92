"""Normalization layers, and their jax equivalents."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from sparkdl.nn import layers

LAYERS = [
    (layers.LayerNorm(), (5,)),
    (layers.LayerNorm(epsilon=1e-3, shift=False), (3, 4)),
    (layers.LayerNorm(), (3, 2, 4)),
    (layers.LayerNorm(axes=(1, 2), scale=False), (3, 2, 4)),
    (layers.LayerNorm(axes=(0, -1)), (3, 2, 2, 4)),
    (layers.GroupNorm(groups=2), (4,)),
    (layers.GroupNorm(groups=3, epsilon=1e-3), (5, 6)),
    (layers.GroupNorm(groups=2, scale=False), (4, 3, 2)),
    (layers.GroupNorm(groups=3, shift=False), (3, 2, 2, 3)),
    (layers.RMSNorm(), (5,)),
    (layers.RMSNorm(epsilon=1e-3), (3, 4)),
    (layers.RMSNorm(), (4, 3, 2)),
    (layers.RMSNorm(scale=False), (3, 2, 2, 3)),
    (layers.LRN(), (7, 2, 3)),
    (layers.LRN(size=3, alpha=0.3, beta=0.5, k=2.0), (4, 2, 3)),
    (layers.LRN(size=3, alpha=5e-5, region="within_channel"), (2, 4, 5)),
]


def layer_norm(layer, params, x, buffers, training):
    axes = layer.axes if layer.axes is not None else 0 if x.ndim > 3 else x.ndim - 2
    axes = tuple(a % (x.ndim - 1) + 1 for a in np.atleast_1d(axes))
    wide = [n if i in axes else 1 for i, n in enumerate(x.shape)]
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    hat = (x - mean) / jnp.sqrt(variance + layer.epsilon)
    gamma = params["gamma"].reshape(wide) if layer.scale else 1
    return hat * gamma + (params["beta"].reshape(wide) if layer.shift else 0)


def group_norm(layer, params, x, buffers, training):
    axis = 1 if x.ndim > 3 else x.ndim - 1
    z = jnp.moveaxis(x, axis, 1)
    z = z.reshape(len(z), layer.groups, -1)
    z = z - z.mean(2, keepdims=True)
    z = z / jnp.sqrt((z * z).mean(2, keepdims=True) + layer.epsilon)
    z = jnp.moveaxis(z.reshape(jnp.moveaxis(x, axis, 1).shape), 1, axis)
    wide = [n if i == axis else 1 for i, n in enumerate(x.shape)]
    gamma = params["gamma"].reshape(wide) if layer.scale else 1
    return z * gamma + (params["beta"].reshape(wide) if layer.shift else 0)


def rms_norm(layer, params, x, buffers, training):
    """torch's rms_norm divides by the root of the mean square plus epsilon, too."""
    axis = 1 if x.ndim > 3 else x.ndim - 1
    wide = [n if i == axis else 1 for i, n in enumerate(x.shape)]
    y = x * lax.rsqrt(jnp.square(x).mean(axis, keepdims=True) + layer.epsilon)
    return y * (params["gamma"].reshape(wide) if layer.scale else 1)


def lrn(layer, params, x, buffers, training):
    n = layer.size
    window = (1, n, 1, 1) if layer.region == "across_channels" else (1, 1, n, n)
    sides = [(k // 2, k // 2) for k in window]
    total = lax.reduce_window(x * x, 0.0, lax.add, window, (1, 1, 1, 1), sides)
    return x / (layer.k + layer.alpha / np.prod(window) * total) ** layer.beta


THEIRS = {"GroupNorm": group_norm, "LayerNorm": layer_norm, "RMSNorm": rms_norm, "LRN": lrn}
