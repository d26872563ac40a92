"""Spatial resizing: upsampling, interpolation, padding, cropping, space to depth."""

import jax.numpy as jnp
import numpy as np

from tests.oracle.jax_translation.seen import translates
from tests.oracle.jax_translation.windows import each, pairs


@translates("UpSampling1D", "UpSampling2D", "UpSampling3D")
def upsampling(layer, seen):
    y, first = seen.x, 1 if layer.axes == 1 else 2
    linear = getattr(layer, "interpolation", "nearest") == "bilinear"
    for axis, size in enumerate(each(layer.size, layer.axes), first):
        y = interpolated(y, axis, size) if linear else jnp.repeat(y, size, axis)
    if layer.axes == 1 and seen.mask is not None:
        seen.out_mask = jnp.repeat(seen.mask, each(layer.size, 1)[0], 1)
    return y


def interpolated(x, axis, size):
    """Interpolates linearly between pixel centers, constant beyond the outermost."""
    n = x.shape[axis]
    centers = (np.arange(n * size) + 0.5) / size - 0.5
    weights = np.stack([np.interp(centers, np.arange(n), row) for row in np.eye(n)], 1)
    return jnp.moveaxis(jnp.tensordot(weights, x, (1, axis)), 0, axis)


def margins(layer):
    """Returns (before, after) for each axis of a batch."""
    own, none = pairs(layer.amount, layer.axes), (0, 0)
    return [none, *own, none] if layer.axes == 1 else [none, none, *own]


@translates("ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D")
def zero_padding(layer, seen):
    if layer.axes == 1 and seen.mask is not None:
        seen.out_mask = jnp.pad(seen.mask, margins(layer)[:2], mode="edge")
    return jnp.pad(seen.x, margins(layer))


@translates("Cropping1D", "Cropping2D", "Cropping3D")
def cropping(layer, seen):
    parts = [slice(a, n - b) for n, (a, b) in zip(seen.x.shape, margins(layer), strict=True)]
    if layer.axes == 1 and seen.mask is not None:
        seen.out_mask = seen.mask[tuple(parts[:2])]
    return seen.x[tuple(parts)]


@translates("SpaceToDepth")
def space_to_depth(layer, seen):
    b = layer.block
    return jnp.concatenate([seen.x[:, :, i::b, j::b] for i in range(b) for j in range(b)], 1)


@translates("DepthToSpace")
def depth_to_space(layer, seen):
    b, (n, c, h, w) = layer.block, seen.x.shape
    y = jnp.zeros((n, c // b**2, h * b, w * b))
    for k, part in enumerate(jnp.split(seen.x, b**2, 1)):
        y = y.at[:, :, k // b :: b, k % b :: b].set(part)
    return y
