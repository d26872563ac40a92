"""Safetensors files: a length, a JSON header, and the numbers of all arrays."""

import json
from math import prod

import numpy as np

from sparkdl.errors import DataError, UnsupportedError, brief
from sparkdl.interop.torch.weights.tensors import TYPES, array_of

LONGEST = 100_000_000  # bytes; the format's limit for a header
MOST_AXES, LARGEST = 64, 2**62  # limits of a shape
KINDS = {  # {name in a header: name in torch}
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "I16": "int16",
    "I32": "int32",
    "I64": "int64",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
}


def read_safetensors(content, path):
    """Returns {name: array} of a file's bytes.

    Raises
    ------
    DataError
        If the file is damaged.
    UnsupportedError
        If an array has an unsupported type.
    """
    header, start = header_of(content, path)
    body = memoryview(content)[start:]
    entries = [(name, about) for name, about in header.items() if name != "__metadata__"]
    try:
        entries.sort(key=lambda entry: entry[1]["data_offsets"])
        check_order([about["data_offsets"] for _, about in entries], len(body), path)
        return {name: tensor(name, about, body, path) for name, about in entries}
    except DataError:
        raise
    except (LookupError, TypeError, ValueError) as error:
        raise DataError(f"{path}: its header is damaged: {error!r}") from error


def header_of(content, path):
    """Returns (header, offset of the numbers)."""
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or not 2 <= length <= min(LONGEST, len(content) - 8):
        raise DataError(f"{path}: is no safetensors file, nor a zip of torch.save")
    try:
        header = json.loads(content[8 : 8 + length])
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: its header is no JSON: {error}") from error
    if not isinstance(header, dict):
        raise DataError(f"{path}: its header must be an object, got {type(header).__name__}")
    return header, 8 + length


def check_order(places, end, path):
    """Raises DataError unless the arrays are contiguous, from the first byte to the last."""
    ends = [0, *(place[1] for place in places)]
    if [place[0] for place in places] != ends[:-1] or ends[-1] != end:
        raise DataError(f"{path}: its arrays must lie one behind the other, up to the end")


def tensor(name, about, body, path):
    """Returns the array that an entry of the header describes."""
    kind, shape, (start, end) = about["dtype"], about["shape"], about["data_offsets"]
    if kind not in KINDS:
        kind = brief(kind).strip("'")
        raise UnsupportedError(f"{path}: {name} of type {kind} is not supported")
    if not all(map(is_length, (start, end))) or not start <= end <= len(body):
        place = f"{brief(start)} to {brief(end)}"
        raise DataError(f"{path}: {name} must lie in the file, got {place}")
    if len(shape) > MOST_AXES or not all(map(is_length, shape)):
        raise DataError(
            f"{path}: {name} must have at most {MOST_AXES} axes, each below 2^62, got "
            f"{brief(shape)}"
        )
    numbers = body[start:end]
    count, size = len(numbers), np.dtype(TYPES[KINDS[kind]]).itemsize
    if count != size * prod(shape):
        raise DataError(f"{path}: {name} of shape {brief(shape)} must not have {count} bytes")
    return array_of(KINDS[kind], numbers).reshape(shape)


def is_length(value):
    return type(value) is int and 0 <= value < LARGEST
