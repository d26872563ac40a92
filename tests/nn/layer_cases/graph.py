"""Layers of a graph; those that join inputs are given a tuple of shapes."""

import jax.numpy as jnp

from sparkdl.nn import layers

LAYERS = [
    (layers.Merge(), ((2, 3, 4), (3, 3, 4))),
    (layers.Merge(axis=1), ((2, 3, 4), (2, 1, 4), (2, 2, 4))),
    (layers.Merge(), ((3, 4), (3, 1))),
    (layers.ElementWise(), ((2, 3, 4), (2, 3, 4))),
    (layers.ElementWise(coefficients=(1.0, -2.0, 0.5)), ((4,), (4,), (4,))),
    (layers.ElementWise(operation="subtract"), ((4,), (4,))),
    (layers.ElementWise(operation="product"), ((4,), (4,), (4,))),
    (layers.ElementWise(operation="average"), ((4,), (4,))),
    (layers.ElementWise(operation="max"), ((2, 4), (2, 4))),
    (layers.Subset(start=1, stop=3), (4, 2, 3)),
    (layers.Subset(start=0, stop=2), (3, 4)),
    (layers.Rescaling(scale=2.5), (4,)),
    (layers.Rescaling(scale=1 / 3, offset=-1), (2, 3, 2)),
    (layers.L2Distance(), ((4,), (4,))),
    (layers.L2Distance(epsilon=0.1), ((2, 3), (2, 3))),
    (layers.L2Normalize(), (2, 3, 2)),
    (layers.L2Normalize(epsilon=0.1), (4,)),
    (layers.DotInteraction(), ((4,), (4,), (4,))),
    (layers.DotInteraction(combine="sum"), ((3,), (3,), (3,))),
    (layers.MatMul(), ((2, 3, 4), (2, 4, 5))),
    (layers.MatMul(transpose_a=True), ((4, 3), (4, 2))),
    (layers.MatMul(transpose_b=True), ((2, 3, 4), (2, 5, 4))),
    (layers.MatMul(transpose_a=True, transpose_b=True), ((4, 3), (2, 4))),
    (layers.DuplicateToTime(), ((3,), (5, 2))),
    (layers.ReverseTime(), (5, 2)),
    (layers.Stack(), ((2,), (2,))),
    (layers.Unstack(index=0, count=3), (2,)),
    (layers.LossLayer(loss="mse"), (4,)),
    (layers.LossLayer(reduction="sum", loss_weight=0.5), (4, 3)),
    (layers.RnnOutput(units=3), (4, 2)),
    (layers.Output(units=3), (4, 2)),
    (layers.Dense(units=3, activation="tanh"), (4, 2)),
]


def elementwise(layer, params, x, buffers, training):
    factors = layer.coefficients or [1] * len(x)
    first, *others = (part * factor for part, factor in zip(x, factors))
    return {
        "add": lambda: first + sum(others),
        "subtract": lambda: first - sum(others),
        "product": lambda: first * jnp.prod(jnp.stack(others), 0),
        "average": lambda: jnp.mean(jnp.stack(x), 0),
        "max": lambda: jnp.max(jnp.stack(x), 0),
    }[layer.operation]()


def merge(layer, params, x, buffers, training):
    axis = layer.axis if layer.axis is not None else 0 if x[0].ndim > 3 else -1
    return jnp.concatenate(x, axis + 1 if axis >= 0 else axis)


def subset(layer, params, x, buffers, training):
    part = slice(layer.start, layer.stop)
    if layer.axis is not None:
        return x[(slice(None),) * (1 + layer.axis) + (part,)]
    return x[:, part] if x.ndim == 4 else x[..., part]


def length(x, epsilon):
    return jnp.sqrt((x.reshape(len(x), -1) ** 2).sum(1, keepdims=True) + epsilon)


def normalized(layer, params, x, buffers, training):
    return x / length(x, layer.epsilon).reshape(-1, *[1] * (x.ndim - 1))


def dot_interaction(layer, params, x, buffers, training):
    rows = jnp.stack(x, 1)
    pairs = jnp.einsum("bid,bjd->bij", rows, rows)[:, *jnp.tril_indices(len(x), -1)]
    return pairs.sum(1, keepdims=True) if layer.combine == "sum" else pairs


def mat_mul(layer, params, x, buffers, training):
    a, b = x
    a = jnp.swapaxes(a, -1, -2) if layer.transpose_a else a
    return a @ (jnp.swapaxes(b, -1, -2) if layer.transpose_b else b)


THEIRS = {
    "Merge": merge,
    "ElementWise": elementwise,
    "Subset": subset,
    "Rescaling": lambda layer, params, x, b, t: x * layer.scale + layer.offset,
    "L2Distance": lambda layer, p, x, b, t: length(x[0] - x[1], layer.epsilon),
    "L2Normalize": normalized,
    "DotInteraction": dot_interaction,
    "MatMul": mat_mul,
    "DuplicateToTime": lambda layer, p, x, b, t: jnp.repeat(x[0][:, None], x[1].shape[1], 1),
    "ReverseTime": lambda layer, params, x, buffers, training: jnp.flip(x, 1),
    "LossLayer": lambda layer, params, x, buffers, training: x,
    "RnnOutput": lambda layer, params, x, buffers, training: x @ params["W"] + params["b"],
}
