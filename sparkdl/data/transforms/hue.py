"""Hue: the position of a color on the circle red - yellow - green - cyan - blue - magenta."""

import numpy as np


def shift_hue(x, part):
    """Shifts the hues of an RGB image (3, H, W) float32 by a fraction of the circle.

    Value and saturation (HSV) are unchanged. A shift moves no channel out of the range of its
    pixel's channels, so only the hue needs conversion.

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
    """Returns the hue in sixths of the circle, in [-1, 5); 0 for grays."""
    red, green, blue = x
    hue = (red - green) / span + 4
    hue = np.where(largest == green, (blue - red) / span + 2, hue)
    return np.where(largest == red, (green - blue) / span, hue)


def strength(k):
    """Returns how far a channel is below the largest, in spans; k in [0, 12) has period 6."""
    k[k >= 6] -= 6
    return np.clip(np.minimum(k, 4 - k), 0, 1)
