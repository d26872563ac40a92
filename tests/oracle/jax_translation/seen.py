"""The inputs to a layer's translation, and the table of all translations."""

from dataclasses import dataclass, field, replace
from typing import Any

import jax.numpy as jnp

LAYERS = {}  # {type name: function of (layer, Seen) that gives y}
KEEP = object()  # types whose output mask follows from shapes


@dataclass
class Seen:
    """One layer's inputs and results in a forward pass.

    `xs` are its inputs, `params` and `buffers` its own arrays by short name, `masks` one per input
    or None. A translation sets `new_buffers`, `losses` per example, and `out_mask`.
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
        """Returns what a wrapper's inner layer sees; its results are not recorded here."""
        fresh = {"new_buffers": {}, "losses": [], "out_mask": KEEP}
        return replace(self, **fresh | changes)


def translates(*names):
    """Registers a function as the translation of layers of these types."""

    def enter(function):
        LAYERS.update(dict.fromkeys(names, function))
        return function

    return enter


def translate(layer, seen):
    """Returns (y, mask of y or None) of one layer."""
    y = LAYERS[layer.type_name](layer, seen)
    mask = kept_mask(seen, y) if seen.out_mask is KEEP else seen.out_mask
    return y, mask


def kept_mask(seen, y):
    """Returns the mask of an input if the number of steps is unchanged, else None.

    One of steps within steps, (N, T, S), goes first; it becomes (N, T) where only T is unchanged.
    """
    pairs = [(x, mask) for x, mask in zip(seen.xs, seen.masks, strict=True) if mask is not None]
    for x, mask in sorted(pairs, key=lambda pair: -pair[1].ndim):
        if x.ndim == y.ndim > mask.ndim and x.shape[: mask.ndim] == y.shape[: mask.ndim]:
            return mask
    for x, mask in pairs if len(seen.xs) == 1 else ():
        if x.ndim == y.ndim > 2 and x.shape[:2] == y.shape[:2] and mask.ndim > 2:
            return mask.max(2)
    return None


def steps_there(x, mask, fill=0.0):
    """Replaces masked steps of x (N, T, ...) by `fill`."""
    if mask is None:
        return x
    return jnp.where(mask.reshape(*mask.shape, *[1] * (x.ndim - mask.ndim)) != 0, x, fill)


def channel_axis(x):
    """Returns the channel axis of a batch: 1 for images and volumes, else the last."""
    return 1 if x.ndim > 3 else x.ndim - 1


def along_channels(values, x):
    """Reshapes `values` (C,) to broadcast over the channels of x."""
    axis = channel_axis(x)
    return values.reshape([-1 if i == axis else 1 for i in range(x.ndim)])
