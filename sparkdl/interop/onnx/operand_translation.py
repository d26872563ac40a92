"""Layers for sums and products of two operands, which broadcast, and for products of matrices."""

import numpy as np

from sparkdl.interop.onnx.steps import BEFORE, Step
from sparkdl.nn import layers as nn
from sparkdl.nn.layers.core.channels import channel_axis
from sparkdl.nn.layers.joining.broadcasting import repeats

HIDES = np.float32(-1e9)  # numbers up to here are added to hide what softmax would see
HIDDEN = np.float32(-1e30)  # finite, where a file has minus infinity


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


def line(**options):
    """Returns the layer scale x + shift, whose numbers are not trained."""
    return nn.Activation({"type": "power", **options})


def element_wise(node, operation, second=1):
    """Returns the Steps of an operation of two computed inputs; `second` is where the second is."""
    shapes = node.shape(0), node.shape(1)
    if shapes[0] == shapes[1]:
        return [Step(layer=nn.ElementWise(operation=operation), sources=(0, second))]
    whole = np.broadcast_shapes(*shapes)
    node.need(whole in shapes and operation in ("add", "product"), f"broadcasting of {shapes}")
    node.need(len(shapes[0]) == len(shapes[1]), f"broadcasting of {shapes}")
    sources = (0, second) if shapes[0] == whole else (second, 0)
    return [Step(layer=nn.Broadcasting(operation=operation), sources=sources)]


def constant_operand(node, flag, change=np.asarray, source=None):
    """Returns the Steps of a node one of whose operands is constant, else None.

    One number, and what hides from softmax, are not trained; others are an Affine's.

    Parameters
    ----------
    flag : "scale" or "shift"
    change : callable
        What is done to the constant first.
    source : optional
        Where the other operand is; None: at its place in the node.
    """
    at = next((i for i in (0, 1) if node.is_constant(i)), None)
    if at is None:
        return None
    values, shape = change(node.constant(at)), node.shape(1 - at)
    sources = (1 - at if source is None else source,)
    first, values = spread(node, values, shape)
    if values.ndim == 0:
        return [Step(layer=line(**{flag: float(values)}), sources=sources)]
    is_channels = values.ndim == 1 and first == channel_axis(shape)
    axes = {"axis": None if is_channels else first, "axes": values.ndim}
    layer = nn.Affine(scale=flag == "scale", shift=flag == "shift", **axes)
    if flag == "shift" and values.min() <= HIDES:
        layer, values = nn.Frozen(layer=layer), np.maximum(values, HIDDEN)
    name = {"scale": "gamma", "shift": "beta"}[flag]
    return [Step(layer=layer, weights={name: values}, sources=sources)]


def spread(node, values, shape):
    """Returns (first axis of an example, values of the axes from there on) of a constant.

    They are without axes where it is one number.
    """
    fits = values.ndim <= len(shape) or (values.ndim == len(shape) + 1 and values.shape[0] == 1)
    small = values[0] if values.ndim > len(shape) and fits else values
    small = small.reshape((1,) * (len(shape) - small.ndim) + small.shape) if fits else small
    fits = fits and repeats(small.shape, shape)
    node.need(fits, f"a constant of shape {values.shape} with an example of {shape}")
    long = [axis for axis, length in enumerate(small.shape) if length > 1]
    if not long:
        return 0, small.reshape(())
    first, last = long[0], long[-1] + 1
    inside = (*[1] * first, *shape[first:last], *[1] * (len(shape) - last))
    return first, np.broadcast_to(small, inside).reshape(shape[first:last])


def matmul(node):
    """A dense layer where one operand is constant, else the product of two that are computed."""
    if not node.is_constant(1):
        shapes = node.shape(0), node.shape(1)
        alike = min(map(len, shapes)) > 1 and shapes[0][:-2] == shapes[1][:-2]
        node.need(alike, f"the product of examples of {shapes}")
        return [Step(layer=nn.MatMul(), sources=(0, 1))]
    node.need(len(node.shape()) in (1, 2), f"an example of shape {node.shape()}")
    W = node.constant(1)
    node.need(W.ndim == 2, f"B of shape {W.shape}")
    return [Step(layer=nn.Dense(units=W.shape[1], bias=False), weights={"W": W})]


OPERAND_RULES = {"Add": add, "Div": divide, "MatMul": matmul, "Mul": multiply, "Sub": subtract}
