"""A loop that applies a chain to rows scattered in large arrays.

Rows of large tables are not in any cache, so the loop prefetches each row some iterations ahead: as
many at a time as a core can have in flight.
"""

from contextlib import contextmanager
from functools import cache

from sparkdl.engine.native import chains, loops
from sparkdl.engine.native.calls import bind
from sparkdl.engine.native.control import FIRST, counting, least, module, pointer, share, word
from sparkdl.engine.native.jit import compiler
from sparkdl.engine.native.llvm_code import Code
from sparkdl.engine.native.memory import prefetch
from sparkdl.engine.operands import Operand

AHEAD, GRAIN = 16, 64  # rows: prefetch distance, and the minimum per thread
LINE = 16  # numbers per cache line
SHARED, OWN, PLACED = "shared", "own", "placed"  # one number; row i; row places[i]
COUNT, LENGTH, PLACES, ARRAYS = range(FIRST, FIRST + 4)  # indices of words


def move_rows(chain, operands, outputs, places):
    """Applies a ChainOp to rows.

    Parameters
    ----------
    chain : ChainOp
    operands : its inputs, float32, each (array, SHARED () or OWN (n, d) or PLACED (m, d))
    outputs : float32 arrays (m, d)
        Written at `places`; they may be arrays of operands.
    places : (n,) int64, at least 0
        Distinct.

    Raises
    ------
    UnsupportedError
        If nothing can be compiled, see `jit.compiler`, or an operation of the chain cannot.
    OperandError
        If an array has another type or is too small.
    """
    function = compiler().function(text(chain, tuple(kind for _, kind in operands), len(outputs)))
    count, length = len(places), outputs[0].shape[1]
    counts = {OWN: count, PLACED: int(places.max(initial=-1)) + 1}
    words = [count, length, Operand("places", places, "int64", ((count, 8),))]
    for number, (array, kind) in enumerate([*operands, *((each, PLACED) for each in outputs)]):
        axes = () if kind == SHARED else ((counts[kind], 4 * length), (length, 4))
        words.append(Operand(f"operand {number}", array, "float32", axes))
    rows = len(outputs) + sum(kind != SHARED for _, kind in operands)
    bind(function, words, 4 * count * length * rows)()


@cache
def text(chain, kinds, outputs):
    floats, shared = ("float32",), {SHARED: loops.SHARED}
    loop = loops.Loop(
        steps=chain.steps,
        results=chain.results,
        kinds=chains.step_kinds(chain, floats * len(kinds)),
        inputs=floats * len(kinds),
        outputs=floats * outputs,
        layouts=tuple(shared.get(kind, loops.DENSE) for kind in kinds),
        axes=0,
    )
    code = Code()
    length = word(code, LENGTH)
    with rows_of(code, (*kinds, *(PLACED,) * outputs)) as pointers:
        loops.along_row(code, loop, pointers, "0", length)
    return module(code)


@contextmanager
def rows_of(code, kinds):
    """Emits a loop over rows; yields the addresses of each array's row, or shared number."""
    count, length, places = word(code, COUNT), word(code, LENGTH), pointer(code, PLACES)
    arrays = [pointer(code, ARRAYS + i) for i in range(len(kinds))]
    begin, end = share(code, count, GRAIN)
    last = code.define(f"sub i64 {end}, 1")
    with counting(code, begin, end, 1) as i:
        later = least(code, code.define(f"add i64 {i}, {AHEAD}"), last)
        for row in placed(code, arrays, kinds, place_at(code, places, later), length):
            ask_for(code, row, length)
        firsts = {PLACED: place_at(code, places, i), OWN: i, SHARED: "0"}
        yield [
            row_at(code, array, firsts[kind], length)
            for array, kind in zip(arrays, kinds, strict=True)
        ]


def placed(code, arrays, kinds, place, length):
    """Returns the addresses of the PLACED arrays' rows at an index."""
    pairs = zip(arrays, kinds, strict=True)
    return [row_at(code, array, place, length) for array, kind in pairs if kind == PLACED]


def ask_for(code, row, length):
    """Emits prefetches of the cache lines of a row, which need not be aligned."""
    with counting(code, "0", length, LINE) as j:
        prefetch(code, code.pointer(row, "float", j))
    prefetch(code, code.pointer(row, "float", code.define(f"sub i64 {length}, 1")))


def row_at(code, array, number, length):
    return code.pointer(array, "float", code.define(f"mul i64 {number}, {length}"))


def place_at(code, places, index):
    return code.define(f"load i64, ptr {code.pointer(places, 'i64', index)}")
