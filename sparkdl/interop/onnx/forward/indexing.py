"""Gathering, scattering and slicing."""

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from sparkdl.interop.onnx.forward.shapes import need_room, whole_numbers

ENDS = (2**31 - 1, 2**63 - 1)  # onnxruntime slices to the end in either direction


def gather(x, indices, *, axis=0):
    return np.take(x, indices, axis)


def gather_elements(x, indices, *, axis=0):
    """Returns the numbers of x at indices, which may have fewer rows than x on the other axes."""
    cut = [slice(length) for length in indices.shape]
    cut[axis] = slice(None)
    return np.take_along_axis(x[tuple(cut)], indices, axis)


def gather_nd(x, indices, *, batch_dims=0):
    """Returns the slices of x at tuples of indices, for each position of the batch axes."""
    front = x.shape[:batch_dims]
    count = int(np.prod(front, dtype=np.int64))
    rows = x.reshape(count, *x.shape[batch_dims:])
    tuples = indices.reshape(count, -1, indices.shape[-1])
    found = np.stack([row[tuple(places.T)] for row, places in zip(rows, tuples, strict=True)])
    return found.reshape(*indices.shape[:-1], *x.shape[batch_dims + indices.shape[-1] :])


WAYS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def put(y, places, updates, reduction):
    """Writes updates to places of y; a place may occur several times."""
    if reduction == "none":
        y[places] = updates
    else:
        WAYS[reduction].at(y, places, updates)
    return y


def scatter_elements(x, indices, updates, *, axis=0, reduction="none"):
    places = list(np.indices(indices.shape, sparse=True))
    places[axis] = np.where(indices < 0, indices + x.shape[axis], indices)
    return put(x.copy(), tuple(places), updates, reduction)


def scatter_nd(x, indices, updates, *, reduction="none"):
    return put(x.copy(), tuple(np.moveaxis(indices, -1, 0)), updates, reduction)


def tensor_scatter(cache, update, starts=None, *, axis=-2, mode="linear"):
    """Returns the cache with each example's update written from its start on."""
    y, length = np.moveaxis(cache.copy(), axis, 1), cache.shape[axis]
    moved = np.moveaxis(update, axis, 1)
    for example, start in enumerate(np.zeros(len(cache), int) if starts is None else starts):
        places = start + np.arange(moved.shape[1])
        y[example, places % length if mode == "circular" else places] = moved[example]
    return np.moveaxis(y, 1, axis)


def slice_axes(x, starts, ends, axes=None, steps=None):
    starts, ends = whole_numbers(starts), whole_numbers(ends)
    axes = range(len(starts)) if axes is None else whole_numbers(axes)
    steps = [1] * len(starts) if steps is None else whole_numbers(steps)
    cut = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        first = -x.shape[axis]
        below = step < 0 and (end < first or end in ENDS)
        start = max(start, first) if step < 0 else start  # backwards from the first at least
        cut[axis] = slice(start, None if below else end, step)
    return x[tuple(cut)]


def compress(x, condition, *, axis=None):
    return np.compress(condition, x, axis)


def one_hot(indices, depth, values, *, axis=-1):
    depth = int(np.reshape(depth, ()))
    need_room([depth, indices.size])
    indices = indices.astype(np.int64)
    within = (indices >= -depth) & (indices < depth)
    axis = normalize_axis_index(axis, indices.ndim + 1)
    lane = np.arange(depth).reshape(depth, *[1] * (indices.ndim - axis))
    hit = np.expand_dims(np.where(within, indices % depth, -1), axis) == lane
    return np.where(hit, values[1], values[0])


def reverse_sequence(x, lengths, *, batch_axis=1, time_axis=0):
    """Returns x with the first steps of each example reversed."""
    y = x.copy()
    rows, turned = (np.moveaxis(each, (batch_axis, time_axis), (0, 1)) for each in (x, y))
    for row, to, length in zip(rows, turned, lengths, strict=True):
        to[:length] = row[:length][::-1]
    return y


def unique(x, *, axis=None, sorted=1):
    """Returns (values, first indices, inverse indices, counts)."""
    found = np.unique(x, True, True, True, axis=axis)
    values, first, inverse, counts = found
    inverse = inverse.reshape(-1)
    if not sorted:
        order = np.argsort(first)
        values = np.take(values, order, 0 if axis is None else axis)
        inverse = np.argsort(order)[inverse]
        first, counts = first[order], counts[order]
    return values, *(each.astype(np.int64) for each in (first, inverse, counts))


INDEXING = {
    "Compress": compress,
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "NonZero": lambda x: np.array(np.nonzero(np.atleast_1d(x)), np.int64),
    "OneHot": one_hot,
    "ReverseSequence": reverse_sequence,
    "Scatter": scatter_elements,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "Slice": slice_axes,
    "TensorScatter": tensor_scatter,
    "Unique": unique,
}
