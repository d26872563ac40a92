"""Shapes of tensors whose batch is not the first axis, or whose numbers are integers."""

from math import prod
from typing import NamedTuple

from onnx import TensorProto

FLOATS = "floats"
WHOLE = "whole numbers"
CUT = "whole parts of floats"
TYPES = {  # input types
    TensorProto.FLOAT: FLOATS,
    TensorProto.INT64: WHOLE,
    TensorProto.INT32: WHOLE,
    TensorProto.BOOL: WHOLE,
}


class Place(NamedTuple):
    """Where a tensor of the file has the batch, and what its numbers are.

    Parameters
    ----------
    index : int
        The axis of an example that follows the batch; a network has the batch first.
    before, behind : bool
        Whether the file merges the batch with the axis before it, or with the one behind it, as
        with heads of attention.
    kind : str
        WHOLE: the file has integers or booleans, such as indices of a table. CUT: the same, from
        floats of which only the integer parts count.
    """

    index: int = 0
    before: bool = False
    behind: bool = False
    kind: str = FLOATS


FIRST = Place()


class LaidShape(tuple):
    """The shape of an example, with the Place of the batch; a plain tuple has it FIRST."""

    place = FIRST


def lay(shape, place):
    """Returns the shape of an example, as a LaidShape unless the batch is FIRST."""
    if place == FIRST:
        return tuple(shape)
    made = LaidShape(shape)
    made.place = place
    return made


def place_of(shape):
    return getattr(shape, "place", FIRST)


def axes_of(shape):
    """Returns the axes of the file's tensor, each a tuple of axes of an example.

    None among them is the batch.
    """
    place = place_of(shape)
    first, last = place.index - place.before, place.index + place.behind
    merged = (*range(first, place.index), None, *range(place.index, last))
    return [*((i,) for i in range(first)), merged, *((i,) for i in range(last, len(shape)))]


def lengths_of(shape, size):
    """Returns the shape of the file's tensor for a batch of `size` examples."""
    return [prod(size if i is None else shape[i] for i in axis) for axis in axes_of(shape)]


def order_axes(axes):
    """Returns (order of an example's axes, position of the batch) of axes as of `axes_of`."""
    flat = [i for axis in axes for i in axis]
    return tuple(i for i in flat if i is not None), flat.index(None)


def with_axes(shape, place):
    """Returns (shape of an example, its Place); a network's examples have at least one axis.

    One without axes gets an axis of 1, merged with the batch, which loses it once there are others.
    """
    if not shape:
        return (1,), place._replace(index=0, behind=True)
    lone = place.behind and not place.before and shape[place.index] == 1 and len(shape) > 1
    if not lone:
        return tuple(shape), place
    left = (*shape[: place.index], *shape[place.index + 1 :])
    return left, place._replace(behind=False)
