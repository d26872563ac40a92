"""Subtract and multiply: the step from stored bytes to float32, where most of the time goes."""

from sparkdl.data.transforms.float_buffers import float_buffer

CHUNK = 1 << 17  # numbers that stay in the cache from one pass over them to the next


def affine(x, mean=None, factor=None):
    """Returns (x - mean) * factor as float32, both broadcast to an example.

    None leaves a step out.

    Each step is a pass over a few examples: numpy casts and subtracts faster one after the other
    than in one call, as long as what is cast is still in the cache.
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
