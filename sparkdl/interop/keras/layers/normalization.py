"""Normalization."""

import numpy as np

from sparkdl.interop.keras.members import initializer
from sparkdl.interop.keras.places import Take, flat
from sparkdl.nn import layers as nn

LEAST = 1e-14  # variance for which Keras's Normalization divides by at least 1e-7
NEXT_TO_NOTHING = 1e-30  # epsilon that changes no such variance


def over_channels(at):
    """Returns the Place to normalize with its features or channels where ours are."""
    x, options = at.one(), at.options
    rank, axis = len(x.shape), options.take("axis", -1)
    axis = axis[0] if isinstance(axis, list) and len(axis) == 1 else axis
    options.need(type(axis) is int and axis != 0 and -rank <= axis <= rank, "axis", axis)
    axis = axis + rank + 1 if axis < 0 else axis
    options.need(axis == rank or (axis == 1 and rank > 2), "axis", axis)
    return at.first(x) if axis == rank else at.plain(x)


def batch_norm(at):
    x, options = over_channels(at), at.options
    layer = nn.BatchNorm(
        momentum=options.number("momentum", 0.99),
        epsilon=options.number("epsilon", 1e-3),
        scale=options.flag("scale", True),
        shift=options.flag("center", True),
    )
    check_training(options)
    options.only(synchronized=False, renorm=False)
    unused(options, "renorm_clipping", "renorm_momentum", "fused", "virtual_batch_size")
    unused(options, "moving_mean_initializer", "moving_variance_initializer")
    return at.add(layer, x, takes=[Take(ours=name) for name in arrays(layer)])


def arrays(layer):
    flags = {"gamma": layer.scale, "beta": layer.shift}
    return [*(name for name, flag in flags.items() if flag), "mean", "variance"]


def check_training(options):
    """Raises UnsupportedError for training options that gamma and beta do not have."""
    for name, first in {"gamma": "ones", "beta": "zeros"}.items():
        given = initializer(options.take(f"{name}_initializer", first))
        options.need(given == initializer(first), f"{name}_initializer", given)
        options.only(**{f"{name}_regularizer": None, f"{name}_constraint": None})


def unused(options, *names):
    """Ignores options that have no effect here."""
    for name in names:
        options.take(name)


def layer_norm(at):
    x, options = at.plain(at.one()), at.options
    rank, axis = len(x.shape), options.take("axis", -1)
    axes = axis if isinstance(axis, list) else [axis]
    sound = all(type(a) is int and a != 0 and -rank <= a <= rank for a in axes)
    options.need(sound and axes, "axis", axis)
    axes = sorted({(a - 1 if a > 0 else a) % rank for a in axes})
    layer = nn.LayerNorm(
        axes=tuple(axes),
        epsilon=options.number("epsilon", 1e-3),
        scale=options.flag("scale", True),
        shift=options.flag("center", True),
    )
    check_training(options)
    options.only(rms_scaling=False)
    takes = [Take(ours=name) for name in arrays(layer)[:-2]]
    return at.add(layer, x, takes=takes)


def normalization(at):
    """Normalizes with the statistics that `adapt` has counted; its third array is that count."""
    x = over_channels(at)
    at.options.only(mean=None, variance=None, invert=False)
    at.trainable = False  # so that training keeps them
    layer = nn.BatchNorm(scale=False, shift=False, epsilon=NEXT_TO_NOTHING)
    mean, variance = Take(ours="mean", change=flat), Take(ours="variance", change=bounded)
    return at.add(layer, x, takes=[mean, variance, Take(ours="")])


def bounded(variance):
    return np.maximum(flat(variance), LEAST)


NORMALIZATION = {
    "BatchNormalization": batch_norm,
    "LayerNormalization": layer_norm,
    "Normalization": normalization,
}
