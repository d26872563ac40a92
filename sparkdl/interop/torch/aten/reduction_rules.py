"""Layers for aten reductions."""

import numpy as np

from sparkdl.interop.constant_operands import LARGEST
from sparkdl.nn import layers as nn

LEAST = float(np.finfo(np.float32).tiny)


def first_reduced_axis(node):
    """Returns the first reduced axis of an example; the reduced axes must be the last ones."""
    rank, dims = len(node.place().shape), node["dim"]
    dims = dims if isinstance(dims, list | tuple) else [dims]
    axes = sorted(node.axis(axis) for axis in dims if axis is not None)
    sound = axes and axes == list(range(axes[0], rank))
    node.need(sound, f"a reduction along {node['dim']}")
    return axes[0]


def reshape_to(node, place):
    """Returns a Place reshaped to a call's result."""
    if place.shape == node.shape:
        return place
    if len(node.shape) == 1 and len(place.shape) > 1:
        return node.add(nn.Flatten(), place)
    return node.add(nn.Reshape(shape=node.shape), place)


def mean(node):
    x, dims = node.place(), node["dim"] or []
    rank = len(x.shape)
    pooled = [0] if rank == 2 else list(range(1, rank))
    if rank > 1 and sorted(node.axis(axis) for axis in dims) == pooled:
        return reshape_to(node, node.add(nn.GlobalPool(kind="avg"), x))
    return reduce(node, "mean")


def reduce(node, operation):
    layer = nn.Reduce(operation=operation, axis=first_reduced_axis(node))
    return reshape_to(node, node.add(layer, node.place()))


def total(node):
    return reduce(node, "sum")


def norm(node):
    """Returns the L1 or L2 norm of vectors.

    The gradient of a root is infinite at 0, where torch defines it as 0: sums are clipped to LEAST,
    below which the gradient is 0.
    """
    order = node["ord"]
    node.need(order in (1, 2), f"a norm of order {order}")
    if order == 1:
        return reduce(node, "asum")
    above = nn.Activation({"type": "clip", "low": LEAST, "high": LARGEST})
    root = nn.Activation({"type": "power", "power": 0.5})
    return node.add(root, node.add(above, reduce(node, "sumsq")))


REDUCTION_RULES = {"linalg_vector_norm": norm, "mean": mean, "sum": total}
