"""Types of numbers. bfloat16 is a float32 with 8 bits of mantissa; numpy knows it by ml_dtypes."""

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16).name


def is_float(dtype):
    """Whether numbers of this type have a fraction; bfloat16 is no float to numpy itself."""
    dtype = np.dtype(dtype)
    return dtype.kind == "f" or dtype.name == BFLOAT16


def summed(dtype):
    """The type of sums: integers in 64 bits, as in numpy; bfloat16 in float32."""
    name = np.dtype(dtype).name
    return "float32" if name == BFLOAT16 else np.sum(np.empty(0, name)).dtype.name


def widened(array):
    """An array that numpy computes with: float32 in place of bfloat16."""
    return array.astype(np.float32) if array.dtype.name == BFLOAT16 else array
