"""Lossless compression of counts for transfer between processes."""

import numpy as np


def pack(counts):
    """Returns counts as three arrays: shape, positions and values of the nonzero counts.

    Counts are int64, or float64 if they are sums of weights. If many are nonzero, positions are
    omitted and all counts included.
    """
    flat = counts.reshape(-1)
    places = np.flatnonzero(flat)
    if 2 * len(places) < len(flat):
        parts = places, flat[places]
    else:
        parts = places[:0], flat
    return [np.array(counts.shape, np.int64), *map(narrow, parts)]


def unpack(arrays, shape):
    """Returns counts of this shape from `pack`'s result; raises ValueError if it does not fit."""
    given, places, values = arrays
    sound = given.tolist() == list(shape) and all(array.ndim == 1 for array in arrays)
    kinds = [array.dtype.kind for array in arrays]
    sound = sound and kinds[:2] == ["i", "i"] and kinds[2] in "if"
    size = int(np.prod(shape))
    if sound and len(values) == size and not len(places):
        return widen(values).reshape(shape)
    if not (sound and len(places) == len(values) and is_rising(places, size)):
        raise ValueError(f"counts of shape {shape}")
    counts = np.zeros(size, widen(values).dtype)
    counts[places] = values
    return counts.reshape(shape)


def is_rising(places, size):
    """Returns whether integers are strictly increasing in [0, size)."""
    return bool((np.diff(places.astype(np.int64), prepend=-1, append=size) > 0).all())


def widen(counts):
    """Returns a copy of counts as int64, or as float64 if they are sums of weights."""
    return counts.astype(np.float64 if counts.dtype.kind == "f" else np.int64)


def narrow(array):
    """Casts numbers to the smallest type of their kind that holds them exactly."""
    kinds = (np.float32,) if array.dtype.kind == "f" else (np.int8, np.int16, np.int32)
    for kind in kinds:
        with np.errstate(over="ignore"):
            small = array.astype(kind)
        if np.array_equal(small, array):
            return small
    return array
