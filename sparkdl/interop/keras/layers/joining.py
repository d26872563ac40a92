"""Layers of several inputs."""

from functools import partial

from sparkdl.errors import UnsupportedError
from sparkdl.interop.keras.automatic_masks import joined_mask, mask_or_all
from sparkdl.interop.keras.places import example_axis, keras_shape
from sparkdl.nn import layers as nn


def element_wise(operation, at):
    inputs = alike(at)
    check_same_masks(at)
    if len({place.shape for place in inputs}) == 1:
        return at.add(nn.ElementWise(operation=operation), *inputs, filled=fills(at))
    return gate(at, operation)


def check_same_masks(at):
    """Raises UnsupportedError for other masks than one of all inputs: versions of Keras differ."""
    if len({place.mask for place in at.inputs}) > 1:
        raise UnsupportedError(
            "inputs of which some have a mask, or another one, are not supported"
        )


def fills(at):
    """Returns whether masked steps are joined as others; in some of Keras's layers they are not."""
    same = at.kind in ("Add", "Subtract", "Average") or not at.inputs[0].masked
    if not same:
        at.translation.unlike.append(at.layer.name)
    return same and all(place.filled for place in at.inputs)


def gate(at, operation):
    """Adds an operation on images (H, W, C) and one number per channel (1, 1, C)."""
    two = [at.first(place) for place in at.inputs]
    wide, narrow = sorted(two, key=lambda place: -place.shape[-1])
    channels = (wide.shape[0], *[1] * (len(wide.shape) - 1))
    fits = len(two) == 2 and len(wide.shape) > 2 and narrow.shape == channels
    if not fits or operation not in ("add", "product"):
        raise UnsupportedError(f"broadcasting of {[keras_shape(p) for p in at.inputs]}")
    row = at.add(nn.Reshape(shape=narrow.shape[:1]), narrow, turned=False, helper=True)
    return at.add(nn.Broadcasting(operation=operation), wide, row)


def alike(at):
    """Returns the inputs in the same axis order."""
    if len(at.inputs) < 2:
        raise UnsupportedError("less than two inputs")
    turned = at.inputs[0].turned
    return [at.translation.turn(place, turned) for place in at.inputs]


def minimum(at):
    """Adds a minimum: minus the maximum of the negatives."""
    check_same_masks(at)
    minus = [at.add(nn.Rescaling(scale=-1.0), place, helper=True) for place in alike(at)]
    most = at.add(nn.ElementWise(operation="max"), *minus, helper=True)
    return at.add(nn.Rescaling(scale=-1.0), most, filled=fills(at))


def concatenate(at):
    inputs = alike(at)
    rank, axis = len(inputs[0].shape), at.options.size("axis", -1)
    place = example_axis(axis, rank)
    at.options.need(place is not None, "axis", axis)
    if inputs[0].turned:
        place = 0 if place == rank - 1 else place + 1
    if rank == 2 and place == 0:
        mask = joined_mask([mask_or_all(one) for one in inputs])
        mask = None if mask[0] == "all" else mask
        return at.add(nn.Merge(axis=0), *inputs, mask=mask)
    check_same_masks(at)
    return at.add(nn.Merge(axis=place), *inputs)


OPERATIONS = {
    "Add": "add",
    "Subtract": "subtract",
    "Multiply": "product",
    "Average": "average",
    "Maximum": "max",
}
JOINING = {
    **{name: partial(element_wise, operation) for name, operation in OPERATIONS.items()},
    "Minimum": minimum,
    "Concatenate": concatenate,
}
