"""Checks of the arrays passed to a kernel against the operands that it reads and writes.

Kernels take addresses: given too little memory or another dtype, they silently compute garbage.
Operands are therefore checked when a call is built, once per program.
"""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from sparkdl.engine.dtypes import name_of
from sparkdl.errors import OperandError


@dataclass(frozen=True)
class Operand:
    """An array as a kernel traverses it.

    Parameters
    ----------
    name : used in errors
    array : of the host or a device
    kind : the dtype that the kernel assumes
    axes : (length, stride in bytes) of each axis that the kernel traverses, starting at the first
        number of the array
    """

    name: str
    array: Any
    kind: str
    axes: tuple

    @property
    def address(self):
        """The address of the array's first number.

        Raises
        ------
        OperandError
            If the kernel would leave the array's memory or misread its numbers.
        """
        array, size = self.array, np.dtype(self.kind).itemsize
        shape, strides = [tuple(values) for values in zip(*self.axes, strict=True)] or ((), ())
        start, stop = reach(shape, strides, size)
        first, last = reach(array.shape, array.strides, array.itemsize)
        fits = first <= start and stop <= last and array.flags.aligned
        if not fits or name_of(array.dtype) != self.kind:
            raise mismatch(
                self.name, format_operand(shape, self.kind, stop - start), describe_array(array)
            )
        return array.ctypes.data


def reach(shape, strides, itemsize):
    """Returns (first byte, one past the last byte) of an array, relative to its start."""
    if 0 in shape:
        return 0, 0
    ways = [(n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
    return sum(w for w in ways if w < 0), sum(w for w in ways if w > 0) + itemsize


def bounds(array):
    """Returns the addresses of an array's first byte and one past its last; 0, 0 if empty."""
    if not array.size:
        return 0, 0
    below, above = reach(array.shape, array.strides, array.itemsize)
    start = array.ctypes.data
    return start + below, start + above


def check(name, array, shape, kind):
    """Raises OperandError unless an array has this shape and dtype."""
    if tuple(array.shape) != tuple(shape) or name_of(array.dtype) != kind:
        size = prod(shape) * np.dtype(kind).itemsize
        raise mismatch(name, format_operand(shape, kind, size), describe_array(array))


def check_all(operation, specs, arrays):
    """Raises OperandError unless `arrays` fit {name: Spec} in names, shapes and dtypes."""
    for name in [*specs, *(n for n in arrays if n not in specs)]:
        spec, array = specs.get(name), arrays.get(name)
        if spec is None:
            raise OperandError(
                f"{operation}: {name} is no operand of it, got {describe_array(array)}"
            )
        if array is None:
            needed = format_operand(spec.shape, spec.dtype, spec.nbytes)
            raise mismatch(f"{operation}: {name}", needed, "nothing")
        check(f"{operation}: {name}", array, spec.shape, spec.dtype)


def mismatch(name, needed, actual):
    """Returns an error such as "scale needs 8 float32 (32 bytes), got 8 bfloat16 (16 bytes)"."""
    return OperandError(f"{name} needs {needed}, got {actual}")


def format_operand(shape, kind, size):
    """Formats an operand as in "2 x 3 float32 (24 bytes)"."""
    return f"{' x '.join(map(str, shape)) or '1'} {kind} ({size} bytes)"


def describe_array(array):
    start, stop = reach(array.shape, array.strides, array.itemsize)
    return format_operand(array.shape, array.dtype.name, stop - start)
