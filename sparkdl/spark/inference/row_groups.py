"""Rows of an Arrow table as arrays for a predictor, with the errors of rows that are unusable."""

import math
from typing import NamedTuple

import numpy as np

from sparkdl.data.batches.columns import Violation
from sparkdl.data.readers.encodings.arrow_columns import to_array
from sparkdl.errors import ConfigError, DataError, brief

PREPARE = "predict_column.prepare"


class RowGroup(NamedTuple):
    """Rows whose arrays have the same shapes, so that they can be computed at once.

    Parameters
    ----------
    places : array of int (n,)
        Indices of the rows in their table.
    arrays : {name: array (n, ...)}
    """

    places: np.ndarray
    arrays: dict[str, np.ndarray]


def read_groups(table, inputs, prepare=None):
    """Returns the RowGroups of a table, and {place: error} of the rows that cannot be read.

    Parameters
    ----------
    inputs : {input: (column, ArraySpec)}
    prepare : function, optional
        See predict_column; it receives all columns of `table`.

    Raises
    ------
    ConfigError
        If `prepare` does not return one row of each input per given row. No single row is to blame
        for this, so it is raised even when rows are tried one by one.
    """

    def arrays_of(part):
        if prepare is None:
            values = columns_of(part, inputs)
        else:
            values = prepare_rows(prepare, part, inputs)
        return {name: as_input(values[name], name, spec) for name, (_, spec) in inputs.items()}

    return try_rows(lambda start, n: arrays_of(table.slice(start, n)), table.num_rows)


def prepare_rows(prepare, part, inputs):
    """Returns {input: array (n, ...)} made by `prepare` from a table with n rows."""
    values, n = prepare(part.to_pydict()), part.num_rows
    if not hasattr(values, "keys"):  # a pandas DataFrame has keys, too
        raise ConfigError(f"{PREPARE} must return {{input: array}}, got {brief(values)}")
    if missing := [name for name in inputs if name not in values]:
        names = ", ".join(map(repr, missing))
        raise ConfigError(f"{PREPARE} must return arrays for {names}, got {[*values]}")
    arrays = {name: np.asarray(values[name]) for name in inputs}
    for name, array in arrays.items():
        if array.shape[:1] != (n,):
            got = f"{len(array)} of {name!r}" if array.ndim else f"{name!r} = {brief(array.item())}"
            raise ConfigError(f"{PREPARE} must return a row for each of {n}, got {got}")
    return arrays


def compute_groups(run, group):
    """Returns the RowGroups of the results of `run` for a group, and {place: error}."""

    def results(start, n):
        part = {name: array[start : start + n] for name, array in group.arrays.items()}
        return run(part)

    groups, errors = try_rows(results, len(group.places))
    places = group.places
    return [RowGroup(places[g.places], g.arrays) for g in groups], {
        int(places[i]): error for i, error in errors.items()
    }


def try_rows(function, n):
    """Returns RowGroups of function(start, rows), computed for all rows at once if possible.

    Otherwise it is called for each row: results of the same shapes are grouped, and errors are
    returned as {place: Exception}. A ConfigError concerns all rows, and is raised.
    """
    try:
        return [RowGroup(np.arange(n), function(0, n))], {}
    except ConfigError:
        raise
    except Exception as error:
        if n == 1:
            return [], {0: error}
    found, errors = {}, {}
    for i in range(n):
        groups, failed = try_rows(lambda start, rows, i=i: function(i + start, rows), 1)
        if failed:
            errors[i] = failed[0]
        for _, arrays in groups:
            shapes = tuple((name, array.shape) for name, array in arrays.items())
            found.setdefault(shapes, []).append((i, arrays))
    return [join_rows(rows) for rows in found.values()], errors


def join_rows(rows):
    """Returns the RowGroup of [(place, {name: array (1, ...)})]."""
    names = rows[0][1]
    arrays = {name: np.concatenate([arrays[name] for _, arrays in rows]) for name in names}
    return RowGroup(np.array([place for place, _ in rows]), arrays)


def columns_of(table, inputs):
    """Returns {input: array} of columns as they are stored."""
    found = {}
    for name, (column, _) in inputs.items():
        try:
            found[name] = to_array(table.column(table.schema.names.index(column)))
        except Violation as offence:
            raise DataError(f"column {column!r} {offence}") from None
    return found


def as_input(array, name, spec):
    """Returns an array converted for an input.

    Raises DataError if it has another shape, or numbers that do not fit an integer type.
    """
    if array.dtype.kind not in "biuf":
        raise DataError(f"{name!r} must be numbers, got {array.dtype}")
    return as_type(as_shape(array, name, spec.shape), name, spec.dtype)


def as_shape(array, name, shape):
    """Returns an array (n, *shape), reshaping flat rows."""
    given = array.shape[1:]
    same = len(given) == len(shape)
    if same and all(want in (None, got) for want, got in zip(shape, given, strict=True)):
        return array
    size, numbers = math.prod(axis for axis in shape if axis), math.prod(given)
    free = sum(axis is None for axis in shape)
    fits = numbers == size if free == 0 else free == 1 and numbers % size == 0
    if len(given) > 1 or not fits:
        wanted = str(tuple(shape)).replace("None", "any")
        raise DataError(f"{name!r} must have the shape {wanted}, got {tuple(given)}")
    whole = (numbers // size if axis is None else axis for axis in shape)
    return array.reshape(len(array), *whole)


def as_type(array, name, dtype):
    """Returns the array in a type; DataError for numbers that an integer type cannot hold."""
    if np.dtype(dtype).kind in "iu" and not np.can_cast(array.dtype, dtype):
        bad = outside(array, np.iinfo(dtype))
        if bad.any():
            raise DataError(f"{name!r} must hold {dtype} numbers, got {array[bad].flat[0]}")
    return np.ascontiguousarray(array.astype(dtype, copy=False))


def outside(array, limits):
    """Returns a mask of the numbers that an integer type with these limits cannot hold."""
    if array.dtype.kind != "f":
        return (array < limits.min) | (array > limits.max)
    y = array.astype(np.float64, copy=False)
    end = float(limits.max + 1)  # a power of 2, exact in float64 unlike some limits
    return (y != np.rint(y)) | (y < limits.min) | (y >= end)
