"""Rows of a DataFrame's partition, extended by the outputs of a predictor."""

import math
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow
from pyspark import TaskContext

from sparkdl.data.batches.prefetch import prefetch
from sparkdl.errors import ConfigError, DataError, brief
from sparkdl.spark.inference.nested_columns import TYPES, nested_column, spread_columns
from sparkdl.spark.inference.row_groups import compute_groups, read_groups
from sparkdl.training.rounds.replica import limit_threads

FIRST = 8  # rows computed at first, before their size is known
AHEAD = 2  # pieces read and prepared ahead
WRITTEN = 8 * 2**20  # minimum bytes of record batches returned to Spark
MODELS = 2  # most recently used models that a process keeps
_loaded: OrderedDict[Any, Any] = OrderedDict()


class ModelColumns(NamedTuple):
    """A task of predict_column.

    Parameters
    ----------
    key : str
        Identifies the predictor and the outputs in all processes.
    shared : SharedValue
        Its value is (Predictor, prepare).
    inputs : {input: column}
    outputs : {output: column}
    kept : list of int
        Indices of the columns to keep.
    error : str or None
        The column of errors.
    fails : bool
        Whether a failing row fails the task.
    """

    key: str
    shared: Any
    inputs: dict[str, str]
    outputs: dict[str, str]
    kept: list[int]
    batch_size: int
    batch_bytes: int
    error: str | None
    fails: bool

    def extend(self, tables):
        """Yields the record batches of a partition with the new columns."""
        limit_threads()
        predictor, prepare = self.shared.value
        run = partial(
            checked, loaded_model(self.key, predictor, [*self.outputs]), predictor, [*self.outputs]
        )
        inputs = {name: (c, predictor.inputs[name]) for name, c in self.inputs.items()}
        read = partial(read_groups, inputs=inputs, prepare=prepare)
        beside = sum(known_bytes(predictor.outputs[name]) for name in self.outputs)
        written = Written()
        with closing(prefetch(read_pieces(tables, read, self, beside), AHEAD)) as pieces:
            for start, table, groups, errors in pieces:
                found, failed = compute_all(run, groups)
                errors |= failed
                self.require_rows(errors, start)
                yield from written.add(self.new_table(table, predictor, found, errors))
        yield from written.rest()

    def require_rows(self, errors, start):
        """Raises DataError for the first row with an error, if rows must not fail."""
        if errors and self.fails:
            first = min(errors)
            where = f"partition {TaskContext.get().partitionId()}, record {start + first}"
            raise DataError(f"{where}: {text_of(errors[first])}") from errors[first]

    def new_table(self, table, predictor, groups, errors):
        """Returns the record batch with the columns of outputs and errors."""
        names = [table.schema.names[place] for place in self.kept]
        columns = [table.column(place) for place in self.kept]
        places = [group.places for group in groups]
        for output, name in self.outputs.items():
            spec = predictor.outputs[output]
            parts = [nested_column(group.arrays[output], spec.dtype) for group in groups]
            nulls = pyarrow.nulls(table.num_rows, nested_type(spec))
            columns.append(spread_columns(parts, places, table.num_rows) if parts else nulls)
            names.append(name)
        if self.error is not None:
            texts = [text_of(errors[i]) if i in errors else None for i in range(table.num_rows)]
            columns.append(pyarrow.array(texts, pyarrow.string()))
            names.append(self.error)
        return pyarrow.RecordBatch.from_arrays(columns, names=names)


class Written:
    """Record batches to return to Spark, merged until they have WRITTEN bytes."""

    def __init__(self):
        self.parts, self.bytes = [], 0

    def add(self, part):
        self.parts.append(part)
        self.bytes += part.nbytes
        if self.bytes >= WRITTEN:
            yield from self.rest()

    def rest(self):
        parts, self.parts, self.bytes = self.parts, [], 0
        if parts:
            yield from pyarrow.Table.from_batches(parts).combine_chunks().to_batches()


def read_pieces(tables, read, columns, beside=0):
    """Yields (index of its first row, table, groups, errors) of pieces of a partition's tables.

    `beside` are the bytes of a row's outputs.
    """
    start, size = 0, next_size(min(FIRST, columns.batch_size), [], columns, beside)
    for table in tables:
        done = 0
        while done < table.num_rows:
            piece = table.slice(done, size)
            groups, errors = read(piece)
            yield start, piece, groups, errors
            start, done = start + piece.num_rows, done + piece.num_rows
            size = next_size(size, groups, columns, beside)


