"""Types of numbers. Those of 16 bits are stored so, and computed in float32.

bfloat16 is a float32 with 8 bits of mantissa; numpy knows it by ml_dtypes. float16 has 11 of them,
but ends at 65504.
"""

from functools import cache

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16).name
NARROW = (BFLOAT16, "float16")


@cache  # compiling a program asks by the thousand, and numpy makes each name anew
def name_of(dtype):
    """Returns the name of a type of numbers, such as "float32"."""
    return np.dtype(dtype).name


@cache
def is_float(dtype):
    """Returns whether numbers of this type have a fraction; numpy says no of bfloat16."""
    dtype = np.dtype(dtype)
    return dtype.kind == "f" or dtype.name == BFLOAT16


def is_narrow(dtype):
    """Returns whether numbers of this type have 16 bits and a fraction."""
    return name_of(dtype) in NARROW


def lowest(dtype):
    """Returns the lowest number of a float type that is finite."""
    return float(ml_dtypes.finfo(dtype).min)


@cache
def computing_dtype(dtype):
    """Returns the type in which numbers are computed: float32 for narrow ones, else their own."""
    return "float32" if is_narrow(dtype) else np.dtype(dtype).name


@cache
def sum_dtype(dtype):
    """Returns the type of sums: integers in 64 bits, as in numpy; narrow floats in float32."""
    return np.sum(np.empty(0, computing_dtype(dtype))).dtype.name


def widen(array):
    """Returns an array that numpy computes with: float32 in place of narrow numbers."""
    return array.astype(np.float32) if is_narrow(array.dtype) else array
