"""The contents of windows side by side, and their sums back in the image."""

import numpy as np

from sparkdl.engine.backends.cuda.kernels.windows import THREADS, layout_of, windows


def unfold(session, op, x, y):
    at = windows(op, x.shape[2:], y.shape[2:])
    return unfold_calls(session, "unfold", at, x, y, channels=x.shape[1])


def fold(session, op, gy, gx):
    at = windows(op, gx.shape[2:], gy.shape[2:])
    return unfold_calls(session, "fold", at, gy, gx, channels=gx.shape[1])


def unfold_calls(session, name, at, x, y, channels):
    function = session.family("unfold.cu", name, T=x.dtype.name)
    values = at, np.uint32(channels), np.uint32(y.size), layout_of(x), layout_of(y), x, y
    grid = session.grid(y.size, THREADS)
    return ([session.launch(function, grid, THREADS, *values)] if y.size else []), name