def next_size(size, groups, columns, beside):
    """Returns the number of rows to compute next: as many as fit into `batch_bytes`.

    Without groups, whose inputs are not known then, at most `size`.
    """
    rows = [sum(a.nbytes for a in group.arrays.values()) / len(group.places) for group in groups]
    most = columns.batch_size if rows else size
    return max(1, min(most, int(columns.batch_bytes // max(1, beside, *rows))))


def known_bytes(spec):
    """Returns the bytes of an example of an ArraySpec in a column; 0 if its shape may differ."""
    sizes = np.dtype(TYPES[spec.dtype][0]).itemsize, *spec.shape
    return 0 if None in sizes else math.prod(sizes)


def compute_all(run, groups):
    """Returns the RowGroups of a model's results for several groups, and {place: error}."""
    found, errors = [], {}
    for group in groups:
        results, failed = compute_groups(run, group)
        found += results
        errors |= failed
    return found, errors


def checked(run, predictor, outputs, arrays):
    """Returns the outputs of a predictor; raises ConfigError if they are not as declared."""
    n, results = len(next(iter(arrays.values()))), run(arrays)
    owner = type(predictor).__name__
    must = f"{owner}.load must give a function"
    if not isinstance(results, Mapping):
        raise ConfigError(f"{must} that returns {{output: array}}, got {brief(results)}")
    found = {name: results.get(name) for name in outputs}
    for name, array in found.items():
        spec = predictor.outputs[name]
        if not is_declared(array, n, spec):
            shape = str((n, *spec.shape)).replace("None", "any")
            raise ConfigError(
                f"{must} whose {name!r} is an array of {spec.dtype} {shape}, got "
                f"{array_text(array)}; {owner}.outputs declares so"
            )
    return found


def is_declared(array, n, spec):
    """Returns whether a value matches a spec for n examples."""
    is_array = isinstance(array, np.ndarray)
    return is_array and has_shape(array, n, spec) and holds(np.dtype(spec.dtype), array)


def array_text(array):
    """Describes an array's type, shape and, for integers, range; abbreviates anything else."""
    if not isinstance(array, np.ndarray):
        return brief(array)
    is_whole = array.dtype.kind in "iu" and array.size
    of = f" from {array.min()} to {array.max()}" if is_whole else ""
    return f"{array.dtype} {array.shape}{of}"


def has_shape(array, n, spec):
    """Returns whether an array has the shape of n examples of a spec."""
    shape = (n, *spec.shape)
    return array.ndim == len(shape) and all(
        want in (None, got) for want, got in zip(shape, array.shape, strict=True)
    )


def holds(dtype, array):
    """Returns whether a type can hold an array's numbers; floats may be rounded."""
    if array.dtype == dtype:
        return True
    if array.dtype.kind in "iu" and dtype.kind in "biuf":
        low, high = whole_limits(dtype)
        return not array.size or (array.min() >= low and array.max() <= high)
    return np.can_cast(array.dtype, dtype) or dtype.kind == array.dtype.kind == "f"


def whole_limits(dtype):
    """Returns the range (min, max) of whole numbers that a type represents without gaps."""
    if dtype.kind == "b":
        return 0, 1
    if dtype.kind == "f":
        end = 2 ** (np.finfo(dtype).nmant + 1)
        return -end, end
    return np.iinfo(dtype).min, np.iinfo(dtype).max


def loaded_model(key, predictor, outputs):
    """Returns the loaded function of a predictor, cached in this process for later tasks."""
    if key not in _loaded:
        while len(_loaded) >= MODELS:
            _loaded.popitem(last=False)
        _loaded[key] = predictor.load(outputs)
    _loaded.move_to_end(key)
    return _loaded[key]


def nested_type(spec):
    """Returns the Arrow type of a column of such arrays."""
    kind = pyarrow.from_numpy_dtype(TYPES[spec.dtype][0])
    for _ in spec.shape:
        kind = pyarrow.list_(kind)
    return kind


def text_of(error):
    """Returns an error as text: a DataError as it is, others with their type."""
    return str(error) if isinstance(error, DataError) else f"{type(error).__name__}: {error}"
