"""Checks the arrays that a kernel is given against the operands that it reads and writes.

Kernels take addresses: one that is given less memory than it reads, or numbers of another type,
computes something all the same. So the operands are checked where a call is made, which is once for
a program.
"""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from sparkdl.engine.dtypes import name_of
from sparkdl.errors import OperandError


@dataclass(frozen=True)
class Operand:
    """An array as a kernel walks over it.

    Parameters
    ----------
    name : what errors call it
    array : of the host or of a device
    kind : the type of number that the kernel takes it for
    axes : (how many numbers, bytes from one to the next) of each axis that the kernel walks along,
        from the array's first number on
    """

    name: str
    array: Any
    kind: str
    axes: tuple

    @property
    def address(self):
        """The address where the array begins.

        Raises
        ------
        OperandError
            Where the kernel would leave the array's memory, or misread its numbers.
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
    """Returns (first byte, the one after the last) of an array, relative to its start."""
    if 0 in shape:
        return 0, 0
    ways = [(n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
    return sum(w for w in ways if w < 0), sum(w for w in ways if w > 0) + itemsize


def bounds(array):
    """Returns the addresses of an array's first byte and behind its last, none of an empty one."""
    if not array.size:
        return 0, 0
    below, above = reach(array.shape, array.strides, array.itemsize)
    start = array.ctypes.data
    return start + below, start + above


def check(name, array, shape, kind):
    """Raises OperandError unless an array has this shape and type."""
    if tuple(array.shape) != tuple(shape) or name_of(array.dtype) != kind:
        size = prod(shape) * np.dtype(kind).itemsize
        raise mismatch(name, format_operand(shape, kind, size), describe_array(array))


def check_all(operation, specs, arrays):
    """Raises OperandError unless there is an array for each of {name: Spec}, and no other."""
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
    """The error of an operand: "scale needs 8 float32 (32 bytes), got 8 bfloat16 (16 bytes)"."""
    return OperandError(f"{name} needs {needed}, got {actual}")


def format_operand(shape, kind, size):
    """Such as "2 x 3 float32 (24 bytes)"."""
    return f"{' x '.join(map(str, shape)) or '1'} {kind} ({size} bytes)"


def describe_array(array):
    start, stop = reach(array.shape, array.strides, array.itemsize)
    return format_operand(array.shape, array.dtype.name, stop - start)
