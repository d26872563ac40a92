"""Windows and the arrays they slide over, as kernels take them; see source/windows.cuh."""

import numpy as np

from sparkdl.engine.backends.cuda.kernels.walks import require_few_numbers
from sparkdl.engine.dtypes import is_float
from sparkdl.errors import UnsupportedError

AXES = 3
THREADS = 256
NAMES = "out", "space", "size", "stride", "before", "dilation"
WINDOWS = np.dtype([(name, "i4", AXES) for name in NAMES])
LAYOUT = np.dtype([("example", "i8"), ("channel", "i8"), ("space", "i8", AXES)])


def windows(op, space, out):
    """Returns the WINDOWS record of `op`, which maps images of shape `space` to `out`."""
    before = tuple(first for first, _ in op.padding)
    sizes = zip(NAMES, (out, space, op.size, op.stride, before, op.dilation), strict=True)
    record = np.ones((), WINDOWS)
    for name, values in sizes:
        record[name][AXES - len(values) :] = values
    record["before"][: AXES - len(before)] = 0
    return record


def layout_of(array):
    """Returns the LAYOUT record of an array (N, C, one to three spatial axes)."""
    require_few_numbers(array)
    example, channel, *space = (step // array.itemsize for step in array.strides)
    record = np.zeros((), LAYOUT)
    record["example"], record["channel"] = example, channel
    record["space"][AXES - len(space) :] = space
    return record


def require_narrow_floats(*arrays):
    """Refuses arrays that do not share one float type of at most 32 bits."""
    kinds = {a.dtype.name for a in arrays}
    if len(kinds) > 1 or not is_float(*kinds) or kinds == {"float64"}:
        raise UnsupportedError(f"this kernel of cuda takes one type of float, got {sorted(kinds)}")
