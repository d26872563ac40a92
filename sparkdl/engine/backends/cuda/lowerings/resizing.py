"""Resized images: the sources of each number and their weights, computed once on the host."""

import numpy as np

from sparkdl.engine.backends.cuda.kernels.windows import (
    AXES,
    THREADS,
    layout_of,
    require_narrow_floats,
)
from sparkdl.engine.ops.spatial.resize import weights

SIZES = np.dtype([(name, "i4", AXES) for name in ("from", "to")])


def forward(session, op, x, y):
    return resize_calls(session, "resize", op, (x.shape[2:], y.shape[2:]), (x, y))


def backward(session, op, gy, gx):
    return resize_calls(session, "resize_grad", op, (gx.shape[2:], gy.shape[2:]), (gy, gx))


def resize_calls(session, name, op, spaces, arrays):
    """Returns calls of a kernel; `spaces` are the spatial shapes before and after resizing."""
    require_narrow_floats(*arrays)
    source, target = ((1,) * (AXES - len(space)) + tuple(space) for space in spaces)
    tables = [table(a, b, op.linear) for a, b in zip(source, target, strict=True)]
    read = tables if name == "resize_grad" else [(first, share) for first, share, _ in tables]
    constants = [session.constant(part) for kind in zip(*read, strict=True) for part in kind]
    output = arrays[-1]
    function = session.family("resize.cu", name, T=output.dtype.name)
    sizes = np.array((source, target), SIZES)
    numbers = np.uint32(output.shape[1]), np.uint32(output.size)
    values = sizes, *numbers, *map(layout_of, arrays), *constants, *arrays
    grid = session.grid(output.size, THREADS)
    return ([session.launch(function, grid, THREADS, *values)] if output.size else []), name


def table(source, target, linear):
    """Returns (first (target,), share (target, 2), range (source, 2)) along an axis.

    See kernels/source/resize.cu. The second neighbor may be past the end; then its share is 0.
    """
    matrix = weights(source, target, linear, np.float32)
    first = (matrix > 0).argmax(1)
    second = np.minimum(first + 1, source - 1)
    rows = np.arange(target)
    share = np.stack([matrix[rows, first], matrix[rows, second] * (second > first)], 1)
    used = matrix.T > 0
    begin = used.argmax(1)
    end = np.where(used.any(1), target - used[:, ::-1].argmax(1), 0)
    ranges = np.stack([np.where(end > 0, begin, 0), end], 1)
    return first.astype(np.int32), share.astype(np.float32), ranges.astype(np.int32)
