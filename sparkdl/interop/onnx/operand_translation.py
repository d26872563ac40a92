"""Layers for broadcasting sums and products, and for matrix products."""

from dataclasses import replace

import numpy as np

from sparkdl.interop.constant_operands import LARGEST, LOWEST, bound_numbers, constant_layer, line
from sparkdl.interop.onnx.shape_translation import repeat
from sparkdl.interop.onnx.steps import BEFORE, Step
from sparkdl.nn import layers as nn


def limit(values):
    """Returns numbers of which products with booleans, or of two limits, are bounded."""
    return np.where(np.isinf(values), values, np.clip(values, LOWEST, -LOWEST))


def lower_bound(value):
    """Returns a constant as a number that bounds from below.

    Minus infinity bounds nothing; finite numbers below LOWEST are LOWEST, as in sums of masks.
    """
    value = float(np.reshape(value, ()))
    return -LARGEST if value == -np.inf else max(value, float(LOWEST))


def upper_bound(value):
    return -lower_bound(-value)


BOUNDS = {"low": lower_bound, "high": upper_bound}


def add(node):
    return constant_operand(node, "shift", bound_numbers) or element_wise(node, "add")


def subtract(node):
    if node.is_constant(1):
        return constant_operand(node, "shift", lambda values: bound_numbers(-values))
    if node.is_constant(0):
        negative = Step(layer=line(scale=-1.0), sources=(1,))
        return [negative, *constant_operand(node, "shift", bound_numbers, BEFORE)]
    if node.shape(0) == node.shape(1):
        return element_wise(node, "subtract")
    return [Step(layer=line(scale=-1.0), sources=(1,)), *element_wise(node, "add", BEFORE)]


def multiply(node):
    return constant_operand(node, "scale", limit) or element_wise(node, "product")


def divide(node):
    if node.is_constant(1):
        return constant_operand(node, "scale", np.reciprocal)
    inverse = Step(layer=nn.Activation({"type": "power", "power": -1.0}), sources=(1,))
    if node.is_constant(0):
        return [inverse, *constant_operand(node, "scale", source=BEFORE)]
    return [inverse, *element_wise(node, "product", BEFORE)]


def element_wise(node, operation, second=1):
    """Returns the Steps of an operation on two computed inputs; `second` is the second's index."""
    return join(node, operation, (node.shape(0), node.shape(1)), (0, second))


def join(node, operation, shapes, sources):
    """Returns the Step of an operation on two sources of these shapes, which may broadcast."""
    if shapes[0] == shapes[1]:
        return [Step(layer=nn.ElementWise(operation=operation), sources=sources)]
    whole, layer = np.broadcast_shapes(*shapes), nn.Broadcasting(operation=operation)
    alike = len(shapes[0]) == len(shapes[1]) and operation in ("add", "product")
    node.need(alike, f"broadcasting of {shapes}")
    if whole in shapes:
        sources = sources if shapes[0] == whole else sources[::-1]
        return [Step(layer=layer, sources=sources)]
    x, y = sources
    wide = [Step(layer=nn.Activation("identity"), sources=(x,)), *repeat(shapes[0], whole)]
    return [*wide, Step(layer=layer, sources=(BEFORE, y - len(wide) if y < 0 else y))]


def keep(node, shapes, sources):
    """Returns the Steps of one source where a mask, the other one, is not 0; elsewhere of 0.

    What is left out may be infinite or NaN, which a product with 0 would not hide.
    """
    (mask, kept), layer = shapes, nn.Broadcasting(operation="mask")
    node.need(len(mask) == len(kept), f"broadcasting of {shapes}")
    wide, (seen, x) = np.broadcast_shapes(mask, kept), sources
    if wide == tuple(kept):
        return [Step(layer=layer, sources=(x, seen))]
    first = Step(layer=nn.Activation("identity"), sources=(x,))
    steps = [first, *repeat(tuple(kept), wide)]
    return [*steps, Step(layer=layer, sources=(BEFORE, seen - len(steps) if seen < 0 else seen))]


def maximum(node):
    """Returns the maximum of computed inputs, or of one input and a constant number."""
    return clip_by_constant(node, "low") or several("max")(node)


def minimum(node):
    """Returns the minimum likewise; of computed inputs the opposite of the largest opposite."""
    clipped = clip_by_constant(node, "high")
    if clipped or len(node.inputs) == 1:
        return clipped or several("max")(node)
    [largest] = several("max")(node)
    opposites = [Step(layer=line(scale=-1.0), sources=(i,)) for i in largest.sources]
    behind = tuple(range(-len(opposites), 0))
    return [*opposites, replace(largest, sources=behind), Step(layer=line(scale=-1.0))]


