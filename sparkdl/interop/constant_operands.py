"""Sums and products with a broadcast constant, as layers."""

import numpy as np

from sparkdl.nn import layers as nn
from sparkdl.nn.layers.core.channels import channel_axis
from sparkdl.nn.layers.joining.broadcasting import repeats

PARAMETERS = {"scale": "gamma", "shift": "beta"}  # parameters of an Affine
HIDES = np.float32(-1e9)  # numbers up to this are added to hide values from softmax
HIDES_BESIDE_0 = np.float32(-9.9e3)  # so are those up to this (-1e4 in bfloat16), beside zeros
HIDDEN = np.float32(-1e30)  # finite, where others use minus infinity
LOWEST = np.float32(-1e20)  # stands for lower finite numbers, so that sums are above HIDDEN
FAR_BELOW_HIDDEN = 1e35  # beyond all sums of HIDDEN, regardless of the sign
LARGEST = float(np.finfo(np.float32).max)  # stands for "no limit"


def bound_numbers(values):
    """Returns numbers whose sums are finite, in their order; the low ones hide others from softmax.

    Minus infinity becomes HIDDEN; finite numbers stay between LOWEST and its opposite.
    """
    values = np.asarray(values)
    finite = np.where(np.isposinf(values), values, np.clip(values, LOWEST, -LOWEST))
    return np.where(np.isneginf(values), HIDDEN, finite)


def line(**options):
    """Returns the layer scale x + shift, whose numbers are not trained."""
    return nn.Activation({"type": "power", **options})


def make_threshold(threshold):
    """Returns the layer of 1 where a number is above the threshold, else 0."""
    return nn.Activation({"type": "heaviside", "threshold": threshold})


def constant_layer(values, shape, flag, trains=None):
    """Returns (layer, {its parameter: values}), or None if the constant does not broadcast.

    Single numbers are not trained; others are parameters of an Affine.

    Parameters
    ----------
    values : array
        The constant, with or without a batch axis, along which it must not vary.
    shape : tuple of int
        Shape of an example.
    flag : "scale" or "shift"
    trains : bool, optional
        Whether the Affine is trained. None: unless the constant is a mask.
    """
    small = shape_of_example(np.asarray(values, np.float32), shape)
    if small is None:
        return None
    long = [axis for axis, length in enumerate(small.shape) if length > 1]
    if not long:
        return line(**{flag: float(small.reshape(()))}), {}
    first, last = long[0], long[-1] + 1
    inside = (*[1] * first, *shape[first:last], *[1] * (len(shape) - last))
    small = np.broadcast_to(small, inside).reshape(shape[first:last])
    is_channels = small.ndim == 1 and first == channel_axis(shape)
    axes = {"axis": None if is_channels else first, "axes": small.ndim}
    layer = nn.Affine(scale=flag == "scale", shift=flag == "shift", **axes)
    if flag == "shift":
        small = np.maximum(small, HIDDEN)
    trains = not is_mask(small, flag) if trains is None else trains
    return layer if trains else nn.Frozen(layer=layer), {PARAMETERS[flag]: small}


def is_mask(values, flag):
    """Returns whether a constant hides some values: from a softmax, or by a product with 0."""
    low, *others = np.unique(values)
    if flag == "scale":
        return low == 0 and others == [1]
    return low <= HIDES or (low <= HIDES_BESIDE_0 and others == [0])


def shape_of_example(values, shape):
    """Returns a constant with the axes of an example, or None if it does not broadcast."""
    if values.ndim == len(shape) + 1 and len(values) and (values == values[0]).all():
        values = values[0]
    values = values.reshape((1,) * (len(shape) - values.ndim) + values.shape)
    return values if repeats(values.shape, shape) else None
