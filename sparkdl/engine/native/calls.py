"""A compiled function called with its words: numbers, and addresses of arrays that were checked."""

import ctypes

import numpy as np

from sparkdl.engine.native.threads import address, pool
from sparkdl.engine.operands import Operand, describe_array, mismatch

WORTH_THREADS = 1 << 21  # bytes read and written: below it waking a thread costs what it saves


def call_once(function, name, numbers, operands):
    """Calls a function on one thread; its words are numbers, then the addresses of arrays.

    Parameters
    ----------
    name : what errors call the operands
    numbers : of type int
    operands : (array, dtype, how many numbers the function walks over at most), each

    Raises
    ------
    OperandError
        For an array of another type, with gaps, or shorter.
    """
    memory = np.array([0, 0, *numbers, *addresses(name, operands)], np.int64)
    function(memory.ctypes.data)


def addresses(name, operands):
    """Returns the addresses of operands as `call_once` takes them, an int64 array."""
    return np.array([whole(name, *operand) for operand in operands], np.int64)


def whole(name, array, kind, size):
    """Returns the address of an array that is one stretch of memory; OperandError if not."""
    flags = array.flags
    if array.dtype != kind or not flags.c_contiguous or not flags.aligned or array.size < size:
        raise mismatch(name, f"{size} {kind} or more, without gaps", describe_array(array))
    return array.ctypes.data


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
