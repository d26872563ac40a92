"""Layers that came with Caffe's, and the same in jax."""

import jax.numpy as jnp
from jax import lax

from sparkdl.nn import layers

LAYERS = [
    (layers.AddedLoss(weight=0.5), (2, 3)),
    (layers.BatchReindex(), ((2, 3), (1,))),
    (layers.Broadcasting(), ((2, 3, 4), (2,))),
    (layers.Broadcasting(operation="add", axis=1), ((2, 3, 4), (3,))),
    (layers.Broadcasting(operation="add", axis=1), ((2, 3, 4), (3, 4))),
    (layers.Broadcasting(axis=2), ((2, 3, 4), (1,))),
    (layers.Comparison(loss="mse"), ((4,), (4,))),
    (layers.Comparison(loss="euclidean", reduction="sum"), ((2, 3, 4), (24,))),
    (layers.Comparison(loss="euclidean", reduction="valid"), ((4,), (2, 2), (1,))),
    (layers.Learned(shape=(2, 3)), (4,)),
    (layers.Reduction(), (2, 3, 4)),
    (layers.Reduction(operation="asum", axis=1), (2, 3, 4)),
    (layers.Reduction(operation="sumsq", axis=2, coefficient=0.5), (2, 3, 4)),
    (layers.Reduction(operation="mean"), (4,)),
    (layers.StochasticPool2D(size=2, rounding="ceil"), (2, 3, 4)),
    (layers.Subset(start=1, stop=3, axis=1), (2, 4, 3)),
    (layers.Unfold2D(kernel=2), (2, 3, 4)),
    (layers.Unfold2D(kernel=(3, 2), stride=(2, 1), padding=1, dilation=(1, 2)), (2, 5, 4)),
]


def broadcasting(layer, params, x, buffers, training):
    x, w = x
    if w.shape[1:] == (1,):
        return x * w.reshape(len(w), *[1] * (x.ndim - 1))
    behind = x.ndim - w.ndim - layer.axis
    w = w.reshape(len(w), *[1] * layer.axis, *w.shape[1:], *[1] * behind)
    return x + w if layer.operation == "add" else x * w


def reduction(layer, params, x, buffers, training):
    axes = tuple(range(1 + layer.axis, x.ndim))
    how = {"asum": jnp.abs, "sumsq": jnp.square}.get(layer.operation, lambda x: x)
    y = (jnp.mean if layer.operation == "mean" else jnp.sum)(how(x), axes)
    return layer.coefficient * y.reshape(len(x), *layer.out_shape(x.shape[1:]))


def unfold(layer, params, x, buffers, training):
    def pair(value):
        return value if isinstance(value, tuple) else (value, value)

    return lax.conv_general_dilated_patches(
        x,
        pair(layer.kernel),
        pair(layer.stride),
        [(layer.padding, layer.padding)] * 2,
        rhs_dilation=pair(layer.dilation),
    )


THEIRS = {
    "AddedLoss": lambda layer, params, x, buffers, training: x,
    "Broadcasting": broadcasting,
    "Comparison": lambda layer, params, x, buffers, training: x[0],
    "Learned": lambda layer, params, x, buffers, training: jnp.stack([params["W"]] * len(x)),
    "Reduction": reduction,
    "Unfold2D": unfold,
}
