"""Convolutions by Winograd's algorithm, in programs whose weights rarely change.

Filters of 3 x 3 take a quarter of the multiplications of a direct convolution, filters of 5 x 5 a
third; measured on a core, from 32 channels on, 1.1 to 2.9 times as fast on Sapphire Rapids, 1.6 to
3 times on Zen 3. Each program keeps the filters' values: four times the memory of weights of 3 x 3,
1.4 times of 5 x 5.
Rounding errors are up to ten times larger: 3e-6 of the largest result; the number of threads does
not change them. A NaN or an infinity in x makes all pixels of its tile NaN. Only programs with
constant weights, such as predictions, use this algorithm.
"""

from functools import partial
from math import ceil, prod

import numpy as np

from sparkdl.engine.backends.onednn.binding.api import DST, SRC, WEIGHTS
from sparkdl.engine.native.jit import compiler, find_compiler
from sparkdl.engine.native.llvm_code import LANES
from sparkdl.engine.native.operations import OPERATIONS
from sparkdl.engine.native.register_products import ROWS
from sparkdl.engine.native.threads import pool
from sparkdl.engine.native.tiles import Tiles
from sparkdl.engine.native.winograd import POSITIONS, SIDE, matrices, winograd_kernel
from sparkdl.engine.native.winograd_products import CompiledProducts, PrimitiveProducts

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
    threads, channels, outputs = pool().get_size(), x.shape[1], y.shape[1]
    block = block_of(op, x, y, threads)
    pd = product_pd(session, block, channels, outputs)
    is_compiled = "avx512" not in session.implementation(pd)
    if is_compiled:
        block = block_of_rows(*most_tiles(op, x, y), threads)
    shapes = [(threads, POSITIONS, block | 1, n) for n in (channels, outputs)]
    scratch = session.transient_array((max(sum(map(prod, shapes)), numbers_ahead(w)),))
    memory = [numbers[:, :, :block] for numbers in take(scratch, *shapes)]
    make = compiled_products if is_compiled else partial(primitive_products, pd)
    products, tiles = make(session, w, scratch, *memory), tiles_of(op, y, block)
    return [winograd_kernel(tiles, products, x, y, compiler(), bias, z, activation)], NAME


def tiles_of(op, y, block):
    step, down, across = grid(op, y)
    return Tiles(step, tuple(before for before, _ in op.padding), down, across, block)


def block_of(op, x, y, threads):
    """Returns the tiles per block for oneDNN, the same for each thread.

    The number is odd, so that positions are in different sets of the cache.
    """
    total, most = most_tiles(op, x, y)
    return ceil(total / (threads * ceil(total / (most * threads)))) | 1


def block_of_rows(total, most, threads):
    """Returns the tiles per block with the least work for a thread, in groups of ROWS."""
    most = max(min(most, ceil(total / threads)), ROWS)

    def groups(block):
        return ceil(ceil(total / block) / threads) * ceil(block / ROWS)

    return min(range(most, max(most // 2, ROWS - 1), -1), key=groups)


def most_tiles(op, x, y):
    """Returns (the number of tiles, the most per block).

    The numbers of a block take about as much memory as the filters' values.
    """
    _, down, across = grid(op, y)
    alike = x.shape[1] * y.shape[1] // (x.shape[1] + y.shape[1])
    return len(x) * down * across, min(alike, LARGEST_BLOCK)


def product_pd(session, block, channels, outputs):
    """Returns the descriptor of the products of a block, for one thread."""
    shapes = (block, channels), (channels, outputs), (block, outputs)
    values, filters, results = (np.empty((POSITIONS, *shape), np.float32) for shape in shapes)
    with pool().alone():
        of = session.of(values), session.any(filters), None, session.of(results)
        return session.describe("matmul", *of, None)


def primitive_products(pd, session, w, scratch, values, results):
    filters = session.lasting_memory(session.query(pd, "weights"))
    evaluate_filters(session, w, scratch, filters, lambda values: values.transpose(2, 1, 0))
    with pool().alone():
        calls = [
            own.bind(pd, {SRC: own.at(value), WEIGHTS: filters, DST: own.at(result)})
            for own, value, result in zip(
                session.get_others(len(values)), values, results, strict=True
            )
        ]
    return PrimitiveProducts(values, results, calls, session.execute)


def compiled_products(session, w, scratch, values, results):
    outputs, channels = w.shape[:2]
    panels = outputs // LANES, LANES, channels, POSITIONS
    filters = session.lasting_array((POSITIONS, outputs // LANES, channels, LANES))

    def in_panels(values):
        return values.reshape(panels).transpose(3, 0, 2, 1)

    evaluate_filters(session, w, scratch, session.at(filters), in_panels)
    return CompiledProducts(values, results, filters)


def take(scratch, *shapes):
    """Returns arrays of these shapes, one after the other in the memory `scratch`."""
    arrays, start = [], 0
    for shape in shapes:
        arrays.append(scratch[start : start + prod(shape)].reshape(shape))
        start += prod(shape)
    return arrays


def numbers_ahead(w):
    return w.shape[0] * w.shape[1] * POSITIONS + w.size


def evaluate_filters(session, w, scratch, memory, arrange):
    """Evaluates the filters ahead of the runs, in `scratch`, which the runs use, too.

    w may have any layout, so its pixels are copied into rows first. `arrange` returns the values
    (O, C, POSITIONS) as a view with the axes of `memory`.
    """
    outputs, channels, *size = w.shape
    matrix = matrices(SIDE + 1 - size[0])[1]
    factors = np.kron(matrix, matrix).astype(np.float32).T.copy()
    values, pixels = take(scratch, (outputs * channels, POSITIONS), w.shape)
    rows = pixels.reshape(len(values), -1)
    arguments = {SRC: session.at(rows), WEIGHTS: session.at(factors), DST: session.at(values)}
    arranged = arrange(values.reshape(outputs, channels, POSITIONS))
    with pool().alone():
        of = map(session.of, (rows, factors))
        pd = session.describe("matmul", *of, None, session.of(values), None)
        evaluate = session.bind(pd, arguments)
    session.ahead += [
        session.reorder(session.at(w), session.at(pixels)),
        partial(run_alone, evaluate),
        session.reorder(session.at(arranged), memory),
    ]


def run_alone(call):
    """Calls a primitive made for one thread, as the parts of several would round differently."""
    with pool().alone():
        call()
