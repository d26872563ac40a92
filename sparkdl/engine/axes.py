"""Common memory layout of arrays of one shape, for the compilers of elementwise chains."""

from sparkdl.engine.dtypes import name_of


def kinds_of(arrays):
    return tuple(name_of(a.dtype) for a in arrays)


def merge_axes(arrays):
    """Returns [(length, [stride of each array])], from the outermost axis in memory inwards.

    Axes that are contiguous in all arrays are merged: arrays of equal layout have a single axis.
    """
    shape, out = arrays[-1].shape, arrays[-1]
    axes = []
    for axis in sorted(range(len(shape)), key=lambda a: -out.strides[a]):
        size, strides = shape[axis], [a.strides[axis] for a in arrays]
        if size == 1:
            continue
        if axes and axes[-1][1] == [s * size for s in strides]:
            size *= axes.pop()[0]
        axes.append((size, strides))
    return axes
