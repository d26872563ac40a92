"""Layers for element-wise nodes and reductions."""

from dataclasses import replace
from math import prod

import numpy as np
from onnx import TensorProto

from sparkdl.interop.constant_operands import line, make_threshold
from sparkdl.interop.onnx.folding import MOST
from sparkdl.interop.onnx.laid_shapes import CUT, FIRST, TYPES, WHOLE, place_of
from sparkdl.interop.onnx.shape_translation import as_shape, integers, pool_all, positions
from sparkdl.interop.onnx.steps import Step
from sparkdl.nn import layers as nn


def fixed(**options):
    """Returns the rule of an operation that is one of sparkdl's activations."""

    def translate(node):
        node.shape()
        return [Step(layer=nn.Activation(options))]

    return translate


def power(node):
    node.shape()
    exponent = node.constant(1)
    node.need(exponent.size == 1, f"an exponent of shape {exponent.shape}")
    return [Step(layer=nn.Activation({"type": "power", "power": float(exponent.reshape(()))}))]


def swish(node):
    node.shape()
    node.only(alpha=1.0)
    return [Step(layer=nn.Activation("swish"))]


def cast(node):
    """Casts float32 to itself, or to integers that can be looked up in a table.

    The fraction of a float is dropped only by that look-up, so such integers cannot become floats
    again.
    """
    place, to = place_of(node.any_shape()), node.attributes["to"]
    node.need(to in TYPES, f"to={to}")
    node.need(place.kind != CUT or TYPES[to] == WHOLE, "floats that became integers")
    if to == TensorProto.BOOL:
        node.need(place.kind != CUT, "floats that became integers")
        return is_other_than_0(place._replace(kind=WHOLE))
    is_cut = place.kind != WHOLE and TYPES[to] == WHOLE
    place = place._replace(kind=CUT if is_cut else TYPES[to])
    return [Step(layer=nn.Activation("identity"), place=place)]


def is_other_than_0(place):
    """Returns the Steps of x != 0 as floats 1 and 0; the file has booleans."""
    return [Step(layer=nn.Activation("abs_val")), Step(layer=make_threshold(0.0), place=place)]


def layer_normalization(node):
    shape, rank = node.shape(), len(node.shape()) + 1
    node.only(stash_type=1)
    [axis] = positions(node, [node.attributes.get("axis", -1)], rank)
    node.need(not any(node.outputs[1:]), "mean and deviation as outputs")
    weights = {"gamma": node.constant(1)} | ({"beta": node.constant(2)} if node.has(2) else {})
    options = {"epsilon": node.attributes.get("epsilon", 1e-5), "shift": "beta" in weights}
    axes = tuple(range(axis - 1, len(shape)))
    return [Step(layer=nn.LayerNorm(axes=axes, **options), weights=weights)]


POOLED = {"mean": "avg", "max": "max", "sum": "sum"}


def reduction(operation):
    """Returns the rule of a reduction; before opset 18 the axes are an attribute."""

    def translate(node):
        shape, keeps = node.laid_shape(), node.attributes.get("keepdims", 1)
        node.only(noop_with_empty_axes=0)
        axes = integers(node, 1) if node.has(1) else node.attributes.get("axes", [])
        over = sorted({node.axis(axis) for axis in axes})
        node.need(over, "reducing all examples to one")
        place = place_of(shape)
        if operation in POOLED and place == FIRST and over == list(range(1, len(shape))) != [1]:
            return pool_all(POOLED[operation], shape, keeps)
        kept = [i for i in range(len(shape)) if i not in over]
        steps = reduce_axes(operation, shape, over, kept)
        out = tuple(shape[i] for i in kept)
        to = tuple(1 if i in over else n for i, n in enumerate(shape)) if keeps else out
        index = place.index - (0 if keeps else sum(i < place.index for i in over))
        last = as_shape(out or (1,), to, place._replace(index=index))
        return [*steps, last]

    return translate


def reduce_axes(operation, shape, over, kept):
    """Returns the Steps of a reduction over some axes of an example; the others are left."""
    if operation == "max":
        if shape[1:] and over == [0] and len(shape) == 2:
            return [Step(layer=nn.GlobalPool(kind="max"))]
        rows = nn.Reshape(shape=(prod(shape[i] for i in over), -1))
        back = nn.Reshape(shape=tuple(shape[i] for i in kept) or (1,))
        layers = [*permute([*over, *kept]), rows, nn.GlobalPool(kind="max"), back]
    elif operation in POOLED and over == [0] and len(shape) == 2:
        layers = [nn.GlobalPool(kind=POOLED[operation])]
    else:
        layers = [*permute([*kept, *over]), nn.Reduce(operation=operation, axis=len(kept))]
    return [Step(layer=layer) for layer in layers]


def permute(order):
    return [] if order == sorted(order) else [nn.Permute(order=tuple(order))]


def smallest(node):
    """ONNX's ReduceMin: the opposite of the largest opposite."""
    opposite = Step(layer=line(scale=-1.0))
    *steps, last = reduction("max")(node)
    return [opposite, *steps, last, replace(opposite, place=last.place)]


def norm(node):
    """ONNX's ReduceL2."""
    *steps, last = reduction("sumsq")(node)
    root = nn.Activation({"type": "power", "power": 0.5})
    return [*steps, last, Step(layer=root, place=last.place)]


