"""Convolutions by XLA, independent of the package."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from tests.oracle.jax_translation.activations import activate
from tests.oracle.jax_translation.seen import steps_there, translates
from tests.oracle.jax_translation.windows import (
    channels_first,
    count,
    each,
    paddings,
    pairs,
    patches,
    reaches,
    same,
    window_mask,
)


def convolve(layer, x, w, groups, padding=None):
    """Cross-correlates x (N, C, *space) with w (O, C / groups, *kernel)."""
    axes = layer.axes
    if padding is None:
        padding = paddings(layer, x.shape[2:], layer.kernel_size, layer.stride)
    return lax.conv_general_dilated(
        x,
        w,
        window_strides=each(layer.stride, axes),
        padding=padding,
        rhs_dilation=each(layer.dilation, axes),
        feature_group_count=groups,
    )


def finished(layer, seen, y):
    """Adds the bias to y (N, filters, *space), restores the layer's axis order, and activates."""
    if "b" in seen.params:
        y = y + seen.params["b"].reshape(-1, *[1] * layer.axes)
    y = channels_first(layer, y)
    return activate(layer.activation, y)


def shown(layer, seen):
    """Returns the input channels first, with masked steps set to zero."""
    x = seen.x
    seen.out_mask = None
    if layer.axes == 1:
        seen.out_mask = convolved_mask(layer, seen.mask)
        x = steps_there(x, seen.mask)
    return channels_first(layer, x)


def convolved_mask(layer, mask):
    if mask is None or (layer.stride == 1 and layer.padding in ("same", "causal")):
        return mask
    (padding,) = paddings(layer, mask.shape[1:], layer.kernel_size, layer.stride)
    return window_mask(mask, layer.kernel_size, layer.stride, padding, layer.dilation)


@translates("Conv1D", "Conv2D", "Conv3D")
def conv(layer, seen):
    x = shown(layer, seen)
    return finished(layer, seen, convolve(layer, x, seen.params["W"], layer.groups))


@translates("DepthwiseConv1D", "DepthwiseConv2D")
def depthwise(layer, seen):
    x = shown(layer, seen)
    return finished(layer, seen, convolve(layer, x, seen.params["W"], x.shape[1]))


@translates("SeparableConv1D", "SeparableConv2D")
def separable(layer, seen):
    x = shown(layer, seen)
    y = convolve(layer, x, seen.params["D"], x.shape[1])
    w = seen.params["W"]
    return finished(layer, seen, jnp.einsum("nc...,oc->no...", y, w.reshape(w.shape[:2])))


def transposed_lengths(layer, space):
    """Returns (lengths of the output, padding of the convolution that is transposed)."""
    axes, reach = len(space), reaches(layer.kernel_size, layer.dilation, len(space))
    stride, rest = each(layer.stride, axes), each(layer.output_padding, axes)
    if layer.padding == "same":
        wide = tuple(n * s for n, s in zip(space, stride, strict=True))
        return wide, tuple(map(same, wide, reach, stride))
    padding = pairs(layer.padding, axes)
    sizes = zip(space, stride, reach, padding, rest, strict=True)
    return tuple((n - 1) * s + k - sum(p) + r for n, s, k, p, r in sizes), padding


def adjoint(layer, x, w, groups):
    """Applies the adjoint of the convolution by w (C, filters / groups, ...)."""
    wide, padding = transposed_lengths(layer, x.shape[2:])
    like = jnp.zeros((x.shape[0], w.shape[1] * groups, *wide))
    _, back = jax.vjp(partial(convolve, layer, w=w, groups=groups, padding=padding), like)
    return back(x)[0]


@translates("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose")
def conv_transpose(layer, seen):
    x, seen.out_mask = seen.x, None
    if layer.axes == 1 and seen.mask is not None:
        ones = jnp.ones((1, 1, *each(layer.kernel_size, 1)))
        seen.out_mask = (adjoint(layer, seen.mask[:, None], ones, 1)[:, 0] > 0.5) * 1.0
        x = steps_there(x, seen.mask)
    y = adjoint(layer, channels_first(layer, x), seen.params["W"], layer.groups)
    return finished(layer, seen, y)


@translates("LocallyConnected1D", "LocallyConnected2D")
def locally_connected(layer, seen):
    """Applies W (places, channels x points, filters); each place has its own bias."""
    x = shown(layer, seen)
    space, axes = x.shape[2:], layer.axes
    padding = paddings(layer, space, layer.kernel_size, layer.stride)
    reach, stride = reaches(layer.kernel_size, layer.dilation, axes), each(layer.stride, axes)
    counts = tuple(map(count, space, reach, stride, padding))
    p = patches(x, layer.kernel_size, stride, padding, layer.dilation, counts)
    p = p.reshape(p.shape[0], p.shape[1] * p.shape[2], -1)
    y = jnp.einsum("nip,pio->nop", p, seen.params["W"])
    y = channels_first(layer, y.reshape(*y.shape[:2], *counts))
    return activate(layer.activation, y + seen.params["b"] if "b" in seen.params else y)


@translates("Unfold2D")
def unfold(layer, seen):
    x, space = seen.x, seen.x.shape[2:]
    padding = paddings(layer, space, layer.kernel_size, layer.stride)
    reach, stride = reaches(layer.kernel_size, layer.dilation, 2), each(layer.stride, 2)
    counts = tuple(map(count, space, reach, stride, padding))
    p = patches(x, layer.kernel_size, stride, padding, layer.dilation, counts)
    return p.reshape(p.shape[0], -1, *counts)
