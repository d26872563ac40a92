"""Checks of the memory passed to a oneDNN primitive against its descriptors."""

from ctypes import POINTER, byref, c_int, c_int64, c_void_p

import numpy as np

from sparkdl.engine.operands import describe_array, format_operand, mismatch, reach
from sparkdl.errors import OperandError

INPUTS, OUTPUTS, ARGUMENT = 3, 4, 255  # dnnl_query_num_of_inputs_s32, ..., dnnl_query_exec_arg_md
STRIDES, NDIMS, DIMS, TYPE, FORMAT, BLOCKS = 14, 256, 257, 258, 262, 263
STRIDED = 2  # dnnl_blocked, as opposed to formats opaque to callers
BYTES = np.dtype(np.uint8)  # byte arrays may hold numbers of any type, as workspaces do


def check(session, pd, arguments, names):
    """Raises OperandError for a call that would misread memory.

    Parameters
    ----------
    pd : a primitive's descriptor, which knows its arguments
    arguments : {index: Memory}
    names : {index: name in errors} of all arguments

    Raises
    ------
    OperandError
        For a missing or unexpected argument, a descriptor other than the primitive's, or an array
        that is smaller than its descriptor or of another type.
    """
    for index, memory in arguments.items():
        expected = session.library.dnnl_primitive_desc_query_md(pd, ARGUMENT, index)
        if not (expected and session.equal(expected, memory.md) and holds(session, memory)):
            name = f"{pd.operation}: {names.get(index, f'argument {index}')}"
            raise refusal(session, name, argument(session, pd, index), memory)
    if len(arguments) < count(session, pd):
        raise OperandError(f"{pd.operation}: {missing(session, pd, arguments, names)}, got nothing")


def refusal(session, name, expected, memory):
    """Returns the error for an operand."""
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
    fits = session.size(memory.md) <= stop or read(session, memory.md) <= stop  # cheap test first
    return typed and start == 0 and fits


def argument(session, pd, index):
    """Returns a primitive's descriptor of an argument, or None if it has no such argument."""
    md = session.library.dnnl_primitive_desc_query_md(pd, ARGUMENT, index)
    return c_void_p(md) if md and session.size(md) else None


def count(session, pd):
    """Returns the number of arguments of a primitive."""
    value, total = c_int(), 0
    for what in (INPUTS, OUTPUTS):
        session.call("primitive_desc_query", pd, what, 0, byref(value))
        total += value.value
    return total


def missing(session, pd, arguments, names):
    """Describes the missing arguments of a primitive."""
    absent = {names[i]: argument(session, pd, i) for i in names.keys() - arguments.keys()}
    needs = {name: describe_memory(session, md) for name, md in absent.items() if md is not None}
    return " and ".join(f"{name} needs {what}" for name, what in sorted(needs.items()))


def distinct_texts(session, *mds):
    """Returns a text per descriptor, including the layout if the texts would be equal."""
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
    """Returns the bytes up to the last number; oneDNN's size includes gaps after it."""
    if not plain(session, md):
        return session.size(md)
    size = np.dtype(kind(session, md)).itemsize
    strides = [size * stride for stride in dims(session, md, STRIDES)]
    return reach(dims(session, md, DIMS), strides, size)[1]


def plain(session, md):
    """Returns whether strides describe the layout completely."""
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
