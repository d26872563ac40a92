"""Sums along axes, accumulated in float64: columns in parallel, or row by row.

The words are the number of groups, the length of a sum, the number of contiguous columns, the
addresses of numbers and sums, and strides in bytes: between groups of columns, between the numbers
of a sum, between the sums of groups. Each sum is computed by one thread, so results do not depend
on the number of threads.
"""

from functools import cache

import numpy as np

from sparkdl.engine.native.calls import bind
from sparkdl.engine.native.control import (
    FIRST,
    accumulate,
    counting,
    module,
    pointer,
    share,
    word,
)
from sparkdl.engine.native.llvm_code import LANES, Code, IrVector
from sparkdl.engine.native.memory import below, load, store
from sparkdl.engine.operands import Operand
from sparkdl.errors import UnsupportedError

GROUPS, LENGTH, WIDTH, NUMBERS, SUMS, APART, NEXT, SUMS_APART = range(FIRST, FIRST + 8)


def sum_kernel(op, x, y, compiler):
    """Returns a call that computes y, the sum of x along op.axes.

    Raises
    ------
    UnsupportedError
        For types and layouts that are left to numpy.
    """
    return summing(x, y, op.axes, compiler)


def sum_to_kernel(op, x, y, compiler):
    """Returns a call that computes y, the sum of x over broadcast axes."""
    lead = x.ndim - y.ndim
    repeated = [i + lead for i, n in enumerate(y.shape) if n == 1 and x.shape[i + lead] != 1]
    return summing(x, y, (*range(lead), *repeated), compiler)


def summing(x, y, along, compiler):
    if (x.dtype, y.dtype) != (np.float32, np.float32):
        raise UnsupportedError("sums of float32 only are compiled")
    if not x.size:
        raise UnsupportedError("an empty batch is left to numpy")
    axes = merge_axes(x, y, along)
    if axes and axes[-1][1] != x.itemsize:
        raise UnsupportedError("the numbers lie in no order that is compiled")
    (groups, apart, sums_apart), (length, step, _), (width, _, beside) = three(axes)
    by_rows = bool(axes) and axes[-1][2] is None
    if not by_rows and width > 1 and beside != y.itemsize:
        raise UnsupportedError("the sums lie in no order that is compiled")
    vectors = 0 if by_rows else min(4, -(-width // LANES))
    function = compiler.function(text(vectors))
    walks = ((groups, apart), (length, step), (width, 4)), ((groups, sums_apart), (width, 4))
    operands = Operand("numbers", x, "float32", walks[0]), Operand("sums", y, "float32", walks[1])
    words = [groups, length, width, *operands, apart, step, sums_apart]
    return bind(function, words, x.nbytes)


def merge_axes(x, y, along):
    """Returns [(size, stride of x, stride of y or None if summed)], outermost axis first."""
    kept = [a for a in range(x.ndim) if a not in along]
    strides = y.strides if y.ndim == len(kept) else [y.strides[a - x.ndim] for a in kept]
    beside = dict(zip(kept, strides, strict=True))
    axes = []
    for axis in sorted(range(x.ndim), key=lambda a: -x.strides[a]):
        size, step, to = x.shape[axis], x.strides[axis], beside.get(axis)
        if size == 1:
            continue
        if axes and axes[-1][1] == size * step and same_sums(axes[-1][2], to, size):
            size *= axes.pop()[0]
        axes.append((size, step, to))
    return axes


def same_sums(outer, inner, size):
    if outer is None or inner is None:
        return outer is inner
    return outer == inner * size


def three(axes):
    """Returns the axes of groups, of the sum and of columns; absent ones have size 1."""
    kinds = [to is not None for _, _, to in axes]
    known = {(True, False, True): axes, (False, True): [(1, 0, 0), *axes]}
    known |= {(True, False): [*axes, (1, 4, 4)], (False,): [(1, 0, 0), *axes, (1, 4, 4)]}
    known |= {(True,): [(1, 0, 0), (1, 0, None), *axes], (): [(1, 0, 0), (1, 4, None), (1, 4, 4)]}
    if tuple(kinds) not in known:
        raise UnsupportedError("kept and summed axes alternate in memory")
    return known[tuple(kinds)]


@cache
def text(vectors):
    """Returns the function's text: for rows (0), or for `vectors` vectors of columns at a time."""
    code = Code()
    if not vectors:
        rows(code)
    else:
        columns(code, vectors)
    return module(code)


def rows(code):
    """Emits sums along contiguous numbers."""
    begin, end = share(code, word(code, GROUPS), 1)
    length, apart, sums_apart = (word(code, w) for w in (LENGTH, APART, SUMS_APART))
    numbers, sums = pointer(code, NUMBERS), pointer(code, SUMS)
    with counting(code, begin, end, 1) as row:
        base = code.pointer(numbers, "i8", code.define(f"mul i64 {row}, {apart}"))

        def body(i, total):
            left = below(code, code.define(f"sub i64 {length}, {i}"))
            return [total + load(code, "float32", base, i, left).cast("float64")]

        [total] = accumulate(code, "0", length, LANES, zeros(code, 1), body)
        value = code.define(f"fptrunc double {total.sum()} to float")
        at = code.pointer(sums, "i8", code.define(f"mul i64 {row}, {sums_apart}"))
        code.add(f"store float {value}, ptr {at}, align 4")


def columns(code, vectors):
    """Emits sums down columns, several columns side by side."""
    width, length, down = word(code, WIDTH), word(code, LENGTH), word(code, NEXT)
    step = vectors * LANES
    above = code.define(f"add i64 {width}, {step - 1}")
    parts = code.define(f"udiv i64 {above}, {step}")
    begin, end = share(code, code.define(f"mul i64 {word(code, GROUPS)}, {parts}"), 1)
    apart, sums_apart = word(code, APART), word(code, SUMS_APART)
    numbers, sums = pointer(code, NUMBERS), pointer(code, SUMS)
    with counting(code, begin, end, 1) as item:
        group = code.define(f"udiv i64 {item}, {parts}")
        first = code.define(f"mul i64 {code.define(f'urem i64 {item}, {parts}')}, {step}")
        base = code.pointer(numbers, "i8", code.define(f"mul i64 {group}, {apart}"))
        at = [code.define(f"add i64 {first}, {v * LANES}") for v in range(vectors)]
        masks = [below(code, code.define(f"sub i64 {width}, {a}")) for a in at]

        def body(i, *totals):
            row = code.pointer(base, "i8", code.define(f"mul i64 {i}, {down}"))
            loaded = [load(code, "float32", row, a, m) for a, m in zip(at, masks, strict=True)]
            return [t + f.cast("float64") for t, f in zip(totals, loaded, strict=True)]

        totals = accumulate(code, "0", length, 1, zeros(code, vectors), body)
        to = code.pointer(sums, "i8", code.define(f"mul i64 {group}, {sums_apart}"))
        for total, a, mask in zip(totals, at, masks, strict=True):
            store(code, total.cast("float32"), to, a, mask)


def zeros(code, count):
    return [IrVector(code, "float64", "zeroinitializer")] * count
