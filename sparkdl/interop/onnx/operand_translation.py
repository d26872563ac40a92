"""Layers for broadcasting sums and products, and for matrix products."""

import numpy as np

from sparkdl.interop.constant_operands import HIDES, HIDES_BESIDE_0, LARGEST, constant_layer, line
from sparkdl.interop.onnx.steps import BEFORE, Step
from sparkdl.nn import layers as nn


def add(node):
    return constant_operand(node, "shift") or element_wise(node, "add")


def subtract(node):
    if node.is_constant(1):
        return constant_operand(node, "shift", np.negative)
    if node.is_constant(0):
        negative = Step(layer=line(scale=-1.0), sources=(1,))
        return [negative, *constant_operand(node, "shift", source=BEFORE)]
    if node.shape(0) == node.shape(1):
        return element_wise(node, "subtract")
    return [Step(layer=line(scale=-1.0), sources=(1,)), *element_wise(node, "add", BEFORE)]


def multiply(node):
    return constant_operand(node, "scale") or element_wise(node, "product")


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
    whole = np.broadcast_shapes(*shapes)
    node.need(whole in shapes and operation in ("add", "product"), f"broadcasting of {shapes}")
    node.need(len(shapes[0]) == len(shapes[1]), f"broadcasting of {shapes}")
    sources = sources if shapes[0] == whole else sources[::-1]
    return [Step(layer=nn.Broadcasting(operation=operation), sources=sources)]


def where(node):
    """Returns the product of a number and a computed mask: 0 where the mask is false.

    For a constant mask see `fill`.
    """
    if node.is_constant(0):
        return fill(node)
    mask = tuple(node.any_shape(0))
    x, other = (1, 2) if node.is_constant(2) else (2, 1)
    zero = node.constant(other)
    node.need(zero.size == 1 and not zero.any(), "a choice between others than numbers and 0")
    if x == 1:
        return join(node, "product", (mask, node.shape(1)), (0, 1))
    hidden = Step(layer=line(scale=-1.0, shift=1.0), sources=(0,))
    return [hidden, *join(node, "product", (mask, node.shape(2)), (BEFORE, 2))]


def fill(node):
    """Replaces the numbers that a constant mask chooses by a constant."""
    computed = [i for i in (1, 2) if not node.is_constant(i)]
    node.need(len(computed) == 1, "a constant choice between computed inputs")
    [x] = computed
    keeps, other = node.constants[node.inputs[0]] == (x == 1), node.constant(3 - x)
    hides = other.max() <= HIDES_BESIDE_0
    node.need(other.size == 1 or hides, "a choice between numbers and others than one")
    filled = np.where(keeps, np.float32(0), other)
    ways = {"scale": keeps, "shift": filled}
    if (keeps | (filled <= HIDES)).all():  # what is added leaves no trace of the others
        del ways["scale"]
    layers = [operand_layer(node, ways[flag], node.shape(x), flag, trains=False) for flag in ways]
    return [
        Step(layer=layer, weights=weights, sources=(BEFORE if place else x,))
        for place, (layer, weights) in enumerate(layers)
    ]


def maximum(node):
    """Returns the maximum of computed inputs, or of one input and a constant number."""
    [*constant] = filter(node.is_constant, range(len(node.inputs)))
    if not constant:
        return several("max")(node)
    node.need(len(node.inputs) == 2, "a constant among several inputs")
    low, x = node.constant(constant[0]), 1 - constant[0]
    node.need(low.size == 1 and low.ndim <= len(node.shape(x)) + 1, f"a limit of {low.shape}")
    clip = {"type": "clip", "low": float(low.reshape(())), "high": LARGEST}
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


def constant_operand(node, flag, change=np.asarray, source=None):
    """Returns the Steps of a node with one constant operand; None if it has none.

    Parameters
    ----------
    flag : "scale" or "shift"
    change : callable
        Applied to the constant first.
    source : optional
        Source of the other operand. None: the node's other input.
    """
    at = next((i for i in (0, 1) if node.is_constant(i)), None)
    if at is None:
        return None
    values, shape = change(node.constant(at)), node.shape(1 - at)
    layer, weights = operand_layer(node, values, shape, flag)
    return [Step(layer=layer, weights=weights, sources=(1 - at if source is None else source,))]


def operand_layer(node, values, shape, flag, trains=None):
    """Returns (layer, weights) of a constant operand; UnsupportedError if it does not broadcast."""
    found = constant_layer(values, shape, flag, trains)
    node.need(found, f"a constant of shape {values.shape} with an example of {shape}")
    return found


def matmul(node):
    """Returns a dense layer if one operand is constant, else the product of two computed ones."""
    if not node.is_constant(1):
        for index in (0, 1):
            node.shape(index)  # UnsupportedError unless the batch is first
        return [Step(layer=nn.MatMul(), sources=(0, 1))]
    node.need(len(node.shape()) in (1, 2), f"an example of shape {node.shape()}")
    W = node.constant(1)
    node.need(W.ndim == 2, f"B of shape {W.shape}")
    return [Step(layer=nn.Dense(units=W.shape[1], bias=False), weights={"W": W})]


OPERAND_RULES = {
    "Add": add,
    "Div": divide,
    "MatMul": matmul,
    "Max": maximum,
    "Mul": multiply,
    "Sub": subtract,
    "Sum": several("add"),
    "Where": where,
}
