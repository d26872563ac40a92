"""Layers for sums and products of two operands, which broadcast, and for products of matrices."""

import numpy as np

from sparkdl.interop.constant_operands import constant_layer, line
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
    found = constant_layer(values, shape, flag)
    node.need(found, f"a constant of shape {values.shape} with an example of {shape}")
    layer, weights = found
    return [Step(layer=layer, weights=weights, sources=(1 - at if source is None else source,))]


def matmul(node):
    """A dense layer where one operand is constant, else the product of two that are computed."""
    if not node.is_constant(1):
        for index in (0, 1):
            node.shape(index)  # refuses another place of the batch
        return [Step(layer=nn.MatMul(), sources=(0, 1))]
    node.need(len(node.shape()) in (1, 2), f"an example of shape {node.shape()}")
    W = node.constant(1)
    node.need(W.ndim == 2, f"B of shape {W.shape}")
    return [Step(layer=nn.Dense(units=W.shape[1], bias=False), weights={"W": W})]


OPERAND_RULES = {"Add": add, "Div": divide, "MatMul": matmul, "Mul": multiply, "Sub": subtract}
