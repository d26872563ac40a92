"""The axes of an array as kernels take them; see source/walk.cuh."""

import numpy as np

from sparkdl.errors import UnsupportedError

AXES = 8
WALK = np.dtype([("axes", "i4"), ("size", "u4", AXES), ("step", "i8", AXES)], align=True)
MOST = 1 << 31  # numbers that 32 bits count
WIDEST = 16  # bytes that a thread reads or writes at once


def walk(sizes, steps):
    """Makes a Walk of axes of these sizes, the last fastest, with these steps in bytes."""
    if len(sizes) > AXES:
        raise UnsupportedError(f"kernels of cuda take at most {AXES} axes, got {len(sizes)}")
    walk_args = np.zeros((), WALK)
    walk_args["axes"] = len(sizes)
    walk_args["size"][: len(sizes)], walk_args["step"][: len(steps)] = sizes, steps
    return walk_args


def together(axes):
    """Joins neighbors among axes (size, one or more steps) that lie behind one another."""
    joined = []
    for size, *steps in axes:
        if size == 1:
            continue
        if joined and joined[-1][1:] == [s * size for s in steps]:
            size *= joined.pop()[0]
        joined.append([size, *steps])
    return joined


def walks(*arrays):
    """Returns a Walk of each array, all of one shape, through the same axes in one order."""
    shape = arrays[0].shape
    require_few_numbers(*arrays)
    axes = together([(n, *(a.strides[i] for a in arrays)) for i, n in enumerate(shape)])
    sizes = [axis[0] for axis in axes]
    return [walk(sizes, [axis[1 + i] for axis in axes]) for i in range(len(arrays))]


def parts_needed(length, parts):
    """Returns how many parts of one length make up `length`: at most `parts`, none of them empty.

    9 numbers in 6 parts are 2 in each, which 5 parts take: the sixth would begin behind the end.
    """
    length = max(length, 1)
    return -(-length // -(-length // parts))


def require_few_numbers(*arrays):
    """Refuses arrays whose numbers 32 bits do not count."""
    if any(a.size >= MOST for a in arrays):
        raise UnsupportedError(f"this kernel of cuda takes less than {MOST:,} numbers")
