"""Masks of sequences (batch, T), 1 for a step and 0 for padding, in layers with windows."""

from typing import Any

import numpy as np

from sparkdl.engine import ops
from sparkdl.engine.dtypes import lowest
from sparkdl.engine.ops.spatial.window import see_something, window_starts
from sparkdl.nn.hints import Shape, Value

LOWEST = -3e38  # below all other numbers in float32 and bfloat16


def fill_padding(x: Value, mask: Value, fill: float = 0.0) -> Value:
    """Returns x (N, T, F) with padding steps set to `fill`, or x without a mask."""
    if mask is None:
        return x
    return ops.where(over_features(mask), x, fit_to_dtype(fill, x.dtype))


def mask_over(x: Value, mask: Value) -> Value:
    """Returns the mask of sequences x (N, ..., T, F) as (N, ..., T, 1), or None for other x.

    Rows (N, F) that are steps, as in TimeDistributed, have a mask (N, 1).
    """
    if mask is None:
        return None
    if len(x.shape) > 2 and tuple(mask.shape) == tuple(x.shape[:-1]):
        return over_features(mask)
    return mask if len(x.shape) == 2 and tuple(mask.shape) == (x.shape[0], 1) else None


def fill_steps(x: Value, mask: Value) -> Value:
    """Returns x with padding steps set to 0, or x if the mask is not one of its steps."""
    there = mask_over(x, mask)
    return x if there is None else ops.where(there, x, 0.0)


def fill_all_of_steps(x: Value, mask: Value) -> Value:
    """Returns x (N, T, ...) with all numbers of padding steps set to 0; mask (N, T) or (N, T, S).

    Unlike `fill_steps` it takes images that are steps, or that steps have become, too.
    """
    if mask is None or tuple(mask.shape) != tuple(x.shape[: len(mask.shape)]):
        return fill_steps(x, mask)
    inside = [1] * (len(x.shape) - len(mask.shape))
    return ops.where(ops.reshape(mask, (*mask.shape, *inside)), x, 0.0)


def any_step(mask: Value) -> Value:
    """Returns (N, T) from a mask (N, T, ...): 1 if any step within a step exists."""
    return ops.max(mask, tuple(range(2, len(mask.shape)))) if len(mask.shape) > 2 else mask


def mask_of_same(mask: Value, in_shape: Shape, out_shape: Shape) -> Value:
    """Returns the mask of an output of which each step is the input's; None if none are.

    Of a mask of steps within steps, those whose numbers stay remain.
    """
    if mask is None or in_shape[:1] != out_shape[:1]:
        return None
    within = len(mask.shape) - 1
    stays = len(out_shape) > within and in_shape[:within] == out_shape[:within]
    return mask if stays else any_step(mask)


def fit_to_dtype(low: float, dtype: Any) -> float:
    """Clips a negative number to the range of a float type."""
    return max(low, lowest(dtype))


def over_features(mask: Value) -> Value:
    """Returns the mask with a feature axis, (N, T, 1)."""
    return ops.reshape(mask, (*mask.shape, 1))


def window_mask(mask: Value, *options: Any) -> Value:
    """Returns the mask of windows: 1 if the window has at least one existing step.

    A window of nothing but padding exists if the first step does, or, if it is at the end, the last
    one. `options` are size, stride, padding and dilation of the axis.
    """
    if mask is None:
        return None
    size, stride, (before, after), dilation = options
    n, steps = mask.shape
    padded = as_image(ops.pad(mask, (0, before), (0, after)))
    pooled = as_mask(ops.max_pool(padded, (1, size), (1, stride), 0, (1, dilation)))
    starts = window_starts(steps, size, stride, (before, after), dilation)
    blind = ~see_something(starts, steps, size, dilation)
    if not blind.any():
        return pooled
    first, last = ops.slice(mask, (0, 0), (n, 1)), ops.slice(mask, (0, steps - 1), (n, steps))
    nearest = ops.where(np.broadcast_to(starts < 0, pooled.shape), first, last)
    return ops.where(np.broadcast_to(blind, pooled.shape), nearest, pooled)


def as_image(mask: Value) -> Value:
    """Returns a mask as images (N, 1, 1, T)."""
    return ops.reshape(mask, (mask.shape[0], 1, 1, mask.shape[1]))


def as_mask(image: Value) -> Value:
    """Converts images (N, 1, 1, T) back to a mask."""
    return ops.reshape(image, (image.shape[0], image.shape[3]))
