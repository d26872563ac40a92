"""Layers for aten reductions."""

from math import prod

import numpy as np

from sparkdl.interop.constant_operands import LARGEST
from sparkdl.nn import layers as nn

LEAST = float(np.finfo(np.float32).tiny)


def reduced_axes(node):
    """Returns (axes of an example that are reduced, the others)."""
    dims = node["dim"] if isinstance(node["dim"], list | tuple) else [node["dim"]]
    over = sorted(node.axis(axis) for axis in dims if axis is not None)
    node.need(over, f"a reduction along {node['dim']}")
    return over, [axis for axis in range(len(node.place().shape)) if axis not in over]


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
    over, kept = reduced_axes(node)
    layer, x = nn.Reduce(operation=operation, axis=len(kept)), node.place()
    if over[0] < len(kept):
        x = node.add(nn.Permute(order=(*kept, *over)), x)
    return reshape_to(node, node.add(layer, x))


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


def largest(node):
    """Returns the largest numbers along axes."""
    x, (over, kept) = node.place(), reduced_axes(node)
    rows = nn.Reshape(shape=(prod(x.shape[axis] for axis in over), -1))
    turned = node.add(nn.Permute(order=(*over, *kept)), x)
    y = node.add(nn.GlobalPool(kind="max"), node.add(rows, turned))
    keeps = node["keepdim"]
    to = tuple(1 if axis in over else n for axis, n in enumerate(x.shape) if keeps or axis in kept)
    node.need(to, "an example without axes")
    return node.add(nn.Reshape(shape=to), y)


def largest_alone(node):
    """Returns aten's max along an axis; the places are not available."""
    node.need(node["dim"] is not None, "the largest number of all examples")
    return (largest(node),)


REDUCTION_RULES = {
    "amax": largest,
    "max": largest_alone,
    "linalg_vector_norm": norm,
    "mean": mean,
    "sum": total,
}
