"""Conversion of stored bytes to float32 with a mean and a factor, which dominates the time."""

from sparkdl.data.transforms.float_buffers import float_buffer

CHUNK = 1 << 17  # numbers that stay in the cache between passes


def affine(x, mean=None, factor=None):
    """Returns (x - mean) * factor as float32; mean and factor broadcast to an example.

    None skips a step.

    Each step is a pass over a few examples: separate casts and subtractions are faster in numpy
    than combined ones, as long as the data stays in the cache.
    """
    y = float_buffer(x.shape)
    step = max(1, CHUNK * len(x) // max(x.size, 1))
    for start in range(0, len(x), step):
        part = y[start : start + step]
        part[...] = x[start : start + step]
        if mean is not None:
            part -= mean
        if factor is not None:
            part *= factor
    return y