def by_groups(node):
    """Normalizes each channel, or each group of channels; each channel has a scale and a shift."""
    shape, channels = node.shape(), node.shape()[0]
    node.need(len(shape) > 1, f"an example of shape {shape}")
    groups = node.attributes["num_groups"] if node.op == "GroupNormalization" else channels
    weights = {"gamma": node.constant(1), "beta": node.constant(2)}
    alike = all(value.shape == (channels,) for value in weights.values())
    whole = alike and groups > 0 and channels % groups == 0
    node.need(whole, f"{groups} groups of {channels} channels")
    node.only(stash_type=1)
    epsilon = node.attributes.get("epsilon", 1e-5)
    return [
        Step(layer=nn.Reshape(shape=(groups, -1))),
        Step(layer=nn.LayerNorm(axes=(1,), epsilon=epsilon, scale=False, shift=False)),
        Step(layer=nn.Reshape(shape=shape)),
        Step(layer=nn.Affine(axis=0), weights=weights),
    ]


def cumulative_sum(node):
    """Returns the sums up to each place of an axis: a product with ones."""
    node.only(exclusive=0, reverse=0)
    [given] = integers(node, 1)
    shape, axis = node.any_shape(), node.axis(given)
    node.need(place_of(shape).kind != CUT, "floats that became integers")
    node.need(shape[axis] ** 2 <= MOST, f"sums of {shape[axis]} numbers")
    order = [*(i for i in range(len(shape)) if i != axis), axis]
    back = permute(np.argsort(order).tolist())
    ones = np.triu(np.ones((shape[axis], shape[axis]), np.float32))
    layer = nn.Frozen(layer=nn.Dense(units=shape[axis], bias=False))
    layers = [*permute(order), nn.Reshape(shape=(-1, shape[axis])), layer]
    layers += [nn.Reshape(shape=tuple(shape[i] for i in order)), *back]
    weights = [{"W": ones} if one is layer else {} for one in layers]
    steps = [Step(layer=one, weights=w) for one, w in zip(layers, weights, strict=True)]
    return [*steps[:-1], replace(steps[-1], place=place_of(shape))]


def celu(node):
    """Returns alpha times the ELU of x / alpha."""
    node.shape()
    alpha = float(node.attributes.get("alpha", 1.0))
    node.need(alpha > 0, f"alpha={alpha}")
    elu = nn.Activation({"type": "elu", "alpha": 1.0})
    return [Step(layer=line(scale=1 / alpha)), Step(layer=elu), Step(layer=line(scale=alpha))]


def depth_to_space(node):
    """Makes blocks of pixels of channels, whose order is of blocks (DCR) or of channels (CRD)."""
    if node.attributes.get("mode", "DCR") == "DCR":
        return blocks_of_pixels(nn.DepthToSpace)(node)
    shape, block = node.shape(), node.attributes["blocksize"]
    whole = len(shape) == 3 and block > 0 and shape[0] % block**2 == 0
    node.need(whole, f"blocksize={block} of an example of shape {shape}")
    channels, rows, columns = shape
    apart = (channels // block**2, block, block, rows, columns)
    whole = (apart[0], rows * block, columns * block)
    order = nn.Permute(order=(0, 3, 1, 4, 2))
    layers = [nn.Reshape(shape=apart), order, nn.Reshape(shape=whole)]
    return [Step(layer=layer) for layer in layers]


def blocks_of_pixels(layer):
    """Returns the rule of DepthToSpace or SpaceToDepth."""

    def translate(node):
        node.need(len(node.shape()) == 3, f"an example of shape {node.shape()}")
        node.only(mode="DCR")
        return [Step(layer=layer(block=node.attributes["blocksize"]))]

    return translate


def selu(node):
    node.shape()
    known = {"alpha": 1.6732632423543772, "gamma": 1.0507009873554805}
    given = {name: node.attributes.get(name, value) for name, value in known.items()}
    alike = all(np.isclose(given[name], value, rtol=1e-6) for name, value in known.items())
    node.need(alike, f"{given}")
    return [Step(layer=nn.Activation("selu"))]


NUMBER_RULES = {
    "Abs": fixed(type="abs_val"),
    "Cast": cast,
    "Celu": celu,
    "CumSum": cumulative_sum,
    "DepthToSpace": depth_to_space,
    "Erf": fixed(type="erf"),
    "Exp": fixed(type="exp"),
    "GroupNormalization": by_groups,
    "InstanceNormalization": by_groups,
    "LayerNormalization": layer_normalization,
    "Log": fixed(type="log"),
    "Neg": fixed(type="power", scale=-1.0),
    "Pow": power,
    "Reciprocal": fixed(type="power", power=-1.0),
    "ReduceL1": reduction("asum"),
    "ReduceL2": norm,
    "ReduceMax": reduction("max"),
    "ReduceMean": reduction("mean"),
    "ReduceMin": smallest,
    "ReduceSum": reduction("sum"),
    "ReduceSumSquare": reduction("sumsq"),
    "Selu": selu,
    "SpaceToDepth": blocks_of_pixels(nn.SpaceToDepth),
    "Sqrt": fixed(type="power", power=0.5),
    "Swish": swish,
}
