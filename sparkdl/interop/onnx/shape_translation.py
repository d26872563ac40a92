"""Layers for nodes that move numbers: shapes, axes, padding, resizing."""

from math import prod

import numpy as np

from sparkdl.interop.onnx.steps import Step
from sparkdl.nn import layers as nn


def integers(node, index):
    """Returns an input that must be a constant of integers, as a list."""
    node.need(node.is_constant(index), f"input {index} not a constant")
    value = node.constants[node.inputs[index]]
    node.need(value.dtype.kind == "i", f"input {index} of type {value.dtype}")
    return value.reshape(-1).tolist()


def positions(node, axes, rank):
    """Returns axes counted from the front, none of them the batch's."""
    found = sorted(axis + rank if axis < 0 else axis for axis in axes)
    node.need(found and found[0] > 0 and found[-1] < rank, f"axes={axes}")
    return found


def reshape(node):
    shape, (batch, *to) = node.shape(), integers(node, 1)
    copies = not node.attributes.get("allowzero", 0)
    node.need(batch == -1 or (batch == 0 and copies), f"the shape {[batch, *to]}")
    to = [shape[i] if n == 0 and copies and i < len(shape) else n for i, n in enumerate(to)]
    if to.count(-1) == 1:
        to[to.index(-1)] = prod(shape) // max(1, -prod(to))
    whole = to and min(to) > 0 and prod(to) == prod(shape)
    node.need(whole, f"the shape {[batch, *to]} of an example of {shape}")
    return [Step(layer=nn.Reshape(shape=tuple(to)))]


def squeeze(node):
    node.need(node.has(1), "axes that are left out")
    shape = (1, *node.shape())
    axes = positions(node, integers(node, 1), len(shape))
    node.need(all(shape[axis] == 1 for axis in axes), f"axes={axes} of an example of {shape[1:]}")
    left = tuple(n for axis, n in enumerate(shape) if axis and axis not in axes)
    node.need(left, "an example without axes")
    return [Step(layer=nn.Reshape(shape=left))]


def unsqueeze(node):
    given = integers(node, 1)
    shape = list(node.shape())
    for axis in positions(node, given, len(shape) + 1 + len(given)):
        shape.insert(axis - 1, 1)
    return [Step(layer=nn.Reshape(shape=tuple(shape)))]


def transpose(node):
    rank = len(node.shape()) + 1
    batch, *order = node.attributes.get("perm", list(range(rank))[::-1])
    node.need(batch == 0 and order, f"perm={[batch, *order]}")
    return [Step(layer=nn.Permute(order=tuple(axis - 1 for axis in order)))]


def pool_all(kind, shape, keeps_axes=True):
    """Returns the Steps from images or volumes of `shape` to a number for each channel."""
    steps = [Step(layer=nn.GlobalPool(kind=kind))]
    if keeps_axes:
        steps.append(Step(layer=nn.Reshape(shape=(shape[0], *[1] * (len(shape) - 1)))))
    return steps


def pad(node):
    node.only(mode="constant")
    node.need(not node.has(3), "axes as an input")
    zero = not node.has(2) or not np.any(node.constant(2))
    amounts, shape = integers(node, 1), node.shape()
    before, after = amounts[: len(amounts) // 2], amounts[len(amounts) // 2 :]
    images = len(shape) == 3 and not any(before[:2] + after[:2]) and min(amounts) >= 0
    node.need(zero and images, f"pads={amounts} of an example of {shape}")
    pairs = tuple(zip(before[2:], after[2:], strict=True))
    return [Step(layer=nn.ZeroPadding2D(amount=pairs))]


def resize(node):
    """Growth of images by whole factors: nearest pixels, or lines between their centers."""
    shape, mode = node.shape(), node.attributes.get("mode", "nearest")
    factors = factors_of(node, shape)
    ways = {
        "nearest": ("asymmetric", "floor"),
        "linear": ("half_pixel", node.attributes.get("nearest_mode", "round_prefer_floor")),
    }
    given = (
        node.attributes.get("coordinate_transformation_mode", "half_pixel"),
        node.attributes.get("nearest_mode", "round_prefer_floor"),
    )
    node.need(ways.get(mode) == given, f"mode={mode} with {given}")
    kind = {"nearest": "nearest", "linear": "bilinear"}[mode]
    return [Step(layer=nn.UpSampling2D(size=factors, interpolation=kind))]


def factors_of(node, shape):
    """Returns the whole factors of rows and columns."""
    node.need(len(shape) == 3, f"an example of shape {shape}")
    node.need(node.is_constant(2) and not node.has(3), "sizes, which hold for one batch size,")
    *same, rows, columns = node.constant(2).tolist()
    grows = same == [1, 1] and all(s >= 1 and s == int(s) for s in (rows, columns))
    node.need(grows, f"growing by {[*same, rows, columns]}")
    return int(rows), int(columns)


SHAPE_RULES = {
    "Pad": pad,
    "Reshape": reshape,
    "Resize": resize,
    "Squeeze": squeeze,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
}
