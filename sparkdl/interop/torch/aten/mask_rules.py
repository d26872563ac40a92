"""Layers for aten operations that make masks of ids, whose booleans are floats 1 and 0."""

import numpy as np

from sparkdl.interop.constant_operands import HIDDEN, line
from sparkdl.interop.torch.aten.node import Place
from sparkdl.nn import layers as nn
from sparkdl.nn.layers.joining.broadcasting import repeats

BOOL, FLOAT = "torch.bool", "torch.float32"
LARGEST_EXACT = 2**24  # of the integers that 32-bit floats have


def cast(node):
    """Casts integers and booleans to floats."""
    node.need(node.kinds["result"] == FLOAT, f"a cast to {node.kinds['result']}")
    return node.place("self")


def differs(node):
    """Returns x != number."""
    number = node["other"]
    node.need(isinstance(number, int | float), "comparing with others than a number")
    node.need(abs(number) <= LARGEST_EXACT, f"comparing with {number}")
    apart = node.add(line(shift=-float(number)), node.place("self"))
    above = nn.Activation({"type": "heaviside", "threshold": 0.0})
    return node.add(above, node.add(nn.Activation("abs_val"), apart))


def equals(node):
    return opposite_of(node, differs(node))


def opposite(node):
    node.need(node.kinds["self"] == BOOL, f"the opposite of {node.kinds['self']}")
    return opposite_of(node, node.place("self"))


def opposite_of(node, mask):
    return node.add(line(scale=-1.0, shift=1.0), mask)


def hide(node, scores, mask, name):
    """Adds a computed mask to scores: numbers, or booleans of what is seen."""
    if node.kinds[name] == BOOL:
        mask = node.add(line(scale=-float(HIDDEN), shift=float(HIDDEN)), mask)
    return add_narrow(node, scores, mask)


def without_hidden(node, shares, mask, name):
    """Returns shares of attention, 0 in rows of which booleans show nothing, as torch has them."""
    if node.kinds[name] != BOOL:
        return shares
    count = node.add(nn.Reduce(operation="sum", axis=len(mask.shape) - 1), mask)
    column = node.add(nn.Reshape(shape=(*mask.shape[:-1], 1)), count)
    seen = node.add(nn.Activation({"type": "heaviside", "threshold": 0.5}), column)
    return node.add(nn.Broadcasting(operation="product"), shares, seen)


def add_narrow(node, x, narrow):
    fits = isinstance(x, Place) and repeats(narrow.shape, x.shape)
    node.need(fits, f"a mask of {narrow.shape}")
    return node.add(nn.Broadcasting(operation="add"), x, narrow)


def fill_masked(node):
    """Replaces what a computed mask chooses by minus infinity, for softmax."""
    node.need(node["value"] == -np.inf, f"filling with {node['value']}")
    return add_narrow(node, node.place("self"), node.add(line(scale=float(HIDDEN)), node["mask"]))


MASK_RULES = {
    "bitwise_not": opposite,
    "eq": equals,
    "logical_not": opposite,
    "ne": differs,
    "to": cast,
}
