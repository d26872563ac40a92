"""Normalization by statistics that are known beforehand."""

from functools import partial

import numpy as np

from sparkdl.interop.keras.layers.normalization import over_channels
from sparkdl.interop.keras.places import Take
from sparkdl.nn import layers as nn
from sparkdl.nn.layers.core.channels import channels_of

LEAST = 1e-14  # variance for which Keras divides by at least 1e-7
NEXT_TO_NOTHING = 1e-30  # epsilon that changes no such variance


def normalization(at):
    """Normalizes by the statistics that `adapt` counted, or that are options, or undoes that."""
    at.trainable = False  # so that training keeps them
    if at.options.flag("invert"):
        layer, changes = nn.Affine(), {"beta": np.asarray, "gamma": deviation}
    else:
        layer = nn.BatchNorm(scale=False, shift=False, epsilon=NEXT_TO_NOTHING)
        changes = {"mean": np.asarray, "variance": bounded}
    x, count = place(at)
    numbers = [at.options.take(name) for name in ("mean", "variance")]
    if numbers == [None, None]:
        takes = [Take(ours=n, change=partial(spread, f, count)) for n, f in changes.items()]
        return at.add(layer, x, takes=[*takes, Take(ours="")])  # the last one is adapt's count
    for name, value in zip(("mean", "variance"), numbers, strict=True):
        at.options.need(np.shape(value) in ((), (1,), (count,)) and value is not None, name, value)
    given = zip(changes.items(), numbers, strict=True)
    takes = [Take(ours=name, value=spread(change, count, value)) for (name, change), value in given]
    return at.add(layer, x, takes=takes)


def place(at):
    """Returns (the Place to normalize, the number of its channels or features)."""
    whole = at.options.take("axis", -1) in (None, [])  # all numbers have the same statistics
    x = at.one() if whole else over_channels(at)
    return x, channels_of(x.shape)[0]


def spread(change, count, values):
    """Returns changed statistics, one for each of `count` channels."""
    values = change(np.asarray(values, np.float32))
    return np.broadcast_to(values, count) if values.size == 1 else values.reshape(-1)


def bounded(variance):
    return np.maximum(variance, LEAST)


def deviation(variance):
    return np.sqrt(bounded(variance))


STANDARDIZATION = {"Normalization": normalization}
