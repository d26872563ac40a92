"""Products of the values of a block of tiles with those of the filters, on one thread.

Each of the positions of a tile has a matrix product. Where oneDNN has no kernel for many small
matrices, it takes up to three times as long as a compiled loop, which adds in the order of channels
whatever the number of tiles.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sparkdl.engine.native.control import counting, least
from sparkdl.engine.native.llvm_code import LANES
from sparkdl.engine.native.memory import store
from sparkdl.engine.native.primitive_lists import (
    ROW,
    require_executed,
    run_row,
    table_operand,
    tabulate,
)
from sparkdl.engine.native.register_products import ROWS, add_products, zero_sums
from sparkdl.engine.native.threads import address
from sparkdl.engine.native.tiles import BYTES, KIND
from sparkdl.engine.operands import Operand

NAMES = "execute", "table", "filters"  # of words


@dataclass(frozen=True)
class PrimitiveProducts:
    """The memory of each thread for a block of tiles, and oneDNN's products in it.

    Parameters
    ----------
    values : float32, (threads, positions, block, C)
    results : float32, (threads, positions, block, O)
    calls : a call of OneDnnSession.bind per thread, which computes its results from its values
    execute : dnnl_primitive_execute
    """

    values: Any
    results: Any
    calls: list
    execute: Any

    @cached_property
    def table(self):
        return tabulate(self.calls)

    @property
    def words(self):
        return {"execute": address(self.execute), "table": table_operand(self.table), "filters": 0}

    def require_executed(self):
        """Raises UnsupportedError or MemoryError if oneDNN failed to execute a product."""
        require_executed(self.table)

    @staticmethod
    def emit(at, thread, positions, count):
        """Emits the products of a thread's block."""
        code = at.code
        own = code.pointer(at.pointer("table"), f"[{ROW} x i64]", thread)
        run_row(code, at.pointer("execute"), own)


@dataclass(frozen=True)
class CompiledProducts:
    """The memory of each thread for a block of at least ROWS tiles, and the filters' values.

    Parameters
    ----------
    values : float32, (threads, positions, block, C); C is a multiple of LANES
    results : float32, (threads, positions, block, O); O is a multiple of LANES
    filters : float32, (positions, O / LANES, C, LANES), contiguous
    """

    values: Any
    results: Any
    filters: Any

    @property
    def words(self):
        _, positions, _, channels = self.values.shape
        numbers = positions * channels * self.results.shape[3]
        filters = Operand("filters", self.filters, KIND, ((numbers, BYTES),))
        return {"execute": 0, "table": 0, "filters": filters}

    def require_executed(self):
        """Does nothing: a compiled loop cannot fail."""

    @staticmethod
    def emit(at, thread, positions, count):
        """Emits the products of the first `count` tiles of a thread's block.

        The last ROWS tiles overlap those before them, or include unused ones if there are fewer.
        """
        code, channels = at.code, at.word("x_channels")
        panel = at.integer("mul", channels, LANES * BYTES)
        panels = at.integer("udiv", at.word("y_channels"), LANES)
        filters = at.integer("mul", panels, panel)
        is_short = code.define(f"icmp ult i64 {count}, {ROWS}")
        last = code.define(f"select i1 {is_short}, i64 0, i64 {at.integer('sub', count, ROWS)}")
        ways = [row_offsets(at, name) for name in ("values", "results")]
        with counting(code, "0", positions, 1) as position:
            memory = [at.numbers(name, thread, position) for name in ("values", "results")]
            own = at.shift(at.pointer("filters"), (position, filters))
            with counting(code, "0", panels, 1) as number, counting(code, "0", count, ROWS) as i:
                first = least(code, i, last)
                rows = [rows_from(at, *where, first) for where in zip(memory, ways, strict=True)]
                multiply(at, *rows, number, at.shift(own, (number, panel)))


def row_offsets(at, name):
    """Returns the offsets of ROWS tiles from the first one, in bytes."""
    stride = at.word(f"{name}_tiles")
    return [at.integer("mul", stride, row) for row in range(ROWS)]


def rows_from(at, start, offsets, first):
    """Returns the addresses of ROWS tiles."""
    begin = at.shift(start, (first, offsets[1]))
    return [at.code.pointer(begin, "i8", offset) for offset in offsets]


def multiply(at, values, results, number, panel):
    """Emits the results of ROWS tiles for the LANES filters of a panel."""
    code = at.code
    channels = "0", at.word("x_channels")
    sums = add_products(code, values, panel, channels, zero_sums(code, ROWS))
    for total, row in zip(sums, results, strict=True):
        store(code, total, row, at.integer("mul", number, LANES), None)
