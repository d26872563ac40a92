"""Checks and flat views of arrays passed to a group."""

import numpy as np

from sparkdl.errors import ShapeError

SUMMED = {np.dtype(name): name for name in ("float32", "float64", "int64")}
REDUCTIONS = {"sum": np.add, "max": np.maximum, "min": np.minimum}


def reducible_vector(x, owner):
    """Returns (flat view, dtype name) of an array that can be reduced in place."""
    name = SUMMED.get(getattr(x, "dtype", None))
    if name is None:
        kind = getattr(x, "dtype", type(x).__name__)
        raise ShapeError(f"{owner} takes arrays of {sorted(SUMMED.values())}, got {kind}")
    return flat(x, owner), name


def flat(x, owner, writeable=True):
    """Returns a flat view of an array of numbers or a bytes-like object."""
    if not isinstance(x, np.ndarray) and isinstance(x, bytes | bytearray | memoryview):
        x = np.frombuffer(x, np.uint8)
    if not isinstance(x, np.ndarray) or x.dtype.hasobject:
        raise ShapeError(f"{owner} takes numpy arrays of numbers, got {type(x).__name__}")
    flags = x.flags
    if not flags.c_contiguous or (writeable and not flags.writeable):
        raise ShapeError(
            f"{owner} takes contiguous, writable arrays, got {x.dtype} of shape {x.shape} with "
            f"strides {x.strides}; give np.ascontiguousarray(x)"
        )
    return x.reshape(-1)
