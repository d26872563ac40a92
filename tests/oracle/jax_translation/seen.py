"""The view of a batch that a layer's translation gets, and the table of all translations."""

from dataclasses import dataclass, field, replace
from typing import Any

import jax.numpy as jnp

LAYERS = {}  # {type name: function of (layer, Seen) that gives y}
KEEP = object()  # the mask of the output follows from shapes


@dataclass
class Seen:
    """One layer's share of a pass.

    `xs` its inputs, `params` and `buffers` what it owns by short names, `masks` one for each input
    or None. A translation leaves `new_buffers`, `losses` of examples, and `out_mask` behind.
    """

    xs: tuple
    params: dict
    buffers: dict
    masks: tuple
    training: bool
    labels: Any = None
    new_buffers: dict = field(default_factory=dict)
    losses: list = field(default_factory=list)
    out_mask: Any = KEEP

    @property
    def x(self):
        return self.xs[0]

    @property
    def mask(self):
        return self.masks[0]

    def inside(self, **changes):
        """What a wrapper shows to the layer inside: leaves nothing behind here."""
        fresh = {"new_buffers": {}, "losses": [], "out_mask": KEEP}
        return replace(self, **fresh | changes)


def translates(*names):
    """Enters a function as the translation of layers of these types."""

    def enter(function):
        LAYERS.update(dict.fromkeys(names, function))
        return function

    return enter


def translate(layer, seen):
    """(y, mask of y or None) of one layer."""
    y = LAYERS[layer.type_name](layer, seen)
    mask = kept_mask(seen, y) if seen.out_mask is KEEP else seen.out_mask
    return y, mask


def kept_mask(seen, y):
    """The first mask of an input, while sequences keep as many steps; else None.

    One (N, T, S), of steps within steps, is of x (N, T, S, F).
    """
    for x, mask in zip(seen.xs, seen.masks, strict=True):
        if mask is not None and x.ndim == y.ndim and x.shape[:-1] == y.shape[:-1] == mask.shape:
            return mask
    return None


def steps_there(x, mask, fill=0.0):
    """x (N, T, F) with `fill` where the mask says that there is no step."""
    return x if mask is None else jnp.where(mask[..., None] != 0, x, fill)


def channel_axis(x):
    """Axis of a batch that holds channels: 1 of images and volumes, the last of rows, sequences."""
    return 1 if x.ndim > 3 else x.ndim - 1


def along_channels(values, x):
    """`values` (C,) shaped so that they broadcast over the batch x."""
    axis = channel_axis(x)
    return values.reshape([-1 if i == axis else 1 for i in range(x.ndim)])
