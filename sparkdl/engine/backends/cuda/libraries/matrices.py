"""Matrices as libraries take them: dense along one axis, strided along the other, batched."""

from dataclasses import dataclass

from sparkdl.errors import UnsupportedError


@dataclass(frozen=True)
class MatrixLayout:
    """The memory layout of each matrix of a stack (count of matrices, m, n), in numbers.

    Parameters
    ----------
    by_columns : whether columns are contiguous, not rows
    length, count : numbers of a row (or column), and how many rows (or columns)
    leading : distance from one of them to the next
    apart : distance from one matrix to the next, 0 for a single one
    """

    by_columns: bool
    length: int
    count: int
    leading: int
    apart: int

    @classmethod
    def of(cls, array):
        """Returns the layout of an array; UnsupportedError if rows and columns have gaps."""
        (stack, m, n), steps = array.shape, (s // array.itemsize for s in array.strides)
        apart, row, column = steps
        for by_columns, length, count, near, far in (
            (False, n, m, column, row),
            (True, m, n, row, column),
        ):
            if (near == 1 or length == 1) and (far >= length or count == 1):
                leading = far if count > 1 else length
                return cls(by_columns, length, count, leading, apart if stack > 1 else 0)
        raise UnsupportedError(f"neither rows nor columns lie together: strides {array.strides}")


def rows_of_stacks(arrays):
    """Returns arrays (..., m, n) with equal batch axes, or None, as lists of arrays (stack, m, n).

    One list if all stacks are evenly spaced; otherwise one per index of the shorter axis.
    """
    arrays = [a if a is None else a[(None,) * (4 - a.ndim)] for a in arrays]
    known = [a for a in arrays if a is not None]
    outer, inner = known[0].shape[:2]
    if outer > 1 and all(a.strides[0] == inner * a.strides[1] for a in known):
        return [[a if a is None else a.reshape(-1, *a.shape[2:]) for a in arrays]]
    axis, count = (0, outer) if outer <= inner else (1, inner)
    return [[a if a is None else at(a, axis, i) for a in arrays] for i in range(count)]


def at(array, axis, index):
    return array[(slice(None),) * axis + (index,)]
