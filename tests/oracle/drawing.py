"""Draws a layer of any type for a given shape."""

from math import prod

from sparkdl.errors import ConfigError, ShapeError
from tests.oracle import plain_layers, windows

LARGEST = 600  # size of an example's output
DRAWN = plain_layers.DRAWN | windows.DRAWN
OFTEN, CORE = 4, ("Conv", "Dense", "BatchNorm", "LayerNorm", "MaxPool", "AvgPool", "LSTM", "GRU")
RARE = {"Frozen", "TimeDistributed"}


def layer_for(choices, shape, wrapped=False):
    """Returns a layer that takes an example of this shape.

    Raises
    ------
    ShapeError
        If the layer drawn rejects the shape after all, or its output is too large.
    """
    names = [
        name
        for name, (ranks, _) in DRAWN.items()
        if len(shape) in ranks and not (wrapped and name in RARE)
        for _ in range(OFTEN if name.startswith(CORE) else 1)
    ]
    layer = DRAWN[choices.pick(names)][1](choices, shape)
    after_all(layer, shape)
    return layer


def after_all(layer, shape):
    """Returns the output shape of `layer`, after the Flatten that a network would insert."""
    if layer.takes_rows and len(shape) > 2:
        shape = (prod(shape),)
    out = layer.out_shape(shape)
    if not 1 <= prod(out) <= LARGEST or len(out) > 4:
        raise ShapeError(f"{layer} makes {out} of {shape}, more than is wanted")
    return out


def fitting(make, tries=4):
    """Returns the first valid result of `make`, after a few tries."""
    for left in range(tries, 0, -1):
        try:
            return make()
        except (ConfigError, ShapeError):
            if left == 1:
                raise
