"""Small layers, with and without parameters, and their jax equivalents."""

import jax
import jax.numpy as jnp
import numpy as np

from sparkdl.nn import layers
from tests.nn.jax_activations import THEIRS as ACTIVATED
from tests.nn.layer_cases.core import THEIRS as CORE

LAYERS = [
    (layers.Affine(), (4,)),
    (layers.Affine(shift=False), (2, 4)),
    (layers.Affine(scale=False), (3, 2, 4)),
    (layers.Affine(scale_initializer="he"), (2, 2, 3, 2)),
    (layers.Affine(axis=1, axes=2), (3, 2, 4)),
    (layers.Affine(axis=0, shift=False), (3, 4)),
    (layers.Affine(axes=0), (3, 2, 4)),
    (layers.ElementWiseMultiplication(), (4,)),
    (layers.ElementWiseMultiplication(bias=False, activation="tanh"), (3, 4)),
    (layers.PRelu(), (4,)),
    (layers.PRelu(), (3, 2, 4)),
    (layers.PRelu(shared=True, initializer="zeros"), (2, 4)),
    (layers.Reshape(shape=(3, -1)), (2, 6)),
    (layers.Reshape(shape=(2, 2)), (4,)),
    (layers.Permute(order=(1, 0)), (3, 4)),
    (layers.Permute(order=(2, 0, 1)), (2, 3, 4)),
    (layers.RepeatVector(count=3), (4,)),
    (layers.MVN(), (2, 3, 4)),
    (layers.MVN(across_channels=True, epsilon=1e-3), (2, 3, 4)),
    (layers.MVN(normalize_variance=False), (2, 3, 4)),
    (layers.StopGradient(), (2, 3)),
    (layers.Frozen(layer=layers.Dense(units=3)), (4,)),
    (layers.Frozen(layer=layers.BatchNorm()), (3, 2, 2)),
    (layers.Frozen(layer=layers.Dropout(rate=0.4)), (5,)),
]


def wide(values, x):
    channel = 1 if x.ndim > 3 else x.ndim - 1
    return values.reshape([x.shape[i] if i == channel else 1 for i in range(x.ndim)])


def spread(layer, values, x):
    if layer.axis is None and layer.axes == 1:
        return wide(values, x)
    behind = x.ndim - 1 - (layer.axis or 0) - layer.axes
    return values.reshape(values.shape + (1,) * behind) if layer.axes else values


def affine(layer, params, x, buffers, training):
    y = x * spread(layer, params["gamma"], x) if layer.scale else x
    return y + spread(layer, params["beta"], x) if layer.shift else y


def multiplication(layer, params, x, buffers, training):
    y = x * params["W"] + params.get("b", 0)
    return y if layer.activation is None else ACTIVATED[layer.activation.type_name](None, y)


def prelu(layer, params, x, buffers, training):
    alpha = params["alpha"][0] if layer.shared else wide(params["alpha"], x)
    return jnp.maximum(x, 0) + alpha * jnp.minimum(x, 0)


def mvn(layer, params, x, buffers, training):
    axes = (1, 2, 3) if layer.across_channels else (2, 3)
    centered = x - x.mean(axes, keepdims=True)
    if not layer.normalize_variance:
        return centered
    return centered / (x.std(axes, keepdims=True) + layer.epsilon)


def frozen(layer, params, x, buffers, training):
    fixed = {name: jax.lax.stop_gradient(jnp.asarray(value)) for name, value in params.items()}
    return CORE[layer.layer.type_name](layer.layer, fixed, x, buffers, False)


THEIRS = {
    "Affine": affine,
    "ElementWiseMultiplication": multiplication,
    "PRelu": prelu,
    "Reshape": lambda layer, params, x, buffers, training: x.reshape(
        len(x), *[int(np.prod(x.shape[1:])) // 3 if n == -1 else n for n in layer.shape]
    ),
    "Permute": lambda layer, params, x, buffers, training: jnp.moveaxis(
        x, [1 + axis for axis in layer.order], range(1, x.ndim)
    ),
    "RepeatVector": lambda layer, params, x, buffers, training: jnp.stack([x] * layer.count, 1),
    "MVN": mvn,
    "Frozen": frozen,
    "StopGradient": lambda layer, params, x, buffers, training: jax.lax.stop_gradient(x),
}
