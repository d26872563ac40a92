"""A compiled function bound to its words, on as many threads as its work is worth."""

import ctypes

import numpy as np

from sparkdl.engine.native.threads import address, pool
from sparkdl.engine.operands import Operand

WORTH_THREADS = 1 << 21  # bytes read and written: below it waking a thread costs what it saves


def bind(function, words, work):
    """Returns a call on fixed words, on the pool's threads where the work is worth it.

    Parameters
    ----------
    words : numbers, and an Operand where the function takes an address
    work : bytes read and written

    Raises
    ------
    OperandError
        Where the function would leave an operand's memory, or misread it.
    """
    arrays = [word.array for word in words if isinstance(word, Operand)]
    words = [word.address if isinstance(word, Operand) else word for word in words]
    threads = pool() if work >= WORTH_THREADS else None
    addresses = [threads.number, threads.count] if threads else [0, 0]
    memory = np.array([*addresses, *words], np.int64)
    place = ctypes.c_void_p(memory.ctypes.data)
    if threads is None:

        def call(keep=(memory, arrays)):  # what the words point to lives as long as the call
            function(place)

        return call
    parallel, entry, none = threads.parallel, ctypes.c_void_p(address(function)), ctypes.c_uint(0)

    def call_all(keep=(memory, arrays, function)):
        parallel(entry, place, none, none)

    return call_all
