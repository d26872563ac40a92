"""The counts of an evaluation as arrays, in which form processes send them to each other."""

from dataclasses import fields, is_dataclass

import numpy as np

from sparkdl.errors import DataError


def counts_of(evaluation):
    """Returns the counts of an Evaluation, as arrays."""
    return [np.atleast_1d(x) for name in evaluation.sums for x in parts(getattr(evaluation, name))]


def with_counts(evaluation, arrays):
    """Returns an empty Evaluation filled with the `counts_of` another.

    Raises
    ------
    DataError
        If they are not the counts of such an evaluation.
    """
    remaining = list(arrays)
    try:
        for name in evaluation.sums:
            like = getattr(evaluation, name)
            number = len(parts(like))
            setattr(evaluation, name, rebuild(like, remaining[:number]))
            remaining = remaining[number:]
        if remaining:
            raise ValueError("no more")
    except ValueError as error:
        actual = [(array.shape, array.dtype.kind) for array in arrays]
        raise DataError(f"{evaluation!r} counts arrays of {error}, got {actual}") from error
    return evaluation


def parts(value):
    """Returns the numbers and arrays of a value: itself, or a dataclass's fields."""
    if hasattr(value, "arrays"):
        return value.arrays()
    return [getattr(value, f.name) for f in fields(value)] if is_dataclass(value) else [value]


def rebuild(like, arrays):
    """Returns a value of the same kind as `like`, with these arrays as its `parts`.

    Raises ValueError if they do not fit.
    """
    if hasattr(like, "with_arrays"):
        return like.with_arrays(arrays)
    expected = [(x.shape, x.dtype.kind) for x in map(np.atleast_1d, parts(like))]
    if len(arrays) != len(expected) or not all(map(fits, arrays, expected)):
        raise ValueError(f"{expected}")
    if is_dataclass(like):
        values = (getattr(like, f.name) for f in fields(like))
        return type(like)(*map(restore_type, values, arrays))
    return restore_type(like, *arrays)


def fits(array, expected):
    """Returns whether an array has a (shape, kind), or sums of weights where that has counts."""
    shape, kind = expected
    return array.shape == shape and array.dtype.kind in (kind, "f" if kind == "i" else kind)


def restore_type(like, array):
    return array if isinstance(like, np.ndarray) else array[0].item()
