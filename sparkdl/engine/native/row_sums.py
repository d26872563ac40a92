"""Column sums of the results of an elementwise chain over the rows of a matrix.

Rows are read in memory order, four at a time, at the speed of memory; a loop down the columns of a
wide matrix that exceeds the cache is far slower. Rows are split into parts of a few hundred with
float32 sums each, which callers may add in float64. The words are rows, their length, rows per
part, the operands' addresses, and those of the parts' sums.
"""

from functools import cache

import numpy as np

from sparkdl.engine.native.calls import bind
from sparkdl.engine.native.control import (
    FIRST,
    counting,
    least,
    module,
    pointer,
    share,
    word,
)
from sparkdl.engine.native.llvm_code import LANES, Code, IrVector, literal
from sparkdl.engine.native.loops import load, store
from sparkdl.engine.native.operations import apply
from sparkdl.engine.operands import Operand
from sparkdl.errors import UnsupportedError

ROWS, LENGTH, PART, OPERANDS = range(FIRST, FIRST + 4)
AT_ONCE = 4  # rows per pass over the sums
KIND = "float32"


def row_sums_kernel(steps, results, inputs, compiler):
    """Returns (a call, its sums: (parts, length) for each result).

    Parameters
    ----------
    steps : of a ChainOp
    results : which values are summed, numbered like operands
    inputs : float32, (rows, length), or (length,) for numbers shared by all rows

    Raises
    ------
    UnsupportedError
        For non-contiguous matrices, or lengths that are not multiples of 16.
    """
    rows, length = next(a.shape for a in inputs if a.ndim == 2)
    if length % LANES or any(a.dtype != KIND or not a.flags.c_contiguous for a in inputs):
        raise UnsupportedError(f"rows of {length} numbers are not summed by a compiled loop")
    part = max(256, -(-rows // 1024))
    sums = [np.empty((-(-rows // part), length), np.float32) for _ in results]
    function = compiler.function(text(steps, results, tuple(a.ndim == 2 for a in inputs)))
    counts = [rows if a.ndim == 2 else 1 for a in inputs] + [-(-rows // part) for _ in sums]
    names = [f"input {i}" for i in range(len(inputs))] + [f"sums {i}" for i in range(len(sums))]
    operands = [
        Operand(name, array, KIND, ((count, 4 * length), (length, 4)))
        for name, array, count in zip(names, (*inputs, *sums), counts, strict=True)
    ]
    return bind(function, [rows, length, part, *operands], sum(a.nbytes for a in inputs)), sums


@cache
def text(steps, results, wide):
    """Returns the function's text; `wide` tells which operands are matrices."""
    code = Code()
    rows, length, part = (word(code, w) for w in (ROWS, LENGTH, PART))
    operands = [pointer(code, OPERANDS + i) for i in range(len(wide))]
    totals = [pointer(code, OPERANDS + len(wide) + i) for i in range(len(results))]
    rounded = code.define(f"sub i64 {code.define(f'add i64 {rows}, {part}')}, 1")
    begin, end = share(code, code.define(f"udiv i64 {rounded}, {part}"), 1)
    with counting(code, begin, end, 1) as number:
        first = code.define(f"mul i64 {number}, {part}")
        last = least(code, code.define(f"add i64 {first}, {part}"), rows)
        place = code.define(f"mul i64 {number}, {length}")
        sums = [code.pointer(total, "float", place) for total in totals]
        with counting(code, "0", length, LANES) as i:
            for total in sums:
                store(code, IrVector(code, KIND, literal(KIND, 0)), total, i, None)
        rest = code.define(f"urem i64 {code.define(f'sub i64 {last}, {first}')}, {AT_ONCE}")
        full = code.define(f"sub i64 {last}, {rest}")
        spans = (first, full, AT_ONCE), (full, last, 1)
        for start, stop, count in spans:
            with counting(code, start, stop, count) as row:
                below = starts(code, operands, wide, row, count, length)
                with counting(code, "0", length, LANES) as i:
                    add_up(code, (steps, results), below, sums, i)
    return module(code)


def starts(code, operands, wide, row, count, length):
    """Returns the addresses of the operands' numbers in each of `count` rows."""
    places = []
    for k in range(count):
        offset = code.define(f"mul i64 {code.define(f'add i64 {row}, {k}')}, {length}")
        pairs = zip(operands, wide, strict=True)
        places.append([code.pointer(p, "float", offset) if w else p for p, w in pairs])
    return places


def add_up(code, chain, places, sums, index):
    """Emits the addition of the chain's results for LANES numbers of some rows to their sums."""
    steps, results = chain
    totals = [load(code, KIND, total, index, None) for total in sums]
    for pointers in places:
        values = [load(code, KIND, p, index, None) for p in pointers]
        for op, operands in steps:
            values.append(apply(op, [values[i] for i in operands], KIND))
        totals = [total + values[i] for total, i in zip(totals, results, strict=True)]
    for total, base in zip(totals, sums, strict=True):
        store(code, total, base, index, None)