def clip_by_constant(node, bound):
    """Returns the Steps of one input, bounded by a constant number; None without a constant.

    Parameters
    ----------
    bound : "low" or "high"
        Which bound the constant is.
    """
    [*constant] = filter(node.is_constant, range(len(node.inputs)))
    if not constant:
        return None
    node.need(len(node.inputs) == 2, "a constant among several inputs")
    value, x = node.constant(constant[0]), 1 - constant[0]
    node.need(value.size == 1 and value.ndim <= len(node.shape(x)) + 1, f"a limit of {value.shape}")
    clip = {"type": "clip", "low": -LARGEST, "high": LARGEST}
    clip[bound] = BOUNDS[bound](value)
    return [Step(layer=nn.Activation(clip), sources=(x,))]


def several(operation):
    """Returns the rule of an operation on any number of inputs of one shape."""

    def translate(node):
        shapes = {node.shape(i) for i in range(len(node.inputs))}
        node.need(len(shapes) == 1, f"broadcasting of {sorted(shapes)}")
        if len(node.inputs) == 1:
            return [Step(layer=nn.Activation("identity"))]
        sources = tuple(range(len(node.inputs)))
        return [Step(layer=nn.ElementWise(operation=operation), sources=sources)]

    return translate


def constant_operand(node, flag, change=np.asarray, source=None, trains=None):
    """Returns the Steps of a node with one constant operand; None if it has none.

    Parameters
    ----------
    flag : "scale" or "shift"
    change : callable
        Applied to the constant first.
    source : optional
        Source of the other operand. None: the node's other input.
    trains : bool, optional
        Whether the constant is trained. None: unless it is a single number or a mask.
    """
    at = next((i for i in (0, 1) if node.is_constant(i)), None)
    if at is None:
        return None
    values, shape = change(node.constant(at)), node.shape(1 - at)
    return with_constant(node, values, shape, flag, 1 - at if source is None else source, trains)


def with_constant(node, values, shape, flag, source, trains=None):
    """Returns the Steps of a sum or product with a constant, which may have longer axes."""
    values = np.asarray(values, np.float32)
    example = values.shape[values.ndim > len(shape) :]  # without the batch's axis
    wide, steps = widen(shape, example), []
    if wide != tuple(shape):
        first = Step(layer=nn.Activation("identity"), sources=(source,))
        steps, source = [first, *repeat(tuple(shape), wide)], BEFORE
    layer, weights = operand_layer(node, values, wide, flag, trains)
    return [*steps, Step(layer=layer, weights=weights, sources=(source,))]


def widen(shape, constant):
    """Returns the shape of an example that a constant broadcasts; unchanged if it does not fit."""
    more = (1,) * (len(shape) - len(constant)) + tuple(constant)
    fits = len(more) == len(shape) and all(
        1 in (m, n) or m == n for m, n in zip(more, shape, strict=True)
    )
    return tuple(map(max, more, shape)) if fits else tuple(shape)


def operand_layer(node, values, shape, flag, trains=None):
    """Returns (layer, weights) of a constant operand; UnsupportedError if it does not broadcast."""
    found = constant_layer(values, shape, flag, trains)
    node.need(found, f"a constant of shape {values.shape} with an example of {shape}")
    return found


def matmul(node):
    """Returns a dense layer if one operand is constant, else the product of two computed ones.

    A constant of several matrices (n, in, out) is one for each of n rows.
    """
    if not node.is_constant(1):
        for index in (0, 1):
            node.shape(index)  # UnsupportedError unless the batch is first
        return [Step(layer=nn.MatMul(), sources=(0, 1))]
    W, shape = node.constant(1), node.shape()
    if W.ndim == 3 and len(shape) == 2 and len(W) == shape[0]:
        rows = nn.LocallyConnected1D(filters=W.shape[2], kernel_size=1, bias=False)
        return [Step(layer=rows, weights={"W": W})]
    node.need(W.ndim == 2, f"B of shape {W.shape}")
    return on_rows(nn.Dense(units=W.shape[1], bias=False), {"W": W}, shape)


def on_rows(layer, weights, shape):
    """Returns the Steps of a dense layer on the last axis of examples."""
    if len(shape) <= 2:
        return [Step(layer=layer, weights=weights)]
    rows = nn.Reshape(shape=(-1, shape[-1]))
    back = nn.Reshape(shape=(*shape[:-1], layer.units))
    return [Step(layer=rows), Step(layer=layer, weights=weights), Step(layer=back)]


OPERAND_RULES = {
    "Add": add,
    "Div": divide,
    "MatMul": matmul,
    "Max": maximum,
    "Min": minimum,
    "Mul": multiply,
    "Sub": subtract,
    "Sum": several("add"),
}
