"""Lists of oneDNN primitives that run in parallel, each on a thread of the pool.

No thread runs Python meanwhile: signals are handled when all have finished, as with any kernel. The
words are the address of dnnl_primitive_execute, then for each list the address and number of its
rows. A row is a primitive, a stream, a number of arguments, their address, and the status that the
primitive returned.
"""

from functools import cache

import numpy as np

from sparkdl.engine.native.calls import bind
from sparkdl.engine.native.control import FIRST, counting, module, pointer, share, word
from sparkdl.engine.native.llvm_code import Code
from sparkdl.engine.native.primitive_errors import error_of
from sparkdl.engine.native.threads import WORTH_THREADS, address
from sparkdl.engine.operands import Operand

EXECUTE, LISTS = FIRST, FIRST + 1
PRIMITIVE, STREAM, COUNT, ARGUMENTS, STATUS, ROW = range(6)  # words of a row, and their count


def at_once(lists, execute, compiler):
    """Returns a call that runs lists of calls of OneDnnSession.bind in parallel, a thread each.

    If the pool has fewer threads, a thread runs several lists. Each primitive must have been
    created for one thread.

    Raises
    ------
    UnsupportedError, MemoryError
        When called, if oneDNN fails to execute a primitive.
    """
    tables = [tabulate(calls) for calls in lists]
    words = [address(execute)]
    for table in tables:
        words += [table_operand(table), len(table)]
    run = bind(compiler.function(text(len(lists))), words, WORTH_THREADS)

    def call(keep=lists):  # keeps what the rows point to
        run()
        for table in tables:
            require_executed(table)

    return call


def tabulate(calls):
    """Returns the rows of calls of OneDnnSession.bind, (calls, ROW) uint64."""
    return np.array([[*call.words, 0] for call in calls], np.uint64).reshape(-1, ROW)


def require_executed(table):
    """Raises the error of the first primitive of these rows that oneDNN failed to execute."""
    failed = table[:, STATUS].nonzero()[0]
    if failed.size:
        raise error_of("primitive_execute", int(table[failed[0], STATUS]))


def table_operand(table):
    return Operand("a list of primitives", table, "uint64", ((len(table), 8 * ROW), (ROW, 8)))


@cache
def text(count):
    """Returns the text of the function that runs a thread's share of `count` lists."""
    code = Code()
    execute = pointer(code, EXECUTE)
    begin, end = share(code, count, 1)
    with counting(code, begin, end, 1) as number:
        place = code.define(f"mul i64 {number}, 2")
        place = code.define(f"add i64 {place}, {LISTS}")
        rows = code.define(f"load ptr, ptr {code.pointer('%words', 'i64', place)}")
        length = word(code, code.define(f"add i64 {place}, 1"))
        with counting(code, 0, length, 1) as index:
            run_row(code, execute, code.pointer(rows, f"[{ROW} x i64]", index))
    return module(code)


def run_row(code, execute, row):
    """Emits the execution of a primitive and stores its status."""
    places = [code.pointer(row, "i64", index) for index in range(ROW)]
    primitive, stream, arguments = (
        code.define(f"load ptr, ptr {places[index]}") for index in (PRIMITIVE, STREAM, ARGUMENTS)
    )
    count = code.define(f"load i32, ptr {places[COUNT]}")
    values = f"ptr {primitive}, ptr {stream}, i32 {count}, ptr {arguments}"
    status = code.define(f"call i32 {execute}({values})")
    wide = code.define(f"zext i32 {status} to i64")
    code.add(f"store i64 {wide}, ptr {places[STATUS]}")
