"""Softmax of short rows, many side by side.

The words are rows, classes, the addresses of logits and results.
"""

from functools import cache

from sparkdl.engine.native.calls import bind
from sparkdl.engine.native.control import FIRST, counting, module, pointer, share, word
from sparkdl.engine.native.llvm_code import Code
from sparkdl.engine.native.softmax_rows import ShortRows, exp_of, largest_of, total_of
from sparkdl.engine.operands import Operand
from sparkdl.errors import UnsupportedError

SHORT = 6  # numbers of a row up to which this is faster than oneDNN, which takes 15 ns for a row
ROWS, CLASSES, LOGITS, RESULTS = range(FIRST, FIRST + 4)


def is_short(x):
    """Returns whether rows along the last axis of x are short."""
    return x.ndim > 0 and x.shape[-1] <= SHORT


def short_softmax_kernel(op, x, y, compiler):
    """Returns a call that fills y with the softmax of x along the last axis.

    Raises
    ------
    UnsupportedError
        For long rows, and for types and layouts that are left to oneDNN or numpy.
    """
    if not is_short(x):
        raise UnsupportedError(f"rows of {SHORT} numbers at most are compiled")
    arrays = {"logits": x, "results": y}
    for array in arrays.values():
        if array.dtype != "float32" or not array.flags.c_contiguous or not array.size:
            raise UnsupportedError(f"{array.dtype} in this order is not compiled")
    rows, classes = x.size // x.shape[-1], x.shape[-1]
    walk = (rows, 4 * classes), (classes, 4)
    operands = [Operand(name, a, "float32", walk) for name, a in arrays.items()]
    return bind(compiler.function(text()), [rows, classes, *operands], 6 * x.nbytes)


@cache
def text():
    """Returns the function's text."""
    code = Code()
    begin, end = share(code, word(code, ROWS), ShortRows.rows)
    classes = word(code, CLASSES)
    apart = code.define(f"mul i64 {classes}, 4")
    logits, results = pointer(code, LOGITS), pointer(code, RESULTS)
    with counting(code, begin, end, ShortRows.rows) as row:
        rows = ShortRows(code, row, end, classes)
        start, to = rows.start(logits, apart), rows.start(results, apart)
        largest = largest_of(rows, start)
        factor = 1.0 / total_of(rows, start, largest)
        with counting(code, "0", classes, rows.step) as i:
            rows.store(exp_of(rows, start, largest, i) * factor, to, i)
    return module(code)
