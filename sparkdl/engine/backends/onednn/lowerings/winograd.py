"""Convolutions by Winograd's algorithm, in programs whose weights rarely change.

Filters of 3 x 3 take a quarter of the multiplications of a direct convolution, filters of 5 x 5 a
third; measured on a core of Sapphire Rapids, from 32 channels on, 1.1 to 2.9 times as fast. Each
program keeps the filters' values: four times the memory of weights of 3 x 3, 1.4 times of 5 x 5.
Rounding errors are up to ten times larger: 3e-6 of the largest result. Without AVX-512 they differ
with the number of threads, as oneDNN's products of blocks of other sizes do. A NaN or an infinity
in x makes all pixels of its tile NaN. Only programs with constant weights, such as predictions, use
this algorithm.
"""

from math import ceil, prod

import numpy as np

from sparkdl.engine.backends.onednn.binding.api import DST, SRC, WEIGHTS
from sparkdl.engine.native.jit import compiler, find_compiler
from sparkdl.engine.native.llvm_code import LANES
from sparkdl.engine.native.operations import OPERATIONS
from sparkdl.engine.native.threads import pool
from sparkdl.engine.native.tiles import Tiles
from sparkdl.engine.native.winograd import (
    POSITIONS,
    SIDE,
    Products,
    matrices,
    winograd_kernel,
)

SIZES = (3, 3), (5, 5)  # of filters
LEAST_CHANNELS, LEAST_TILES = 32, 64
LARGEST_BLOCK = 128  # tiles: more take memory, but hardly less time
NAME = "winograd"


def is_preferred(session, op, x, w, y, bias=None, z=None, activation=None):
    """Returns whether this algorithm is faster: a rule of shapes, as processes must not differ.

    Without a thread pool, oneDNN alone knows how to use several cores.
    """
    plain = op.groups == 1 and {*op.stride, *op.dilation} == {1} and op.size in SIZES
    if not plain or not session.holds(w) or pool() is None or find_compiler() is None:
        return False
    if activation is not None and type(activation) not in OPERATIONS:
        return False
    if any(n % LANES or n < LEAST_CHANNELS for n in (x.shape[1], y.shape[1])):
        return False
    if any(a.dtype != np.float32 for a in (x, w, y, bias, z) if a is not None):
        return False
    if any(a.strides[1] != a.itemsize for a in (x, y, z) if a is not None):
        return False
    step, down, across = grid(op, y)
    is_filled = 2 * y.shape[2] * y.shape[3] > down * across * step * step
    return is_filled and len(x) * down * across >= LEAST_TILES


def grid(op, y):
    """Returns (pixels of y per tile along an axis, tiles along each axis)."""
    step = SIDE + 1 - op.size[0]
    return step, *(ceil(n / step) for n in y.shape[2:])


def forward(session, op, x, w, y, bias=None, z=None, activation=None):
    """Returns the calls of y = activation(conv(x, w) + bias + z), and the kernel's name.

    Raises
    ------
    UnsupportedError
        For activations without compiled code.
    """
    team = pool()
    threads = team.get_size()
    tiles = tiles_of(op, x, y, threads)
    shapes = [(threads, POSITIONS, tiles.block, images.shape[1]) for images in (x, y)]
    scratch = session.transient_array((max(sum(map(prod, shapes)), numbers_ahead(w)),))
    values, results = take(scratch, *shapes)
    shape = np.empty((POSITIONS, x.shape[1], y.shape[1]), np.float32)
    with team.alone():
        of = session.of(values[0]), session.any(shape), None, session.of(results[0])
        pd = session.describe("matmul", *of, None)
    filters = evaluate_filters(session, w, session.query(pd, "weights"), scratch)
    with team.alone():
        calls = [
            own.bind(pd, {SRC: own.at(value), WEIGHTS: filters, DST: own.at(result)})
            for own, value, result in zip(session.get_others(threads), values, results, strict=True)
        ]
    products = Products(values, results, calls, session.execute)
    return [winograd_kernel(tiles, products, x, y, compiler(), bias, z, activation)], NAME


def tiles_of(op, x, y, threads):
    """Returns the Tiles; a block's numbers take about as much memory as the filters' values."""
    step, down, across = grid(op, y)
    alike = x.shape[1] * y.shape[1] // (x.shape[1] + y.shape[1])  # tiles with as many numbers
    total = len(x) * down * across
    blocks = threads * ceil(total / (min(alike, LARGEST_BLOCK) * threads))
    block = ceil(total / blocks) | 1  # odd: positions are in different sets of the cache
    return Tiles(step, tuple(before for before, _ in op.padding), down, across, block)


def take(scratch, *shapes):
    """Returns arrays of these shapes, one after the other in the memory `scratch`."""
    arrays, start = [], 0
    for shape in shapes:
        arrays.append(scratch[start : start + prod(shape)].reshape(shape))
        start += prod(shape)
    return arrays


def numbers_ahead(w):
    return w.shape[0] * w.shape[1] * POSITIONS + w.size


def evaluate_filters(session, w, md, scratch):
    """Returns the memory, laid out as `md`, of the filters' values: (POSITIONS, C, O).

    They are computed ahead of the runs, in memory that the runs use, too. w may have any layout, so
    its pixels are copied into rows first.
    """
    outputs, channels, *size = w.shape
    matrix = matrices(SIDE + 1 - size[0])[1]
    factors = np.kron(matrix, matrix).astype(np.float32).T.copy()
    values, pixels = take(scratch, (outputs * channels, POSITIONS), w.shape)
    rows = pixels.reshape(len(values), -1)
    of = map(session.of, (rows, factors))
    pd = session.describe("matmul", *of, None, session.of(values), None)
    arguments = {SRC: session.at(rows), WEIGHTS: session.at(factors), DST: session.at(values)}
    memory = session.lasting_memory(md)
    by_position = values.reshape(outputs, channels, POSITIONS).transpose(2, 1, 0)
    session.ahead += [
        session.reorder(session.at(w), session.at(pixels)),
        session.bind(pd, arguments),
        session.reorder(session.at(by_position), memory),
    ]
    return memory
