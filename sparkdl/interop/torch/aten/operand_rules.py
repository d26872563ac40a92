"""Layers for aten operations on two operands, one of which may be constant."""

import numpy as np

from sparkdl.interop.constant_operands import (
    bound_numbers,
    constant_layer,
    line,
    make_threshold,
    shape_of_example,
)
from sparkdl.interop.torch.aten.learned_numbers import beside, learned, once
from sparkdl.interop.torch.aten.mask_rules import BOOL, fill_masked, keep_shown
from sparkdl.interop.torch.aten.node import Place, as_array
from sparkdl.interop.torch.aten.trained_arrays import is_trained
from sparkdl.nn import layers as nn
from sparkdl.nn.layers.joining.broadcasting import repeats


def arithmetic(operation, order=("self", "other")):
    """Returns the rule of an operation on two operands, one of which may be constant."""

    def translate(node):
        made = combine(node)
        if operation == "add" and node.kinds["result"] == BOOL:  # torch's sum of booleans is "or"
            return node.add(make_threshold(0.5), made)
        return made

    def combine(node):
        x, other = map(node.__getitem__, order)
        node.need(node["alpha"] in (None, 1), f"alpha={node['alpha']}")
        node.need(node["rounding_mode"] is None, f"rounding_mode={node['rounding_mode']!r}")
        if isinstance(x, Place) and isinstance(other, Place):
            level = beside(node.network, x, other), beside(node.network, other, x)
            return of_two(node, operation, *level)
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
    """Adds or multiplies by a number, a buffer, or a parameter, which is trained."""
    if is_trained(other) and not x.batched:
        return with_learned(node, operation, x, other)
    if is_trained(other):
        return with_parameter(node, operation, x, other)
    values = as_array(other)
    if operation == "divide":
        values = 1 / values
    else:
        values = bound_numbers(-values if operation == "subtract" else values)
    return add_constant(node, x, values, "shift" if operation in ("add", "subtract") else "scale")


def with_parameter(node, operation, x, values):
    """Adds or multiplies by a parameter, which is trained."""
    if operation == "divide":
        return with_learned(node, operation, x, values)
    if operation == "subtract":
        behind = with_parameter(node, "add", node.add(line(scale=-1.0), x), values)
        return node.add(line(scale=-1.0), behind)
    places = tuple(values.shape) in (x.shape, (1, *x.shape))
    if operation == "add" and len(x.shape) == 2 and places:
        return node.add(nn.PositionEmbedding(), x, weight=values.reshape(x.shape))
    flag, theirs = ("shift", "bias") if operation == "add" else ("scale", "weight")
    if values.numel() == 1:
        flags = {"scale": flag == "scale", "shift": flag == "shift"}
        return node.add(nn.Affine(axes=0, **flags), x, **{theirs: values.reshape(1)})
    layer, [array] = constant_of(node, x, as_array(values), flag)
    if array.size != values.numel():
        return with_learned(node, operation, x, values)
    return node.add(layer, x, **{theirs: values.reshape(array.shape)})


def with_learned(node, operation, x, values):
    """Computes with a parameter that becomes a layer of its own."""
    place = learned(node.network, node.module, values)
    return of_two(node, operation, beside(node.network, x, place), beside(node.network, place, x))


def add_constant(node, x, values, flag):
    """Adds a layer that shifts or scales a Place by an array that is not trained."""
    layer, arrays = constant_of(node, x, values, flag, trains=False)
    theirs = {"shift": "bias", "scale": "weight"}[flag]
    return node.add(layer, x, **dict(zip((theirs,), arrays, strict=False)))


def constant_of(node, x, values, flag, trains=True):
    """Returns (layer, list of at most one array) for a constant combined with a Place."""
    if values.ndim == len(x.shape) + 1:
        values = once(values, node.size)
    found = constant_layer(values, x.shape, flag, trains)
    node.need(found, f"a constant of shape {values.shape} with examples of {x.shape}")
    layer, weights = found
    return layer, list(weights.values())


def masked_fill(node):
    if isinstance(node["mask"], Place):
        return fill_masked(node)
    return fill(node, node.place("self"), node["mask"], node["value"])


def where(node):
    """Selects by a constant condition between a computed value and a number."""
    x, other, shown = node["self"], node["other"], node["condition"]
    node.need(hasattr(shown, "detach"), "a condition that is computed")
    if isinstance(x, Place):
        return fill(node, x, ~shown, other)
    return fill(node, node.place("other"), shown, x)


def fill(node, x, mask, value):
    """Replaces entries under a constant mask by a number."""
    node.need(hasattr(mask, "detach"), "a mask that is computed")
    node.need(not is_trained(value), "a value that is trained")
    value = as_array(value) if not isinstance(value, Place) else None
    node.need(value is not None and value.size == 1, "other values than one number")
    shown = shape_of_example(1 - mask.numpy().astype(np.float32), x.shape)
    node.need(shown is not None, f"a mask of {tuple(mask.shape)} with examples of {x.shape}")
    place = learned(node.network, node.module, shown)
    kept = keep_shown(node, x, place)
    return add_constant(node, kept, (1 - shown) * bound_numbers(value.reshape(())), "shift")


OPERAND_RULES = {
    "add": arithmetic("add"),
    "div": arithmetic("divide"),
    "masked_fill": masked_fill,
    "mul": arithmetic("product"),
    "rsub": arithmetic("subtract", order=("other", "self")),
    "sub": arithmetic("subtract"),
    "where": where,
}
