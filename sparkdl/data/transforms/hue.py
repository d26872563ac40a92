"""Hue, the place of a color on the circle red - yellow - green - cyan - blue - magenta."""

import numpy as np


def shift_hue(x, part):
    """Returns RGB image (3, H, W) float32 with hues turned by a part of the circle.

    Value and saturation (HSV) stay. A turn moves no channel out of [least, most] of its pixel, so
    only the hue is converted there and back.

    References
    ----------
    Smith, Color gamut transform pairs (1978).
    """
    largest, smallest = x.max(axis=0), x.min(axis=0)
    span = largest - smallest
    hue = sixths(x, largest, np.where(span == 0, 1, span)) + np.float32(6 * part)
    hue -= 6 * np.floor(hue * np.float32(1 / 6))
    return np.stack([largest - span * strength(hue + n) for n in (5, 3, 1)])


def sixths(x, largest, span):
    """Returns hue in [-1, 5) sixths of the circle; 0 for greys."""
    red, green, blue = x
    hue = (red - green) / span + 4
    hue = np.where(largest == green, (blue - red) / span + 2, hue)
    return np.where(largest == red, (green - blue) / span, hue)


def strength(k):
    """Returns how far below `most` a channel is, in spans; k in [0, 12) has the period 6."""
    k[k >= 6] -= 6
    return np.clip(np.minimum(k, 4 - k), 0, 1)
