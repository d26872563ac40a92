"""Pooling: extracts each window by slices, then reduces it to one number."""

from math import ceil, prod

import jax.numpy as jnp
import numpy as np

from tests.oracle.jax_translation.seen import steps_there, translates
from tests.oracle.jax_translation.windows import (
    channels_first,
    count,
    each,
    paddings,
    pairs,
    patches,
    reaches,
    window_mask,
)


def pooled(layer, seen, fill, combine):
    """Returns y from `combine(patches (N, C, points, *places), geometry, space)`."""
    x, mask = seen.x, seen.mask if layer.axes == 1 else None
    x = channels_first(layer, steps_there(x, mask, fill))
    geometry = geometry_of(layer, x.shape[2:])
    y = combine(patches(x, *geometry, fill), geometry, x.shape[2:])
    y = channels_first(layer, y)
    if layer.axes == 1:
        seen.out_mask = pooled_mask(layer, mask)
        y = steps_there(y, seen.out_mask)
    return y


def geometry_of(layer, space):
    """Returns (size, stride, padding, dilation, counts), each per axis."""
    axes = len(space)
    size, dilation = each(layer.size, axes), each(layer.dilation, axes)
    stride = each(layer.size if layer.stride is None else layer.stride, axes)
    padding = paddings(layer, space, size, stride)
    up = [layer.rounding == "ceil" and layer.padding != "same"] * axes
    counts = tuple(map(count, space, reaches(size, dilation, axes), stride, padding, up))
    return size, stride, padding, dilation, counts


def pooled_mask(layer, mask):
    if mask is None:
        return None
    size, stride, padding, dilation, _ = geometry_of(layer, mask.shape[1:])
    up = layer.rounding == "ceil" and layer.padding != "same"
    return window_mask(mask, size, stride, padding[0], dilation, up)


def largest(p, *_):
    """Takes the first of equal maxima in a window, as Caffe and PyTorch do."""
    at = jnp.expand_dims(p.argmax(2), 2)
    return jnp.take_along_axis(p, at, 2)[:, :, 0]


@translates("MaxPool1D", "MaxPool2D", "MaxPool3D")
def max_pool(layer, seen):
    return pooled(layer, seen, -jnp.inf, largest)


@translates("AvgPool1D", "AvgPool2D", "AvgPool3D")
def avg_pool(layer, seen):
    def mean(p, geometry, space):
        return p.sum(2) / points_that_count(layer, geometry, space)

    return pooled(layer, seen, 0.0, mean)


def points_that_count(layer, geometry, space):
    """Returns (*places): each window's points in the example, or including its given padding."""
    size, stride, padding, dilation, counts = geometry
    axes = []
    for n, k, s, (before, after), d, m in zip(
        space, size, stride, padding, dilation, counts, strict=True
    ):
        at = np.arange(m)[:, None] * s + np.arange(k) * d - before
        low, high = (-before, n + after) if layer.count_padding else (0, n)
        axes.append(((at >= low) & (at < high)).sum(1))
    return np.prod(np.meshgrid(*axes, indexing="ij"), axis=0)


@translates("LpPool1D", "LpPool2D", "LpPool3D")
def lp_pool(layer, seen):
    return pooled(layer, seen, 0.0, lambda p, *_: p_norm(p, layer.p, 2))


def p_norm(x, p, axes):
    """Computes (sum of |x|^p)^(1/p), with gradient 0 where all inputs are 0."""
    size = jnp.abs(x)
    total = jnp.where(size > 0, jnp.where(size > 0, size, 1.0) ** p, 0.0).sum(axes)
    return jnp.where(total > 0, jnp.where(total > 0, total, 1.0) ** (1 / p), 0.0)


@translates("GlobalPool")
def global_pool(layer, seen):
    x, mask = seen.x, seen.mask if seen.x.ndim == 3 else None
    seen.out_mask = None
    axes = (1,) if x.ndim == 3 else tuple(range(2, x.ndim))
    if layer.kind == "max":
        y = steps_there(x, mask, -jnp.inf).max(axes)
    else:
        x = steps_there(x, mask)
        y = p_norm(x, layer.p, axes) if layer.kind == "lp" else x.sum(axes)
    if layer.kind == "avg":
        many = prod(x.shape[a] for a in axes)
        y = y / (many if mask is None else jnp.maximum(mask.sum(1, keepdims=True), 1))
    return y if mask is None else jnp.where(mask.sum(1, keepdims=True) > 0, y, 0.0)


@translates("StochasticPool2D")
def stochastic_pool(layer, seen):
    """Inference only: the mean of each window, weighted by its own values."""
    return pooled(layer, seen, 0.0, weighted_by_itself)


def weighted_by_itself(p, *_):
    total = p.sum(2)
    return jnp.where(total > 0, (p**2).sum(2) / jnp.where(total > 0, total, 1.0), 0.0)


@translates("SpatialPyramidPool")
def spatial_pyramid_pool(layer, seen):
    """Caffe's SPP: level l has windows of ceil(n / 2^l), padded to 2^l of them."""
    x, rows = seen.x, []
    for bins in (2**level for level in range(layer.height)):
        size = tuple(ceil(n / bins) for n in x.shape[2:])
        given = tuple((k * bins - n + 1) // 2 for n, k in zip(x.shape[2:], size, strict=True))
        padding, ones, counts = pairs(given, 2), (1, 1), (bins, bins)
        geometry = size, size, padding, ones, counts
        p = patches(x, *geometry, -jnp.inf if layer.kind == "max" else 0.0)
        if layer.kind == "max":
            y = largest(p)
        else:
            at = [padded_points(*g) for g in zip(x.shape[2:], size, padding, strict=True)]
            y = p.sum(2) / np.multiply.outer(*[a(bins) for a in at])
        rows.append(y.reshape(len(x), -1))
    return jnp.concatenate(rows, 1)


def padded_points(n, k, padding):
    """Returns a function from bins to the points of each window, padding included."""
    before, after = padding
    return lambda bins: np.array(
        [sum(i * k + j < n + before + after for j in range(k)) for i in range(bins)]
    )
