"""Layers for nodes that move numbers: reshape, transpose, pad, resize."""

from math import prod

import numpy as np

from sparkdl.interop.onnx.laid_shapes import ROWS, batch_of
from sparkdl.interop.onnx.steps import Step
from sparkdl.nn import layers as nn


def integers(node, index):
    """Returns an input that must be a constant of integers as a list."""
    node.need(node.is_constant(index), f"input {index} not a constant")
    value = node.constants[node.inputs[index]]
    node.need(value.dtype.kind == "i", f"input {index} of type {value.dtype}")
    return value.reshape(-1).tolist()


def positions(node, axes, rank):
    """Returns axes counted from the front; UnsupportedError if the batch's is among them."""
    found = sorted(axis + rank if axis < 0 else axis for axis in axes)
    node.need(found and found[0] > 0 and found[-1] < rank, f"axes={axes}")
    return found


def reshape(node):
    shape, to = node.laid_shape(), integers(node, 1)
    place = batch_of(shape)
    if place not in (0, ROWS):
        return reshape_behind(node, shape, to, place)
    batch, *to = to
    copies = not node.attributes.get("allowzero", 0)
    node.need(batch == -1 or (batch == 0 and copies and place == 0), f"the shape {[batch, *to]}")
    if batch == -1 and to and to == list(shape[-len(to) :]) and prod(shape) > prod(to):
        return [Step(layer=nn.Activation("identity"), batch=ROWS)]
    to = whole_shape(node, shape, to, copies and place == 0)
    return [Step(layer=nn.Reshape(shape=tuple(to)))]


def reshape_behind(node, shape, to, place):
    """Reshapes the axes after the batch's; those before it must stay."""
    same = [
        n == 0 or (axis != place and n == shape[axis]) for axis, n in enumerate(to[: place + 1])
    ]
    node.need(all(same) and len(to) > place + 1, f"the shape {to}")
    behind = whole_shape(node, shape[place:], to[place + 1 :], False)
    return [Step(layer=nn.Reshape(shape=(*shape[:place], *behind)), batch=place)]


def whole_shape(node, shape, to, copies):
    """Returns the shape of an example of `shape` after a reshape by `to`."""
    to = [shape[i] if n == 0 and copies and i < len(shape) else n for i, n in enumerate(to)]
    if to.count(-1) == 1:
        to[to.index(-1)] = prod(shape) // max(1, -prod(to))
    whole = to and min(to) > 0 and prod(to) == prod(shape)
    node.need(whole, f"the shape {to} of an example of {tuple(shape)}")
    return to


def squeeze(node):
    node.need(node.has(1), "axes that are left out")
    example, place = node.laid_shape(), batch_of(node.laid_shape())
    node.need(place != ROWS, "rows of sequences")
    shape = (*example[:place], None, *example[place:])
    axes = sorted(axis % len(shape) for axis in integers(node, 1))
    fits = axes and all(shape[axis] == 1 for axis in axes)
    node.need(fits, f"axes={axes} of an example of {tuple(example)}")
    left = tuple(n for axis, n in enumerate(shape) if axis not in (place, *axes))
    node.need(left, "an example without axes")
    before = sum(axis < place for axis in axes)
    return [Step(layer=nn.Reshape(shape=left), batch=place - before)]


def unsqueeze(node):
    given = integers(node, 1)
    shape = list(node.shape())
    for axis in positions(node, given, len(shape) + 1 + len(given)):
        shape.insert(axis - 1, 1)
    return [Step(layer=nn.Reshape(shape=tuple(shape)))]


def transpose(node):
    place = batch_of(node.laid_shape())
    node.need(place != ROWS, "rows of sequences")
    rank = len(node.laid_shape()) + 1
    perm = node.attributes.get("perm", list(range(rank))[::-1])
    order = tuple(axis - (axis > place) for axis in perm if axis != place)
    node.need(sorted(perm) == list(range(rank)) and order, f"perm={perm}")
    same = order == tuple(range(len(order)))
    layer = nn.Activation("identity") if same and rank > 2 else nn.Permute(order=order)
    return [Step(layer=layer, batch=perm.index(place))]


def pool_all(kind, shape, keeps_axes=True):
    """Returns the Steps of global pooling of images or volumes of `shape`."""
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
    """Upsamples images by integer factors, with nearest pixels or linear interpolation."""
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
    """Returns the integer factors of rows and columns."""
    node.need(len(shape) == 3, f"an example of shape {shape}")
    node.need(node.is_constant(2) and not node.has(3), "sizes, which hold for one batch size,")
    factors = node.constant(2).tolist()
    axes = [axis % 4 for axis in node.attributes.get("axes", range(len(factors)))]
    by_axis = dict(zip(axes, factors, strict=True))
    *same, rows, columns = (by_axis.get(axis, 1) for axis in range(4))
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
