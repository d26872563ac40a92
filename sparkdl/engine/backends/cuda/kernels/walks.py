"""The axes of an array as kernels take them; see source/walk.cuh."""

import numpy as np

from sparkdl.errors import UnsupportedError

AXES = 8
WALK = np.dtype([("axes", "i4"), ("size", "u4", AXES), ("step", "i8", AXES)], align=True)
MOST = 1 << 31  # numbers, the limit of 32-bit indices
WIDEST = 16  # bytes of a thread's widest access


def walk(sizes, steps):
    """Returns a WALK record for axes of these sizes, the last fastest, and strides in bytes."""
    if len(sizes) > AXES:
        raise UnsupportedError(f"kernels of cuda take at most {AXES} axes, got {len(sizes)}")
    walk_args = np.zeros((), WALK)
    walk_args["axes"] = len(sizes)
    walk_args["size"][: len(sizes)], walk_args["step"][: len(steps)] = sizes, steps
    return walk_args


def together(axes):
    """Merges adjacent axes (size, one or more strides) that are contiguous in memory."""
    joined = []
    for size, *steps in axes:
        if size == 1:
            continue
        if joined and joined[-1][1:] == [s * size for s in steps]:
            size *= joined.pop()[0]
        joined.append([size, *steps])
    return joined


def walks(*arrays):
    """Returns a WALK record per array, all of one shape, over the same axes in one order."""
    shape = arrays[0].shape
    require_few_numbers(*arrays)
    axes = together([(n, *(a.strides[i] for a in arrays)) for i, n in enumerate(shape)])
    sizes = [axis[0] for axis in axes]
    return [walk(sizes, [axis[1 + i] for axis in axes]) for i in range(len(arrays))]


def parts_needed(length, parts):
    """Returns the number of equal parts of `length`: at most `parts`, none of them empty.

    9 numbers in 6 parts are 2 in each, so 5 parts suffice: the sixth would start past the end.
    """
    length = max(length, 1)
    return -(-length // -(-length // parts))


def require_few_numbers(*arrays):
    """Refuses arrays with too many numbers for 32-bit indices."""
    if any(a.size >= MOST for a in arrays):
        raise UnsupportedError(f"this kernel of cuda takes less than {MOST:,} numbers")
