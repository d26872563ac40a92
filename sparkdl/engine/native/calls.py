"""Calls of compiled functions, whose words are numbers and addresses of checked arrays."""

import ctypes

import numpy as np

from sparkdl.engine.native.threads import address, pool
from sparkdl.engine.operands import Operand, describe_array, mismatch


def call_once(function, name, numbers, operands):
    """Calls a function on one thread; its words are numbers, then addresses of arrays.

    Parameters
    ----------
    name : names the operands in errors
    numbers : of type int
    operands : (array, dtype, the most numbers that the function accesses), each

    Raises
    ------
    OperandError
        For an array of another type, with gaps, or too short.
    """
    memory = np.array([0, 0, *numbers, *addresses(name, operands)], np.int64)
    function(memory.ctypes.data)


def addresses(name, operands):
    """Returns the addresses of operands, given as in `call_once`, as an int64 array."""
    return np.array([whole(name, *operand) for operand in operands], np.int64)


def whole(name, array, kind, size):
    """Returns the address of a contiguous array; raises OperandError for others."""
    flags = array.flags
    if array.dtype != kind or not flags.c_contiguous or not flags.aligned or array.size < size:
        raise mismatch(name, f"{size} {kind} or more, without gaps", describe_array(array))
    return array.ctypes.data


def bind(function, words, work):
    """Returns a call on fixed words, multithreaded if there is enough work.

    Parameters
    ----------
    words : numbers, or Operands where the function takes addresses
    work : bytes read and written

    Raises
    ------
    OperandError
        If the function would leave an operand's memory or misread it.
    """
    arrays = [word.array for word in words if isinstance(word, Operand)]
    words = [word.address if isinstance(word, Operand) else word for word in words]
    threads = pool()
    threads = threads if threads is not None and threads.is_worth(work) else None
    addresses = [threads.number, threads.count] if threads else [0, 0]
    memory = np.array([*addresses, *words], np.int64)
    place = ctypes.c_void_p(memory.ctypes.data)
    if threads is None:

        def call(keep=(memory, arrays)):  # keeps the memory that the words point to
            function(place)

        return call
    parallel, entry, none = threads.parallel, ctypes.c_void_p(address(function)), ctypes.c_uint(0)

    def call_all(keep=(memory, arrays, function)):
        parallel(entry, place, none, none)

    return call_all
