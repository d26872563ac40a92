"""Normalization layers, and layers of learned factors."""

import jax.numpy as jnp

from tests.oracle.jax_translation.activations import activate
from tests.oracle.jax_translation.seen import (
    along_channels,
    channel_axis,
    steps_there,
    translates,
)


@translates("BatchNorm")
def batch_norm(layer, seen):
    """Ioffe and Szegedy, algorithm 1, normalizing by the biased variance."""
    if seen.training:
        mean, variance, number = statistics(seen.x, seen.mask if seen.x.ndim == 3 else None)
        follow(layer, seen, mean, variance, number)
    else:
        mean, variance = seen.buffers["mean"], seen.buffers["variance"]
        if layer.debias:
            weight = seen.buffers["weight"]
            weight = jnp.where(weight > 0, weight, jnp.inf)
            mean, variance = mean / weight, variance / weight
    y = seen.x - along_channels(mean, seen.x)
    y = y / jnp.sqrt(along_channels(variance, seen.x) + layer.epsilon)
    return scaled(seen.params, y, along_channels)


def statistics(x, mask):
    """Returns (mean, biased variance, count) of each channel over unmasked numbers."""
    counts = jnp.ones(x.shape) if mask is None else jnp.broadcast_to(mask[..., None], x.shape)
    axes = tuple(a for a in range(x.ndim) if a != channel_axis(x))
    number = jnp.maximum(counts.sum(axes), 1)
    mean = (x * counts).sum(axes) / number
    away = (x - along_channels(mean, x)) ** 2 * counts
    return mean, away.sum(axes) / number, number


def follow(layer, seen, mean, variance, number):
    if layer.variance == "unbiased":
        variance = variance * number / jnp.maximum(number - 1, 1)
    share = 1 if layer.debias else 1 - layer.momentum
    for name, value in (("mean", mean), ("variance", variance)):
        seen.new_buffers[name] = layer.momentum * seen.buffers[name] + share * value
    if layer.debias:
        seen.new_buffers["weight"] = layer.momentum * seen.buffers["weight"] + 1


def scaled(params, y, spread):
    y = y * spread(params["gamma"], y) if "gamma" in params else y
    return y + spread(params["beta"], y) if "beta" in params else y


@translates("LayerNorm")
def layer_norm(layer, seen):
    x, axes = seen.x, layer.axes
    if axes is None:
        axes = channel_axis(x)
    else:
        axes = (axes,) if isinstance(axes, int) else axes
        axes = sorted({1 + a % (x.ndim - 1) for a in axes})
    axes = (axes,) if isinstance(axes, int) else tuple(axes)
    shape = [n if i in axes else 1 for i, n in enumerate(x.shape)]
    there = jnp.ones(x.shape)
    if x.ndim == 3 and 1 in axes:
        there = steps_there(there, seen.mask)
    count = jnp.maximum(there.sum(axes, keepdims=True), 1)
    mean = (x * there).sum(axes, keepdims=True) / count
    variance = ((x - mean) ** 2 * there).sum(axes, keepdims=True) / count
    hat = there * (x - mean) / jnp.sqrt(variance + layer.epsilon)
    return scaled(seen.params, hat, lambda values, _: values.reshape(shape))


@translates("GroupNorm")
def group_norm(layer, seen):
    """Normalizes each group of channels by itself, over the steps that are there."""
    x, axis = seen.x, channel_axis(seen.x)
    there = steps_there(jnp.ones(x.shape), seen.mask) if x.ndim == 3 else jnp.ones(x.shape)
    split = [jnp.split(part, layer.groups, axis) for part in (x, there)]
    along = tuple(range(1, x.ndim))
    parts = []
    for group, counts in zip(*split, strict=True):
        count = jnp.maximum(counts.sum(along, keepdims=True), 1)
        mean = (group * counts).sum(along, keepdims=True) / count
        variance = ((group - mean) ** 2 * counts).sum(along, keepdims=True) / count
        parts.append(counts * (group - mean) / jnp.sqrt(variance + layer.epsilon))
    return scaled(seen.params, jnp.concatenate(parts, axis), along_channels)


@translates("RMSNorm")
def rms_norm(layer, seen):
    x = seen.x
    y = x / jnp.sqrt((x**2).mean(channel_axis(x), keepdims=True) + layer.epsilon)
    return scaled(seen.params, y, along_channels)


@translates("LRN")
def lrn(layer, seen):
    """The mean of squares is over a region, zero-padded at the borders."""
    x, half = seen.x, layer.size // 2
    axes = (2, 3) if layer.region == "within_channel" else (1,)
    mean = x**2
    for axis in axes:
        widths = [(half, half) if a == axis else (0, 0) for a in range(4)]
        wide, n = jnp.pad(mean, widths), x.shape[axis]
        parts = [jnp.take(wide, jnp.arange(i, i + n), axis) for i in range(layer.size)]
        mean = sum(parts) / layer.size
    return x / (layer.k + layer.alpha * mean) ** layer.beta


@translates("MVN")
def mvn(layer, seen):
    axes = (1, 2, 3) if layer.across_channels else (2, 3)
    y = seen.x - seen.x.mean(axes, keepdims=True)
    if not layer.normalize_variance:
        return y
    return y / (jnp.sqrt((y**2).mean(axes, keepdims=True)) + layer.epsilon)


@translates("L2Normalize")
def l2_normalize(layer, seen):
    axes = tuple(range(1, seen.x.ndim))
    x = steps_there(seen.x, seen.mask) if seen.x.ndim == 3 else seen.x
    return x / jnp.sqrt((x**2).sum(axes, keepdims=True) + layer.epsilon)


@translates("Affine")
def affine(layer, seen):
    """Scales and shifts; gamma and beta span `axes` axes of an example, starting at `axis`."""
    x = seen.x
    first = channel_axis(x) if layer.axis is None else 1 + layer.axis

    def spread(values, _):
        last = first + layer.axes
        return values.reshape([n if first <= i < last else 1 for i, n in enumerate(x.shape)])

    return scaled(seen.params, x, spread)


@translates("PRelu")
def prelu(layer, seen):
    alpha = seen.params["alpha"]
    alpha = alpha if layer.shared else along_channels(alpha, seen.x)
    return jnp.where(seen.x > 0, seen.x, alpha * seen.x)


@translates("ElementWiseMultiplication")
def element_wise_multiplication(layer, seen):
    return activate(layer.activation, seen.x * seen.params["W"] + seen.params.get("b", 0))


@translates("Rescaling")
def rescaling(layer, seen):
    return layer.scale * seen.x + layer.offset
