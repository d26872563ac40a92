"""Message: a JSON object that announces types and shapes of arrays, followed by their raw bytes."""

import json
import math
import sys

import numpy as np

from sparkdl.errors import ConfigError, DataError
from sparkdl.exchange.messages.frame import Kind, pack_header

LONGEST_TEXT = 1 << 20  # bytes of JSON
ENCODER = json.JSONEncoder(separators=(",", ":"))
MOST_ARRAYS, MOST_AXES = 4096, 32
WIDTHS = {"f": (2, 4, 8), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "b": (1,)}
TYPES = {np.dtype(f"{k}{n}").newbyteorder("<").str for k, widths in WIDTHS.items() for n in widths}


def pack_message(meta, arrays):
    """Returns the buffers to send for a JSON object and arrays (or bytes)."""
    arrays = [as_array(array) for array in arrays]
    shapes = [[array.dtype.str, list(array.shape)] for array in arrays]
    text = ENCODER.encode({"meta": meta, "arrays": shapes}).encode()
    if len(text) > LONGEST_TEXT or len(arrays) > MOST_ARRAYS:
        raise DataError(
            f"a message must have at most {LONGEST_TEXT} bytes of JSON and {MOST_ARRAYS} arrays, "
            f"got {len(text)} and {len(arrays)}; send large things as arrays"
        )
    head = pack_header(Kind.MESSAGE, length=len(text))
    views = [raw(array) for array in arrays if array.size]
    return [memoryview(head), memoryview(text), *views]


def as_array(array):
    """Returns a contiguous little-endian array; bytes become uint8."""
    if isinstance(array, bytes | bytearray | memoryview):
        return np.frombuffer(array, np.uint8)
    array = np.asarray(array)
    array = np.require(array, array.dtype.newbyteorder("<"), "C")
    if array.dtype.str not in TYPES:
        raise DataError(f"arrays of a message must have a type of {sorted(TYPES)}, "
                        f"got {array.dtype}")  # fmt: skip
    return array


def raw(array):
    """Returns the bytes of a contiguous array, without a copy."""
    return memoryview(array.reshape(-1).view(np.uint8))


def unpack_message(data, limit):
    """Parses a message's JSON into (meta, [(dtype, shape)]).

    Raises DataError unless it is valid and its arrays take at most `limit` bytes.
    """
    try:
        content = json.loads(bytes(data))
        meta, arrays = content["meta"], content["arrays"]
        specs = [spec(*array) for array in arrays]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise DataError(f"a message must begin with its JSON object, got {error}") from None
    if not isinstance(meta, dict) or len(specs) > MOST_ARRAYS:
        raise DataError(f"a message must hold an object and at most {MOST_ARRAYS} arrays")
    total = sum(dtype.itemsize * math.prod(shape) for dtype, shape in specs)
    if total > limit:
        raise DataError(f"the arrays of a message must have at most {limit} bytes, got {total}")
    return meta, specs


def spec(name, shape):
    known = isinstance(name, str) and name in TYPES
    if not known or not isinstance(shape, list) or len(shape) > MOST_AXES:
        raise ValueError(f"an array of type {name!r} and shape {shape!r}"[:200])
    if not all(type(n) is int and 0 <= n < 1 << 48 for n in shape):
        raise ValueError(f"shape {shape!r}"[:200])
    if math.prod(filter(None, shape)) * np.dtype(name).itemsize > sys.maxsize:
        raise ValueError(f"shape {shape!r}, which no array has"[:200])  # not even an empty one
    return np.dtype(name), tuple(shape)


def memory(specs):
    """Returns new arrays of the given (dtype, shape)."""
    return [np.empty(shape, dtype) for dtype, shape in specs]


def fitting(into, specs):
    """Returns `into` if the announced arrays fit into it; else raises DataError."""
    expected = [(view.dtype.str, view.size) for view in into]
    coming = [(dtype.str, math.prod(shape)) for dtype, shape in specs]
    if expected != coming:
        raise DataError(f"arrays of (type, size) {expected} were due, got {coming}")
    return into


def check_memory(into):
    """Raises ConfigError unless all arrays of `into` are contiguous and writable."""
    for array in into or ():
        if not (array.flags.c_contiguous and array.flags.writeable):
            raise ConfigError("into must be contiguous, writable arrays")
