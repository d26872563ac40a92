"""Layers for margins of images and sequences, and for their resizing."""

from math import floor, isclose, prod

import numpy as np

from sparkdl.interop.constant_operands import LOWEST, bound_numbers
from sparkdl.interop.onnx.folding import MOST
from sparkdl.interop.onnx.forward.resampling import kernel_weights, places_of
from sparkdl.interop.onnx.operand_translation import with_constant
from sparkdl.interop.onnx.shape_translation import integers
from sparkdl.interop.onnx.steps import BEFORE, Step
from sparkdl.nn import layers as nn

COPIES = ("edge", "reflect")  # modes of Pad that numpy has, too
COORDINATES = ("align_corners", "asymmetric", "half_pixel", "half_pixel_symmetric")
COORDINATES += ("pytorch_half_pixel",)


def pad(node):
    """Adds margins of one number, or of copies."""
    node.need(not node.has(3), "axes as an input")
    amounts, shape = integers(node, 1), node.shape()
    before, after = amounts[: len(amounts) // 2], amounts[len(amounts) // 2 :]
    node.need(not before[0] and not after[0], "margins of the batch")
    if node.attributes.get("mode", "constant") in COPIES:
        return copy_margins(node, before, after)
    node.only(mode="constant")
    node.need(min(amounts) >= 0, f"pads={amounts}")
    pairs = list(zip(before[1:], after[1:], strict=True))
    value = float(node.constant(2).reshape(())) if node.has(2) else 0.0
    return [*zero_margins(shape, pairs), *fill_margins(node, shape, pairs, value)]


def zero_margins(shape, pairs):
    """Returns the Steps of margins of zeros; a row of images is an axis of other examples."""
    kinds = {3: nn.ZeroPadding2D, 4: nn.ZeroPadding3D}
    if len(shape) in kinds and pairs[0] == (0, 0):
        return [Step(layer=kinds[len(shape)](amount=tuple(pairs[1:])))]
    layers = []
    for axis, pair in enumerate(pairs):
        if any(pair):
            image = nn.Reshape(shape=(prod(shape[:axis]), shape[axis], -1))
            shape = (*shape[:axis], shape[axis] + sum(pair), *shape[axis + 1 :])
            rows = nn.ZeroPadding2D(amount=(pair, (0, 0)))
            layers += [image, rows, nn.Reshape(shape=shape)]
    return [Step(layer=layer) for layer in layers or [nn.Activation("identity")]]


def fill_margins(node, shape, pairs, value):
    """Returns the Steps that add a number to margins of zeros.

    Minus infinity is a finite number here, which a maximum hides unless a window sees only that.
    """
    if value == 0:
        return []
    hidden = np.isneginf(value) and node.readers.get(node.outputs[0]) == {"MaxPool"}
    node.need(hidden or abs(value) <= -LOWEST, f"margins of {value}")
    margins = np.pad(np.zeros(shape, np.float32), pairs, constant_values=bound_numbers(value))
    return with_constant(node, margins, margins.shape, "shift", BEFORE, trains=False)


def copy_margins(node, before, after):
    """Returns the Steps of margins that repeat the edge, or reflect what is beside it."""
    shape, mode, products = node.shape(), node.attributes["mode"], {}
    for axis, pair in enumerate(zip(before[1:], after[1:], strict=True)):
        most = shape[axis] - 1 if mode == "reflect" else max(pair)
        node.need(min(pair) >= 0 and max(pair) <= most, f"margins {pair} of {shape[axis]}")
        if any(pair):
            places = np.pad(np.arange(shape[axis]), pair, mode=mode)
            require_room(node, len(places), shape[axis])
            products[axis] = np.float32(places[:, None] == np.arange(shape[axis]))
    return multiply_axes(shape, products)


def require_room(node, wanted, n):
    """Refuses an axis of `n` places whose matrix to `wanted` places would be too large."""
    node.need(wanted * n <= MOST, f"a matrix of {wanted} x {n}")


def multiply_axes(shape, products):
    """Returns the Steps of products of the axes of an example with constant matrices (to, from).

    Parameters
    ----------
    shape : tuple of int
    products : {axis: matrix}
    """
    steps, last = [], len(shape) - 1
    for axis, matrix in products.items():
        swap = [*range(len(shape))]
        swap[axis], swap[last] = last, axis
        turn = [] if axis == last else [Step(layer=nn.Permute(order=tuple(swap)))]
        shape = (*shape[:axis], len(matrix), *shape[axis + 1 :])
        dense = nn.Frozen(layer=nn.Dense(units=len(matrix), bias=False))
        rows = nn.Reshape(shape=(-1, matrix.shape[1]))
        back = nn.Reshape(shape=tuple(shape[i] for i in swap))
        product = Step(layer=dense, weights={"W": np.float32(matrix.T)})
        steps += [*turn, Step(layer=rows), product, Step(layer=back), *turn]
    return steps or [Step(layer=nn.Activation("identity"))]


def resize(node):
    """Upsamples images and volumes to nearest pixels, or interpolates linearly."""
    shape, mode = node.shape(), node.attributes.get("mode", "nearest")
    factors = factors_of(node, shape)
    given = (
        node.attributes.get("coordinate_transformation_mode", "half_pixel"),
        node.attributes.get("nearest_mode", "round_prefer_floor"),
    )
    *same, size = factors[0], factors[1], factors[2:]
    grows = all(s >= 1 and s == int(s) for s in size)
    is_image = len(shape) in (3, 4) and same == [1, 1]
    twice = is_image and grows and len(shape) == 3
    if mode == "linear" and not (twice and given[0] == "half_pixel"):
        return interpolate(node, shape, factors, given[0])
    ways = {"nearest": ("asymmetric", "floor"), "linear": ("half_pixel", given[1])}
    node.need(ways.get(mode) == given, f"mode={mode} with {given}")
    node.need(is_image and grows, f"growing by {factors}")
    size = tuple(map(int, size))
    if len(shape) == 4:
        return [Step(layer=nn.UpSampling3D(size=size))]
    kind = {"nearest": "nearest", "linear": "bilinear"}[mode]
    return [Step(layer=nn.UpSampling2D(size=size, interpolation=kind))]


def interpolate(node, shape, factors, coordinates):
    """Returns the Steps of linear interpolation along each axis of an example."""
    node.only(antialias=0)
    node.need(coordinates in COORDINATES, f"coordinate_transformation_mode={coordinates}")
    node.need(factors[0] == 1, "resizing of the batch")
    products = {}
    for axis, (n, factor) in enumerate(zip(shape, factors[1:], strict=True)):
        near = round(n * factor)
        is_whole = isclose(near, n * factor, rel_tol=1e-6)  # but for a factor's float32
        wanted = near if is_whole else floor(n * factor)
        # onnxruntime and the standard have other corners of parts of a number.
        fits = wanted > 0 and (is_whole or coordinates != "align_corners")
        node.need(fits, f"{coordinates} of {n} by {factor}")
        if factor != 1:
            require_room(node, wanted, n)
            places = places_of(np.arange(wanted), n, wanted, factor, (0, 1), coordinates)
            products[axis] = kernel_weights(places, n, "linear", 1.0, 0.0, False)
    return multiply_axes(shape, products)


def factors_of(node, shape):
    """Returns the factors of all axes, that of the batch first."""
    rank = 1 + len(shape)
    axes = [axis % rank for axis in node.attributes.get("axes", range(rank))]
    factors = growth(node, shape, axes) if node.has(3) else node.constant(2).tolist()
    by_axis = dict(zip(axes, factors, strict=True))
    return [by_axis.get(axis, 1) for axis in range(rank)]


def growth(node, shape, axes):
    """Returns the factors that give the sizes of a Resize along these axes."""
    node.only(keep_aspect_ratio_policy="stretch")
    factors = []
    for axis, (length, of_batch) in zip(axes, node.lengths(3), strict=True):
        own, is_batch = (1, True) if axis == 0 else (shape[axis - 1], False)
        node.need(is_batch == of_batch, "sizes, which hold for one batch size,")
        factors.append(length / own)
    return factors


RESAMPLING_RULES = {"Pad": pad, "Resize": resize}
