"""Interpolation of images between pixels."""

import numpy as np


def bilinear(x, box, size):
    """Resamples the part `box` of images to another size by bilinear interpolation.

    Parameters
    ----------
    x : ndarray (..., H, W), uint8 or float32
    box : (top, left, height, width), possibly fractional
    size : (height, width) of the result

    Returns
    -------
    float32 (..., *size)

    References
    ----------
    Pixels are areas, sampled at their centers: torch's interpolate with align_corners=False,
    jax.image.resize without antialias.
    """
    top, left, height, width = box
    y = interpolate_axis(x, -2, *neighbors(top, height, size[0], x.shape[-2]))
    return interpolate_axis(y, -1, *neighbors(left, width, size[1], x.shape[-1]))


def neighbors(start, length, count, size):
    """Returns, for `count` places from `start`, the pixels before and after, and the weight."""
    places = start + (np.arange(count) + 0.5) * (length / count) - 0.5
    places = np.clip(places, 0, size - 1)
    before = places.astype(int)
    after = np.minimum(before + 1, size - 1)
    return before, after, (places - before).astype(np.float32)


def interpolate_axis(x, axis, before, after, share):
    share = share.reshape(-1, *(1 for _ in range(-1 - axis)))
    first = np.take(x, before, axis).astype(np.float32)
    second = np.take(x, after, axis).astype(np.float32)
    second -= first
    second *= share
    second += first
    return second


def nearest(x, box, size):
    """Resamples the part `box` of images to another size: each pixel takes the nearest one.

    Parameters
    ----------
    x : ndarray (..., H, W) of any type
    box : (top, left, height, width) in whole pixels
    size : (height, width) of the result

    Returns
    -------
    (..., *size) of the type of `x`

    References
    ----------
    torch's interpolate with mode "nearest-exact", PIL's Image.resize with NEAREST: pixels are
    areas, as in `bilinear`; the mode "nearest" of torch and OpenCV takes their corners.
    """
    top, left, height, width = box
    rows, columns = nearest_pixels(top, height, size[0]), nearest_pixels(left, width, size[1])
    return x[..., rows[:, np.newaxis], columns]


def nearest_pixels(start, length, count):
    """Returns the pixels at the centers of `count` equal parts of `length` pixels from `start`."""
    return start + (2 * np.arange(count) + 1) * length // (2 * count)


def round_to(y, dtype):
    """Converts `y`, overwriting it, to an integer `dtype`: clipped to its range and rounded.

    Returns `y` itself for other types, and where it has this one.
    """
    if dtype.kind not in "iu" or y.dtype == dtype:
        return y
    limits = np.iinfo(dtype)
    most = largest_within(limits.max, y.dtype.type)
    return np.rint(np.clip(y, limits.min, most, out=y), out=y).astype(dtype)


def largest_within(limit, kind):
    """Returns the largest float of a type that is at most the integer `limit`."""
    nearest = kind(limit)
    return np.nextafter(nearest, kind(0)) if int(nearest) > limit else nearest
