"""Convolutions by our own kernels: for all shapes, slower than a library's."""

from math import prod

import numpy as np

from sparkdl.engine.backends.cuda.kernels.walks import parts_needed
from sparkdl.engine.backends.cuda.kernels.windows import (
    THREADS,
    layout_of,
    require_narrow_floats,
    windows,
)
from sparkdl.errors import UnsupportedError

TILE, GRID = 64, 65_535
CHANNELS = np.dtype([("inner", "u4"), ("outer", "u4")])
LEAST = 256  # least windows per block of the weights' gradient


def forward(session, op, x, w, y, bias=None, after="(a)"):
    """Returns calls of y = after(convolution of x with w, + bias); `after` is C code."""
    at = windows(op, x.shape[2:], y.shape[2:])
    return product(session, "conv", (op, at), (x, w, y), bias, after)


def backward_input(session, op, gy, w, gx, bias=None, after="(a)"):
    """Returns calls of the gradient of the input, or a transposed convolution with its bias."""
    at = windows(op, gx.shape[2:], gy.shape[2:])
    return product(session, "conv_grad_input", (op, at), (gy, w, gx), bias, after)


def product(session, name, job, arrays, bias, after):
    (op, at), (x, w, y) = job, arrays
    require_narrow_floats(x, w)
    if not y.size:
        return [], name
    kind = x.dtype.name if bias is None else bias.dtype.name
    function = kernel(session, name, x, y, BIAS=kind, **{"AFTER(a)": after})
    grid = grid_of(len(y) * prod(y.shape[2:]), y.shape[1] // op.groups, op.groups)
    places = layout_of(x), layout_of(w), layout_of(y)
    values = at, channels(op, w), np.uint32(len(y)), *places, x, w, bias, y
    return [session.launch(function, grid, THREADS, *values)], name


def backward_weights(session, op, gy, x, gw):
    """Returns calls of the gradient of the weights: partial sums, added in a fixed order."""
    require_narrow_floats(gy, x)
    at, of_group = windows(op, x.shape[2:], gy.shape[2:]), channels(op, gw)
    total, columns = len(gy) * prod(gy.shape[2:]), gw.size // max(len(gw), 1)
    if not gw.size:
        return [], "conv_grad_weight"
    tiles = grid_of(int(of_group["outer"]), columns, op.groups)
    parts = parts_of(session, total, prod(tiles), op.groups)
    part = -(-max(total, 1) // parts)
    sums = session.scratch(parts * gw.size * 4)
    types = {"BIAS": gw.dtype.name, "AFTER(a)": "(a)"}
    first, then = (kernel(session, f"conv_grad_weight{n}", x, gw, **types) for n in ("", "_sum"))
    numbers = [np.uint32(n) for n in (op.groups, len(x), part)]
    grid = *tiles[:2], op.groups * parts
    values = at, of_group, *numbers, layout_of(gy), layout_of(x), gy, x, sums
    last = at, of_group["inner"], np.uint32(len(gw)), np.uint32(parts), layout_of(gw), sums, gw
    return [
        session.launch(first, grid, THREADS, *values),
        session.launch(then, session.grid(gw.size, THREADS), THREADS, *last),
    ], "conv_grad_weight"


def parts_of(session, total, tiles, groups):
    """Returns how many blocks share a tile's windows, so that all processors work."""
    target = -(-4 * session.device.driver.properties.processors // tiles)
    return parts_needed(total, max(1, min(target, total // LEAST, GRID // groups)))


def kernel(session, name, x, y, **types):
    return session.family("conv.cu", name, T=x.dtype.name, R=y.dtype.name, **types)


def channels(op, w):
    return np.array((w.shape[1], w.shape[0] // op.groups), CHANNELS)


def grid_of(rows, columns, groups):
    grid = -(-rows // TILE), -(-columns // TILE), groups
    if max(grid[1:]) > GRID:
        raise UnsupportedError(f"cuda's own convolution takes at most {GRID} groups, got {groups}")
    return grid
