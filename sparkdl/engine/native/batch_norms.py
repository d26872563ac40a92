"""Batch normalization, optionally with a ReLU after it, in two passes along the rows of memory.

Both passes read channels-last images row by row. oneDNN's kernels process a few channels at a time:
with many channels and a batch larger than the cache, that reaches a quarter of the memory
bandwidth.
"""

from math import prod

import numpy as np

from sparkdl.engine.chains import ChainOp
from sparkdl.engine.native.chains import chain_kernel
from sparkdl.engine.native.jit import compiler, find_compiler
from sparkdl.engine.native.row_sums import row_sums_kernel
from sparkdl.engine.ops.activation import ReluGradOp, ReluOp
from sparkdl.engine.ops.elementwise import add, mul, square, sub
from sparkdl.errors import UnsupportedError

WIDE, LARGE = 192, 8 << 20  # channels and bytes: measured on a core with 1 MB of cache
SAMPLES = 64  # rows whose mean is subtracted before squaring, to avoid cancellation

# Chains, see engine/chains.py; their inputs in order:
SQUARES = (sub, (0, 1)), (square, (2,))  # x, a center
NORMALIZED = (sub, (0, 1)), (mul, (4, 2)), (add, (5, 3))  # x, mean, scale, beta
PLAIN = (sub, (1, 2)), (mul, (0, 3))  # gy, x, mean
GATED = (  # gy, x, mean, scale, beta; 8 is gy after the ReLU
    *((sub, (1, 2)), (mul, (5, 3)), (add, (6, 4)), (ReluGradOp(), (0, 7))),
    (mul, (8, 5)),
)
PLAIN_GRADIENT = (  # gy, x, mean, slope, offset, scale
    *((sub, (1, 2)), (mul, (6, 3)), (add, (0, 7)), (add, (8, 4))),
    (mul, (9, 5)),
)
GATED_GRADIENT = (  # gy, x, mean, scale, beta, slope, offset
    *((sub, (1, 2)), (mul, (7, 3)), (add, (8, 4)), (ReluGradOp(), (0, 9))),
    *((mul, (7, 5)), (add, (10, 11)), (add, (12, 6)), (mul, (13, 3))),
)


def is_preferred(x):
    """Returns whether these kernels are available and faster for x."""
    wide = x.ndim > 2 and x.shape[1] >= WIDE and x.nbytes >= LARGE
    return wide and x.dtype == np.float32 and find_compiler() is not None


def forward(op, x, gamma, beta, y, mean, variance, relu=False):
    """Returns a call that fills y, mean and variance."""
    rows = as_rows(x)
    sample = rows[:: max(1, len(rows) // SAMPLES)][:SAMPLES]
    center, scale = np.empty_like(mean), np.empty_like(mean)
    sums, (first, second) = row_sums_kernel(SQUARES, (2, 3), (rows, center), compiler())
    apply = affine_kernel(x, mean, scale, beta, y, relu)

    def call():
        np.mean(sample, axis=0, out=center)
        sums()
        away = first.sum(0, dtype=np.float64) / len(rows)
        spread = second.sum(0, dtype=np.float64) / len(rows) - away * away
        mean[...], variance[...] = center + away, np.maximum(spread, 0)
        scale[...] = gamma * inverse(op, variance)
        apply()

    return call


def inference_kernel(op, x, gamma, beta, mean, variance, y, relu=False):
    """Returns a call that fills y, with given mean and variance."""
    scale = np.empty_like(mean)
    apply = affine_kernel(x, mean, scale, beta, y, relu)

    def call():
        scale[...] = gamma * inverse(op, variance)
        apply()

    return call


def affine_kernel(x, mean, scale, beta, y, relu):
    """Returns a call that fills y from the statistics."""
    steps = (*NORMALIZED, (ReluOp(), (6,))) if relu else NORMALIZED
    chain = ChainOp(steps, (len(steps) - 1,))
    return chain_kernel(chain, [x, *wide(x, mean, scale, beta)], [y], compiler())


def backward(op, gy, x, gamma, beta, mean, variance, gx, ggamma, gbeta):
    """Returns a call that fills gx, ggamma and gbeta; with `beta`, through a ReLU after it.

    Whether y was above 0 is recomputed from x exactly as in `forward`, which is faster than reading
    it.
    """
    rows = as_rows(gy), as_rows(x)
    slope, offset, scale = (np.empty_like(gamma) for _ in range(3))
    shared = [mean] if beta is None else [mean, scale, beta]
    steps, results = (PLAIN, (0, 4)) if beta is None else (GATED, (8, 9))
    sums, (first, second) = row_sums_kernel(steps, results, (*rows, *shared), compiler())
    steps, shared = (
        (PLAIN_GRADIENT, [mean, slope, offset, scale])
        if beta is None
        else (GATED_GRADIENT, [mean, scale, beta, slope, offset])
    )
    chain = ChainOp(steps, (len(steps) - 1,))
    apply = chain_kernel(chain, [gy, x, *wide(x, *shared)], [gx], compiler())
    count = len(rows[0])

    def call():
        invert = inverse(op, variance)
        scale[...] = gamma * invert
        sums()
        shift = first.sum(0, dtype=np.float64)
        gain = second.sum(0, dtype=np.float64) * invert
        gbeta[...], ggamma[...] = shift, gain
        slope[...], offset[...] = -gain * invert / count, -shift / count
        apply()

    return call


def inverse(op, variance):
    return 1 / np.sqrt(variance.astype(np.float64) + op.epsilon)


def as_rows(array):
    """Returns channels-last images or volumes, or rows, as (rows, channels), a view."""
    rows = np.moveaxis(array, 1, -1)
    if not rows.flags.c_contiguous:
        raise UnsupportedError("the numbers of a channel do not lie behind one another")
    return rows.reshape(prod(rows.shape[:-1]), rows.shape[-1])


def wide(x, *values):
    """Returns arrays (C,) reshaped to broadcast over x."""
    shape = tuple(n if i == 1 else 1 for i, n in enumerate(x.shape))
    return [v.reshape(shape) for v in values]
