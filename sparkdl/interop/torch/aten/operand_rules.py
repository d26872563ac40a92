"""Layers for calls of aten operations on two operands, of which one may be constant."""

import numpy as np

from sparkdl.interop.constant_operands import HIDDEN, HIDES, constant_layer, line
from sparkdl.interop.torch.aten.node import Place
from sparkdl.nn import layers as nn
from sparkdl.nn.layers.joining.broadcasting import repeats


def arithmetic(operation):
    """Returns the rule of an operation on two operands, one of which may be constant."""

    def translate(node):
        x, other = node["self"], node["other"]
        node.need(node["alpha"] in (None, 1), f"alpha={node['alpha']}")
        if isinstance(x, Place) and isinstance(other, Place):
            return of_two(node, operation, x, other)
        if isinstance(x, Place):
            return with_constant(node, operation, x, other)
        if operation == "subtract":
            return with_constant(node, "add", node.add(line(scale=-1.0), other), x)
        if operation == "divide":
            return with_constant(node, "product", inverse(node, other), x)
        return with_constant(node, operation, other, x)

    return translate


def inverse(node, place):
    return node.add(nn.Activation({"type": "power", "power": -1.0}), place)


def of_two(node, operation, x, other):
    if operation == "divide":
        return of_two(node, "product", x, inverse(node, other))
    if x.shape == other.shape:
        return node.add(nn.ElementWise(operation=operation), x, other)
    if operation == "subtract":
        return of_two(node, "add", x, node.add(line(scale=-1.0), other))
    wide, narrow = (x, other) if node.shape == x.shape else (other, x)
    sound = repeats(narrow.shape, wide.shape)
    node.need(sound, f"broadcasting of {x.shape} and {other.shape}")
    gate = narrow.shape[0] == wide.shape[0] and set(narrow.shape[1:]) == {1}
    if gate and len(wide.shape) > 2:
        narrow = node.add(nn.Flatten(), narrow)
    return node.add(nn.Broadcasting(operation=operation), wide, narrow)


def with_constant(node, operation, x, other):
    """Adds a number, a parameter, which is trained, or a buffer; or multiplies by it."""
    trains, values = getattr(other, "requires_grad", False), as_array(other)
    if operation in ("subtract", "divide"):
        node.need(not trains or values.size == 1, f"a parameter that one must {operation} by")
        values = -values if operation == "subtract" else 1 / values
    adds = operation in ("add", "subtract")
    if trains and adds and len(x.shape) == 2 and values.shape in (x.shape, (1, *x.shape)):
        return node.add(nn.PositionEmbedding(), x, weight=values.reshape(x.shape))
    return add_constant(node, x, values, "shift" if adds else "scale", trains)


def add_constant(node, x, values, flag, trains=False):
    """Adds the layer that shifts or scales a Place by an array."""
    found = constant_layer(values, x.shape, flag, trains)
    node.need(found, f"a constant of shape {values.shape} with examples of {x.shape}")
    layer, weights = found
    names = {"gamma": "weight", "beta": "bias"}
    return node.add(layer, x, **{names[name]: array for name, array in weights.items()})


def as_array(value):
    """Returns a tensor or a number as an array of floats."""
    return value.detach().float().numpy() if hasattr(value, "detach") else np.float32(value)


def masked_fill(node):
    return fill(node, node.place("self"), node["mask"], node["value"])


def where(node):
    """A condition that is constant, between what is computed and a number."""
    x, other, shown = node["self"], node["other"], node["condition"]
    node.need(hasattr(shown, "detach"), "a condition that is computed")
    if isinstance(x, Place):
        return fill(node, x, ~shown, other)
    return fill(node, node.place("other"), shown, x)


def fill(node, x, mask, value):
    """Puts a number where a constant mask is true; one that hides is added, as softmax sees it."""
    node.need(hasattr(mask, "detach"), "a mask that is computed")
    value = as_array(value) if not isinstance(value, Place) else None
    node.need(value is not None and value.size == 1, "other values than one number")
    hidden, number = mask.numpy(), float(value.reshape(()))
    if number <= HIDES:
        return add_constant(node, x, hidden * HIDDEN, "shift")
    kept = add_constant(node, x, 1.0 - hidden, "scale")
    return add_constant(node, kept, hidden * value.reshape(()), "shift")


OPERAND_RULES = {
    "add": arithmetic("add"),
    "div": arithmetic("divide"),
    "masked_fill": masked_fill,
    "mul": arithmetic("product"),
    "sub": arithmetic("subtract"),
    "where": where,
}
