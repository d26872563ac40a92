"""Checks the memory that a call of a oneDNN primitive is given against the descriptors."""

from ctypes import POINTER, byref, c_int, c_int64, c_void_p

import numpy as np

from sparkdl.engine.operands import describe_array, format_operand, mismatch, reach
from sparkdl.errors import OperandError

INPUTS, OUTPUTS, ARGUMENT = 3, 4, 255  # dnnl_query_num_of_inputs_s32, ..., dnnl_query_exec_arg_md
STRIDES, NDIMS, DIMS, TYPE, FORMAT, BLOCKS = 14, 256, 257, 258, 262, 263
STRIDED = 2  # dnnl_blocked, as opposed to what only oneDNN understands
BYTES = np.dtype(np.uint8)  # an array of these may hold numbers of any type, as a workspace does


def check(session, pd, arguments, names):
    """Refuses a call that would misread memory.

    Parameters
    ----------
    pd : a primitive's descriptor, which knows what its primitive wants
    arguments : {index: Memory}
    names : {index: what errors call it} of all arguments that there are

    Raises
    ------
    OperandError
        For an argument that is missing or not wanted, one that the primitive was described
        otherwise, or an array that is smaller than its descriptor says, or of another type.
    """
    for index, memory in arguments.items():
        expected = session.library.dnnl_primitive_desc_query_md(pd, ARGUMENT, index)
        if not (expected and session.equal(expected, memory.md) and holds(session, memory)):
            name = f"{pd.operation}: {names.get(index, f'argument {index}')}"
            raise refusal(session, name, argument(session, pd, index), memory)
    if len(arguments) < count(session, pd):
        raise OperandError(f"{pd.operation}: {missing(session, pd, arguments, names)}, got nothing")


def refusal(session, name, expected, memory):
    """The error of an operand."""
    if expected is None:
        return OperandError(f"{name} is no operand of it, got {describe_array(memory.array)}")
    if session.equal(expected, memory.md):
        return mismatch(name, describe_memory(session, expected), describe_array(memory.array))
    return mismatch(name, *distinct_texts(session, expected, memory.md))


def holds(session, memory):
    """Returns whether an array has all the bytes and the type of its descriptor."""
    array = memory.array
    if memory.own or not array.flags.aligned:
        return array.flags.aligned
    start, stop = reach(array.shape, array.strides, array.itemsize)
    typed = array.dtype == BYTES or array.dtype.name == kind(session, memory.md)
    fits = session.size(memory.md) <= stop or read(session, memory.md) <= stop  # the first is quick
    return typed and start == 0 and fits


def argument(session, pd, index):
    """The descriptor that a primitive has of an argument, or None where it takes no such one."""
    md = session.library.dnnl_primitive_desc_query_md(pd, ARGUMENT, index)
    return c_void_p(md) if md and session.size(md) else None


def count(session, pd):
    """Returns how many arguments a primitive takes."""
    value, total = c_int(), 0
    for what in (INPUTS, OUTPUTS):
        session.call("primitive_desc_query", pd, what, 0, byref(value))
        total += value.value
    return total


def missing(session, pd, arguments, names):
    """Describes the arguments that a primitive needs and is not given."""
    absent = {names[i]: argument(session, pd, i) for i in names.keys() - arguments.keys()}
    needs = {name: describe_memory(session, md) for name, md in absent.items() if md is not None}
    return " and ".join(f"{name} needs {what}" for name, what in sorted(needs.items()))


def distinct_texts(session, *mds):
    """A text for each descriptor; where they are alike, it tells how the numbers lie."""
    texts = [describe_memory(session, md) for md in mds]
    if len(set(texts)) == len(texts):
        return texts
    return [f"{t} that lie {layout(session, md)}" for t, md in zip(texts, mds, strict=True)]


def describe_memory(session, md):
    return format_operand(dims(session, md, DIMS), kind(session, md), read(session, md))


def layout(session, md):
    if not plain(session, md):
        return "in blocks"
    return f"{' x '.join(map(str, dims(session, md, STRIDES)))} apart"


def read(session, md):
    """Returns the bytes up to the last number; oneDNN's size counts gaps behind it too."""
    if not plain(session, md):
        return session.size(md)
    size = np.dtype(kind(session, md)).itemsize
    strides = [size * stride for stride in dims(session, md, STRIDES)]
    return reach(dims(session, md, DIMS), strides, size)[1]


def plain(session, md):
    """Returns whether strides say all of how the numbers lie."""
    strided = query_descriptor(session, md, FORMAT, c_int()).value == STRIDED
    return strided and query_descriptor(session, md, BLOCKS, c_int()).value == 0


def kind(session, md):
    return session.kind(query_descriptor(session, md, TYPE, c_int()).value)


def dims(session, md, what):
    rank = query_descriptor(session, md, NDIMS, c_int()).value
    return query_descriptor(session, md, what, POINTER(c_int64)())[:rank]


def query_descriptor(session, md, what, answer):
    session.call("memory_desc_query", md, what, byref(answer))
    return answer
