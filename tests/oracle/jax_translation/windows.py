"""Windows over spatial axes: positions and contents, by slices alone."""

from itertools import product
from math import ceil

import jax.numpy as jnp


def each(value, axes):
    """Returns one number for each axis."""
    return tuple(value) if isinstance(value, tuple) else (value,) * axes


def pairs(value, axes):
    """Returns (before, after) for each axis."""
    if axes == 1 and isinstance(value, tuple):
        return (value,)
    return tuple(v if isinstance(v, tuple) else (v, v) for v in each(value, axes))


def reaches(size, dilation, axes):
    """Returns a window's extent along each axis, including dilation."""
    sizes = zip(each(size, axes), each(dilation, axes), strict=True)
    return tuple((k - 1) * d + 1 for k, d in sizes)


def same(n, reach, stride):
    """Returns padding for ceil(n / stride) windows, as Keras and TensorFlow: the odd zero last."""
    total = max((ceil(n / stride) - 1) * stride + reach - n, 0)
    return total // 2, total - total // 2


def paddings(layer, space, size, stride):
    """Returns (before, after) of each axis, without the extra padding of rounding up."""
    axes = len(space)
    reach = reaches(size, layer.dilation, axes)
    if layer.padding == "same":
        return tuple(map(same, space, reach, each(stride, axes)))
    if layer.padding == "causal":
        return tuple((k - 1, 0) for k in reach)
    return pairs(layer.padding, axes)


def count(n, reach, stride, padding, up=False):
    """Returns the number of windows along an axis.

    When rounding up, the last window may be partial, but must start before the end of the axis, as
    in ceil_mode of Caffe and PyTorch.
    """
    before, after = padding
    room = n + before + after - reach
    if not up:
        return room // stride + 1
    windows = ceil(room / stride) + 1
    return windows - 1 if (windows - 1) * stride >= n + before else windows


def patches(x, size, stride, padding, dilation, counts, fill=0.0):
    """Returns (N, C, points of a window, *counts) of x (N, C, *space)."""
    axes = x.ndim - 2
    size, stride, dilation = (each(v, axes) for v in (size, stride, dilation))
    reach = reaches(size, dilation, axes)
    widths = [(0, 0), (0, 0)]
    for n, k, s, (before, after), m in zip(
        x.shape[2:], reach, stride, padding, counts, strict=True
    ):
        widths.append((before, max(after, (m - 1) * s + k - n - before)))
    wide = jnp.pad(x, widths, constant_values=fill)
    seen = []
    for point in product(*map(range, size)):
        starts = [i * d for i, d in zip(point, dilation, strict=True)]
        span = zip(starts, counts, stride, strict=True)
        seen.append(wide[(..., *(slice(a, a + (m - 1) * s + 1, s) for a, m, s in span))])
    return jnp.stack(seen, 2)


def channels_first(layer, x):
    """Moves channels to axis 1: sequences (N, T, F) are transposed."""
    return jnp.swapaxes(x, 1, 2) if layer.axes == 1 else x


def window_mask(mask, size, stride, padding, dilation, up=False):
    """Returns 1 for each window over mask (N, T) that contains a real step."""
    (k,), n = reaches(size, dilation, 1), mask.shape[1]
    counts = (count(n, k, each(stride, 1)[0], padding, up),)
    seen = patches(mask[:, None], size, stride, (padding,), dilation, counts)
    return seen[:, 0].max(1)
