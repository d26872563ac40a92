"""Caffe's layers, and their jax equivalents."""

import jax.numpy as jnp
from jax import lax

from sparkdl.nn import layers

LAYERS = [
    (layers.AddedLoss(weight=0.5), (2, 3)),
    (layers.ArgMax(), (2, 3, 4)),
    (layers.ArgMax(axis=1, top_k=2), (2, 5, 3)),
    (layers.ArgMax(top_k=2, values=True), (4,)),
    (layers.BatchReindex(), ((2, 3), (1,))),
    (layers.Broadcasting(), ((2, 3, 4), (2,))),
    (layers.Broadcasting(operation="add", axis=1), ((2, 3, 4), (3,))),
    (layers.Broadcasting(operation="add", axis=1), ((2, 3, 4), (3, 4))),
    (layers.Broadcasting(axis=2), ((2, 3, 4), (1,))),
    (layers.Broadcasting(operation="add"), ((2, 3, 4), (1, 3, 1))),
    (layers.Broadcasting(operation="mask"), ((2, 3, 4), (1, 3, 1))),
    (layers.Comparison(loss="mse"), ((4,), (4,))),
    (layers.Comparison(loss="euclidean", reduction="sum"), ((2, 3, 4), (24,))),
    (layers.Comparison(loss="euclidean", reduction="valid"), ((4,), (2, 2), (1,))),
    (layers.GainComparison(), ((3,), (1,), (3, 3))),
    (layers.GainComparison(reduction="sum"), ((3, 2, 2), (2, 2), (1, 3, 3))),
    (layers.Learned(shape=(2, 3)), (4,)),
    (layers.MaxPoolIndex2D(size=2), (2, 6, 4)),
    (layers.Reduce(), (2, 3, 4)),
    (layers.Reduce(operation="asum", axis=1), (2, 3, 4)),
    (layers.Reduce(operation="sumsq", axis=2, coefficient=0.5), (2, 3, 4)),
    (layers.Reduce(operation="mean"), (4,)),
    (layers.StochasticPool2D(size=2, rounding="ceil"), (2, 3, 4)),
    (layers.Subset(start=1, stop=3, axis=1), (2, 4, 3)),
    (layers.Unfold2D(kernel_size=2), (2, 3, 4)),
    (layers.Unfold2D(kernel_size=(3, 2), stride=(2, 1), padding=1, dilation=(1, 2)), (2, 5, 4)),
]


def broadcasting(layer, params, x, buffers, training):
    x, w = x
    if w.shape[1:] == (1,):
        return x * w.reshape(len(w), *[1] * (x.ndim - 1))
    behind = x.ndim - w.ndim - layer.axis
    w = w.reshape(len(w), *[1] * layer.axis, *w.shape[1:], *[1] * behind)
    if layer.operation == "mask":
        return jnp.where(w != 0, x, 0)
    return x + w if layer.operation == "add" else x * w


def reduction(layer, params, x, buffers, training):
    axes = tuple(range(1 + layer.axis, x.ndim))
    how = {"asum": jnp.abs, "sumsq": jnp.square}.get(layer.operation, lambda x: x)
    y = (jnp.mean if layer.operation == "mean" else jnp.sum)(how(x), axes)
    return layer.coefficient * y.reshape(len(x), *layer.out_shape(x.shape[1:]))


def arg_max(layer, params, x, buffers, training):
    """Returns the top k by a stable sort; among equal numbers the last comes first."""
    axis = 1 if layer.axis is None else 1 + layer.axis
    rows = x.reshape(len(x), -1) if layer.axis is None else x
    order = jnp.flip(jnp.argsort(rows, axis, stable=True), axis)
    order = jnp.take(order, jnp.arange(layer.top_k), axis)
    found = [order.astype(x.dtype), jnp.take_along_axis(rows, order, axis)]
    parts = jnp.stack(found[: 1 + layer.values], 1) if layer.axis is None else found[layer.values]
    return parts.reshape(len(x), *layer.out_shape(x.shape[1:]))


def pool_index(layer, params, x, buffers, training):
    """Returns the index of each maximum within its 2 x 2 window."""
    n, c, h, w = x.shape
    at = jnp.broadcast_to(jnp.arange(h * w, dtype=x.dtype).reshape(h, w), x.shape)

    def parts(a):
        a = a.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5)
        return a.reshape(n, c, h // 2, w // 2, 4)

    best = jnp.argmax(parts(x), -1)[..., None]
    return lax.stop_gradient(jnp.take_along_axis(parts(at), best, -1)[..., 0])


def unfold(layer, params, x, buffers, training):
    def pair(value):
        return value if isinstance(value, tuple) else (value, value)

    return lax.conv_general_dilated_patches(
        x,
        pair(layer.kernel_size),
        pair(layer.stride),
        [(layer.padding, layer.padding)] * 2,
        rhs_dilation=pair(layer.dilation),
    )


THEIRS = {
    "AddedLoss": lambda layer, params, x, buffers, training: x,
    "Broadcasting": broadcasting,
    "Comparison": lambda layer, params, x, buffers, training: x[0],
    "ArgMax": arg_max,
    "GainComparison": lambda layer, params, x, buffers, training: x[0],
    "MaxPoolIndex2D": pool_index,
    "Learned": lambda layer, params, x, buffers, training: jnp.stack([params["W"]] * len(x)),
    "Reduce": reduction,
    "Unfold2D": unfold,
}
