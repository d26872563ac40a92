"""Layers for aten operations that make masks of ids, whose booleans are floats 1 and 0."""

import numpy as np

from sparkdl.interop.constant_operands import (
    FAR_BELOW_HIDDEN,
    HIDDEN,
    bound_numbers,
    line,
    make_threshold,
)
from sparkdl.interop.torch.aten.node import Place
from sparkdl.nn import layers as nn
from sparkdl.nn.layers.joining.broadcasting import repeats

BOOL, FLOAT = "torch.bool", "torch.float32"
# Floats have all whole numbers up to these, which already stand for their neighbours.
FIRST_ROUNDED = {"bfloat16": 2**8, "float16": 2**11}
FIRST_ROUNDED_OF_OTHERS = 2**24


def cast(node):
    """Casts integers and booleans to floats."""
    node.need(node.kinds["result"] == FLOAT, f"a cast to {node.kinds['result']}")
    return node.place("self")


def differs(node):
    """Returns x != number."""
    number = node["other"]
    node.need(isinstance(number, int | float), "comparing with others than a number")
    dtype = node.network.dtype
    limit = FIRST_ROUNDED.get(dtype, FIRST_ROUNDED_OF_OTHERS)
    node.need(abs(number) < limit, f"comparing with {number} in {dtype}")
    apart = node.add(line(shift=-float(number)), node.place("self"))
    return node.add(make_threshold(0.0), node.add(nn.Activation("abs_val"), apart))


def equals(node):
    return opposite_of(node, differs(node))


def opposite(node):
    node.need(node.kinds["self"] == BOOL, f"the opposite of {node.kinds['self']}")
    return opposite_of(node, node.place("self"))


def opposite_of(node, mask):
    return node.add(line(scale=-1.0, shift=1.0), mask)


def hide(node, scores, mask):
    """Adds a computed mask to scores: numbers, or booleans of what is seen."""
    if node.kinds["attn_mask"] == BOOL:
        mask = node.add(line(scale=-float(HIDDEN), shift=float(HIDDEN)), mask)
    return add_narrow(node, scores, mask)


def without_hidden(node, shares, mask):
    """Returns shares of attention, 0 in rows of which a mask shows nothing, as torch has them."""
    if node.kinds["attn_mask"] != BOOL:
        mask = shown_by(node, mask)
    count = node.add(nn.Reduce(operation="sum", axis=len(mask.shape) - 1), mask)
    column = node.add(nn.Reshape(shape=(*mask.shape[:-1], 1)), count)
    seen = node.add(make_threshold(0.5), column)
    return node.add(nn.Broadcasting(operation="product"), shares, seen)


def shown_by(node, mask):
    """Returns 0 where HIDDEN, for minus infinity, is in a mask, alone or in a sum, else 1.

    Inputs may have finite numbers below it, which leave shares to rows that they hide.
    """
    above = node.add(make_threshold(float(HIDDEN) / 2), mask)
    below = node.add(make_threshold(FAR_BELOW_HIDDEN), node.add(line(scale=-1.0), mask))
    return node.add(nn.Broadcasting(operation="add"), above, below)


def add_narrow(node, x, narrow):
    return join_narrow(node, "add", x, narrow)


def join_narrow(node, operation, x, narrow):
    """Returns an operation on x and a mask, whose axes are as long as those of x, or 1."""
    fits = isinstance(x, Place) and repeats(narrow.shape, x.shape)
    node.need(fits, f"a mask of {narrow.shape}")
    return node.add(nn.Broadcasting(operation=operation), x, narrow)


def fill_masked(node):
    """Replaces what a computed mask chooses by a number."""
    value, mask = node["value"], node["mask"]
    node.need(isinstance(value, int | float), "filling with others than a number")
    kept = keep_shown(node, node.place("self"), opposite_of(node, mask))
    if value == 0:
        return kept
    filled = line(scale=float(bound_numbers(np.float32(value))))
    return add_narrow(node, kept, node.add(filled, mask))


def keep_shown(node, x, shown):
    """Returns x where a mask is 1, else 0, even if x is infinite or NaN there."""
    return join_narrow(node, "mask", x, shown)


MASK_RULES = {
    "bitwise_not": opposite,
    "eq": equals,
    "logical_not": opposite,
    "ne": differs,
    "to": cast,
}
