"""Layers for element-wise nodes and reductions."""

import numpy as np
from onnx import TensorProto

from sparkdl.interop.onnx.laid_shapes import CUT, TYPES, WHOLE, batch_of
from sparkdl.interop.onnx.shape_translation import integers, pool_all, positions
from sparkdl.interop.onnx.steps import BEFORE, Step
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
    before = batch_of(node.any_shape())
    to = node.attributes["to"]
    if to == TensorProto.BOOL:
        return is_other_than_0(node)
    node.need(to in TYPES, f"to={to}")
    if before != WHOLE and not (before == CUT and TYPES[to] == WHOLE):
        node.shape()  # UnsupportedError unless the batch is first
    is_cut = before != WHOLE and TYPES[to] == WHOLE
    return [Step(layer=nn.Activation("identity"), batch=CUT if is_cut else TYPES[to])]


def is_other_than_0(node):
    """Returns x != 0 as floats 1 and 0; the file has booleans."""
    node.shape()
    above = nn.Activation({"type": "heaviside", "threshold": 0.0})
    return [Step(layer=nn.Activation("abs_val")), Step(layer=above, sources=(BEFORE,), batch=WHOLE)]


def greater(node):
    """Returns x > limit as floats 1 and 0; the file has booleans, to be cast to numbers."""
    node.shape()
    limit = node.constant(1)
    node.need(limit.size == 1, f"a limit of shape {limit.shape}")
    function = {"type": "heaviside", "threshold": float(limit.reshape(()))}
    return [Step(layer=nn.Activation(function), batch=WHOLE)]


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
    """Returns the rule of a reduction; before opset 18 the axes are an attribute.

    Means, sums and maxima are over space or over the steps of sequences; means and sums also over
    the last axes.
    """

    def translate(node):
        shape = node.shape()
        node.only(noop_with_empty_axes=0)
        axes = integers(node, 1) if node.has(1) else node.attributes.get("axes", [])
        over, keeps = positions(node, axes, len(shape) + 1), node.attributes.get("keepdims", 1)
        if operation in POOLED and len(shape) > 2 and over == list(range(2, len(shape) + 1)):
            return pool_all(POOLED[operation], shape, keeps)
        if operation in POOLED and len(shape) == 2 and over == [1]:
            to = [Step(layer=nn.Reshape(shape=(1, shape[1])))] if keeps else []
            return [Step(layer=nn.GlobalPool(kind=POOLED[operation])), *to]
        node.need(operation != "max", f"a maximum along axes={axes} of an example of {shape}")
        last = list(range(over[0], len(shape) + 1))
        node.need(over == last and (keeps or over[0] > 1), f"axes={axes} with keepdims={keeps}")
        steps = [Step(layer=nn.Reduce(operation=operation, axis=over[0] - 1))]
        if keeps:
            to = (*shape[: over[0] - 1], *[1] * len(over))
            steps.append(Step(layer=nn.Reshape(shape=to)))
        return steps

    return translate


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
    "DepthToSpace": blocks_of_pixels(nn.DepthToSpace),
    "Erf": fixed(type="erf"),
    "Exp": fixed(type="exp"),
    "Greater": greater,
    "LayerNormalization": layer_normalization,
    "Log": fixed(type="log"),
    "Neg": fixed(type="power", scale=-1.0),
    "Pow": power,
    "Reciprocal": fixed(type="power", power=-1.0),
    "ReduceL1": reduction("asum"),
    "ReduceMax": reduction("max"),
    "ReduceMean": reduction("mean"),
    "ReduceSum": reduction("sum"),
    "ReduceSumSquare": reduction("sumsq"),
    "Selu": selu,
    "SpaceToDepth": blocks_of_pixels(nn.SpaceToDepth),
    "Sqrt": fixed(type="power", power=0.5),
    "Swish": swish,
}
