"""Number types. 16-bit floats are stored as such and computed in float32.

bfloat16 is a float32 cut to a significand of 8 bits; numpy knows it through ml_dtypes. float16 has
11 bits, but its largest number is 65504.
"""

from functools import cache

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16).name
NARROW = (BFLOAT16, "float16")


@cache  # compiling a program calls this thousands of times, and numpy builds each name anew
def name_of(dtype):
    """Returns the name of a dtype, such as "float32"."""
    return np.dtype(dtype).name


@cache
def is_float(dtype):
    """Returns whether a dtype is a floating-point type; numpy denies it for bfloat16."""
    dtype = np.dtype(dtype)
    return dtype.kind == "f" or dtype.name == BFLOAT16


def is_narrow(dtype):
    """Returns whether a dtype is a 16-bit float."""
    return name_of(dtype) in NARROW


def lowest(dtype):
    """Returns the lowest finite number of a float type."""
    return float(ml_dtypes.finfo(dtype).min)


@cache
def computing_dtype(dtype):
    """Returns the dtype of computation: float32 for narrow floats, else the dtype itself."""
    return "float32" if is_narrow(dtype) else np.dtype(dtype).name


@cache
def sum_dtype(dtype):
    """Returns the dtype of sums: 64 bits for integers, as in numpy; float32 for narrow floats."""
    return np.sum(np.empty(0, computing_dtype(dtype))).dtype.name


def widen(array):
    """Returns the array as float32 if it is of a narrow type, else unchanged."""
    return array.astype(np.float32) if is_narrow(array.dtype) else array
