"""Rows of a table by index; the gradient adds rows in a fixed order.

The indices are sorted with their positions, so that all rows for one table row are adjacent.
"""

from math import prod

import numpy as np

from sparkdl.engine.backends.cuda.kernels.walks import require_few_numbers
from sparkdl.engine.dtypes import computing_dtype, is_float
from sparkdl.errors import UnsupportedError

THREADS, OWN = 256, 512  # OWN numbers are sorted by one block
CHUNK = 64  # sorted rows per block
WIDEST_ROW = 65_535 * THREADS  # numbers, by the limit of the grid's second axis


def gather(session, op, table, indices, y):
    contiguous(table, indices, y)
    if not y.size:
        return [], "gather"
    missing = "NAN" if is_float(y.dtype) else "0"
    types = {"T": y.dtype.name, "I": indices.dtype.name, "MISSING": missing, "CHUNK": CHUNK}
    function = session.family("gather.cu", "gather", **types)
    values = np.uint64(y.size), np.uint32(width_of(table)), len(table), table, indices, y
    return [session.launch(function, session.grid(y.size, THREADS), THREADS, *values)], "gather"


def scatter_add(session, op, y, indices, table):
    contiguous(table, indices, y)
    require_few_numbers(indices)
    calls = [session.fill(table.flat_bytes())] if table.size else []
    if not y.size:
        return calls, "scatter"
    width = width_of(table)
    if width > WIDEST_ROW:
        raise UnsupportedError(f"cuda adds rows of at most {WIDEST_ROW:,} numbers, got {width:,}")
    count, length = indices.size, max(OWN, 1 << (indices.size - 1).bit_length())
    chunks = -(-count // CHUNK)
    parts = 2 * chunks * width * np.dtype(computing_dtype(y.dtype)).itemsize
    keys = session.scratch(8 * length + parts)
    types = {"T": y.dtype.name, "I": indices.dtype.name, "MISSING": "0", "CHUNK": CHUNK}
    make, add, join = (
        session.family("gather.cu", name, **types) for name in ("keys", "add_runs", "add_parts")
    )
    grid = session.grid(length, THREADS)
    numbers = np.uint32(count), np.uint32(length), len(table)
    calls.append(session.launch(make, grid, THREADS, *numbers, indices, keys))
    calls += sort(session, keys, length, types)
    threads = min(THREADS, 1 << (width - 1).bit_length())
    grid, sizes = (chunks, -(-width // threads)), [np.uint32(n) for n in (count, length, width)]
    calls.append(session.launch(add, grid, threads, *sizes, keys, y, table))
    calls.append(session.launch(join, grid, threads, *sizes, keys, table))
    return calls, "sort, add"


def sort(session, keys, length, types):
    """Returns calls of a bitonic sort (Batcher 1968) of `length` numbers, a power of 2."""
    step, block = (session.family("gather.cu", n, **types) for n in ("sort_step", "sort_block"))

    def alone(first, last):
        numbers = np.uint32(first), np.uint32(last)
        return session.launch(block, length // OWN, THREADS, *numbers, keys)

    calls, run = [alone(1, OWN // 2)], OWN
    while run < length:
        apart = run
        while apart >= OWN:
            numbers = np.uint32(length), np.uint32(run), np.uint32(apart)
            grid = session.grid(length // 2, THREADS)
            calls.append(session.launch(step, grid, THREADS, *numbers, keys))
            apart //= 2
        calls.append(alone(run, run))
        run *= 2
    return calls


def width_of(table):
    return prod(table.shape[1:])


def contiguous(*arrays):
    if not all(a.flags.c_contiguous for a in arrays):
        raise UnsupportedError("rows of images that lie channels last are not gathered on cuda")
