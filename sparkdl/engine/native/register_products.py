"""Products of a few rows with a panel of LANES columns, whose sums stay in registers."""

from sparkdl.engine.native.control import accumulate
from sparkdl.engine.native.llvm_code import LANES, IrVector, literal
from sparkdl.engine.native.memory import load
from sparkdl.engine.native.tiles import KIND

ROWS = 6  # at once: their sums fill 12 of AVX2's 16 registers
AT_ONCE = 4  # terms of each sum per iteration


def zero_sums(code, count):
    return [IrVector(code, KIND, literal(KIND, 0.0)) for _ in range(count)]


def add_products(code, rows, panel, terms, sums, at_once=AT_ONCE):
    """Emits sums += rows x panel, in the order of terms; returns the new sums.

    Parameters
    ----------
    rows : addresses of one row each, float32
    panel : address of (K, LANES), float32, contiguous
    terms : (begin, end), of which a multiple of `at_once` is added
    sums : an IrVector per row
    """

    def add(term, *sums):
        for index in range(at_once):
            place = code.define(f"add i64 {term}, {index}")
            column = code.define(f"mul i64 {place}, {LANES}")
            weights = load(code, KIND, panel, column, None)
            numbers = [load_in_all_lanes(code, row, place) for row in rows]
            sums = [n.fma(weights, total) for n, total in zip(numbers, sums, strict=True)]
        return sums

    return accumulate(code, *terms, at_once, sums, add)


def load_in_all_lanes(code, base, index):
    return code.splat(KIND, code.define(f"load float, ptr {code.pointer(base, 'float', index)}"))
