"""Concatenation along an axis: one kernel if all arrays have one memory order."""

from itertools import accumulate
from math import gcd, prod

import numpy as np

from sparkdl.engine.backends.cuda.kernels import walks
from sparkdl.engine.backends.cuda.lowerings.chains import copy_array

THREADS = 256
MOST = 64  # parts per launch


def concat(session, op, *xs_and_y):
    y = xs_and_y[-1]
    order = sorted(range(y.ndim), key=lambda a: -y.strides[a])
    *xs, y = (a.transpose(order) for a in xs_and_y)
    axis = order.index(op.axis)
    alike = all(a.flags.c_contiguous and a.dtype == y.dtype for a in (*xs, y))
    if not alike or y.size >= walks.MOST:
        return one_by_one(session, axis, xs, y), "copies"
    return together(session, axis, xs, y), "join"


def one_by_one(session, axis, xs, y):
    """Returns calls that copy each part to its place, in any order and type."""
    calls, stops = [], accumulate(x.shape[axis] for x in xs)
    for x, stop in zip(xs, stops, strict=True):
        part = y[(*(slice(None),) * axis, slice(stop - x.shape[axis], stop))]
        calls += copy_array(session, None, [x], [part])[0]
    return calls


def together(session, axis, xs, y):
    """Returns calls for parts in the order of y: each of its rows is a row of every part."""
    if not y.size:
        return []
    widths = [prod(x.shape[axis:]) * x.itemsize for x in xs]
    at_once = gcd(walks.WIDEST, *widths, *(a.address for a in (*xs, y) if a.size))
    widths = [width // at_once for width in widths]
    starts, rows = [0, *accumulate(widths)], prod(y.shape[:axis])
    word = min(at_once, 4)
    kinds = {"T": f"uint{8 * word}", "V": at_once // word, "MOST": MOST}
    function = session.family("join.cu", "join", **kinds)
    calls = []
    for first in range(0, len(xs), MOST):
        some = slice(first, first + MOST)
        numbers = places(starts[some], widths[some]), np.uint32(rows), np.uint32(starts[-1])
        parts = (*xs[some], *[None] * MOST)[:MOST]
        grid = session.grid(rows * max(widths[some]), THREADS), len(xs[some])
        calls.append(session.launch(function, grid, THREADS, parts, *numbers, y))
    return calls


def places(starts, widths):
    """Returns the start of each part in a row, and its width."""
    table = np.zeros((2, MOST), np.uint32)
    table[0, : len(widths)], table[1, : len(widths)] = starts[: len(widths)], widths
    return table
