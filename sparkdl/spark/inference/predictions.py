"""Prediction, feature extraction and evaluation on Spark, partition by partition."""

import math
from collections import deque
from functools import partial, reduce
from operator import itemgetter

import numpy as np
import pyarrow
from pyspark import TaskContext
from pyspark.sql.types import ArrayType, DoubleType, FloatType, StructField, StructType

from sparkdl.data.batches.type_names import kind_of
from sparkdl.data.records.label_facts import EMPTY, nothing_to_evaluate
from sparkdl.errors import ConfigError, DataError, SparkdlError
from sparkdl.nn.execution.forward import Z
from sparkdl.spark.inference.arrow_map import select_columns
from sparkdl.spark.inference.model_in_use import ModelInUse
from sparkdl.spark.records.frame_schema import WHERE, check_fields, find_columns
from sparkdl.spark.records.table_pieces import check_pieces
from sparkdl.training.evaluation.base import require_examples
from sparkdl.training.evaluation.batch_evaluation import pieces
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.rounds.replica import limit_threads
from sparkdl.training.workers.contribution import Failure, failure_of, unwrap

NO_ARROW = {"yearmonthinterval", "interval"}  # types that pyspark does not convert
VECTOR = "vector"  # simpleString of the type of pyspark.ml's vectors


def load_replica(model):
    """Returns the ModelInUse of a SharedValue's (conf, state, device, backend).

    The state is without slots.
    """
    limit_threads()
    return ModelInUse(*model.kept_value)


def outputs(model, layers, batches, transform):
    """Yields [{layer: array (n, ...)}] for each piece of the batches."""
    replica = load_replica(model)
    for batch in sound(batches):
        for piece in pieces(batch, transform, replica.conf):
            yield replica.forward(piece, layers)


def predict_batches(model, name, transform, batches):
    """Yields the output of the layer `name` for each record."""
    for result in outputs(model, (name,), batches, transform):
        yield from result[name]


def feature_batches(model, layers, transform, batches):
    """Yields {layer: array} of each record."""
    for result in outputs(model, layers, batches, transform):
        for i in range(len(result[layers[0]])):
            yield {name: result[name][i] for name in layers}


def evaluate_partition(model, evaluator, partition, batches):
    """Yields the partition's number with its Evaluation, or with the Failure that occurred."""
    try:
        yield partition, evaluator.evaluate(load_replica(model), sound(batches))
    except SparkdlError as error:
        yield partition, failure_of(error)


def sound(batches):
    """Yields the batches; raises the error of a Failure among them."""
    for batch in batches:
        if isinstance(batch, Failure):
            raise batch.error.with_traceback(None)
        yield batch


def brief_errors(items):
    """Yields the items; drops the traceback frames of sparkdl's own errors.

    PySpark shows the traceback of an error in a user's action before its message.
    """
    try:
        yield from items
    except SparkdlError as error:
        raise error.with_traceback(None) from None


def merge_evaluations(ranked):
    """Returns the Evaluations of (rank, Evaluation) pairs merged in the order of rank, so that sums
    are reproducible; or the Failure of the lowest rank, if there are any.
    """
    results = [result for _, result in sorted(ranked, key=itemgetter(0))]
    failures = [result for result in results if isinstance(result, Failure)]
    return failures[0] if failures else reduce(lambda one, other: one.merge(other), results)


def total_evaluation(ranked):
    """Returns the Evaluation of all (rank, Evaluation or Failure) pairs.

    Raises the error of a Failure, and DataError if there are no records that count.
    """
    result = unwrap(merge_evaluations(ranked)) if ranked else None
    if result is None:
        raise nothing_to_evaluate(f": {EMPTY}")
    require_examples(result, f": {EMPTY}")
    return result


def check_new(names, new):
    """Raises ConfigError if a DataFrame already has columns named like the StructFields `new`."""
    new_names = [field.name.lower() for field in new]  # Spark ignores case
    clashes = [name for name in names if name.lower() in new_names]
    if clashes:
        raise ConfigError(
            f"the DataFrame must not have the columns {clashes} yet; rename or drop them, or give "
            "the new ones other names"
        )
    if len(set(new_names)) < len(new_names):
        given = [field.name for field in new]
        raise ConfigError(f"new columns must have different names, got {given}")


def check_kept(fields):
    """Raises DataError for a column that cannot be converted to Python and back."""
    for field in fields:
        if field.dataType.typeName() in NO_ARROW:
            kind = field.dataType.simpleString()
            raise DataError(
                f"{WHERE}: column {field.name!r} must be of a type that pyspark can pass to "
                f"Python, got {kind}; cast or drop it"
            )


def column_function(fields, conf, transform, columns, new, compute, keep=None, layers=()):
    """Returns a function for mapInArrow that adds columns, and the schema of its result.

    Parameters
    ----------
    fields : StructType
        The schema of the function's input DataFrames.
    columns : str, or {column of a batch: column of the DataFrame}
        Feature columns. If the network has one input, the name of its column is enough.
    new : sequence of StructField
        The columns to add.
    compute : function of an iterator of Batches
        Yields {name: array} for each, from records before `transform`.
    keep : str or sequence of str, optional
        Columns of the DataFrame to keep in the result. None: all.
    layers : sequence of str
        Outputs that `compute` requests: the wider they are, the fewer records are read at once.

    Raises
    ------
    ConfigError, DataError
        If columns to read are missing or do not fit the network, or columns to add exist already.
    """
    schema = schema_of(conf, labels=False, transform=transform)
    if not isinstance(columns, dict):
        columns = schema.fields(columns, names=fields.names)
    beside = output_bytes(conf, layers)
    return extending_function(fields, schema, columns, new, compute, keep, beside)


def extending_function(fields, schema, columns, new, compute, keep=None, beside=0):
    """Returns the function and the schema of `column_function`, for records of a Schema.

    `columns` is {column of a batch: column of the DataFrame}; `beside` is as in `check_pieces`.
    """
    check_fields(fields, columns, schema)
    places = places_of(fields.names, keep)
    kept = [fields.fields[place] for place in places]
    check_kept(kept)
    check_new([field.name for field in kept], new)
    kinds = {field.name: field.dataType.simpleString() == VECTOR for field in new}
    extend = partial(extend_tables, schema, columns, places, kinds, compute, beside)
    return extend, StructType([*kept, *new])


def places_of(names, keep):
    """Returns the indices of the columns to keep.

    Raises DataError if a column is missing or its name is ambiguous.
    """
    if keep is None:
        return range(len(names))
    return find_columns(unique_names(keep), names)


def narrow_frame(frame, columns, keep):
    """Returns the DataFrame with only the columns that are read or kept, so that Spark reads no
    others.
    """
    if keep is None:
        return frame
    names = unique_names([*columns, *unique_names(keep)])
    places_of(frame.columns, names)
    if len(names) == len(frame.columns):
        return frame  # selecting them takes a call of the JVM for each
    return select_columns(frame, names)


def unique_names(given):
    """Returns one or several names as a list without duplicates."""
    return [given] if isinstance(given, str) else list(dict.fromkeys(given))


def output_bytes(conf, layers):
    """Returns the bytes per record of some layers' outputs, as float64."""
    names = [name.removesuffix(Z) for name in layers]
    shapes = {place.name: place.out_shape for place in conf.stack}
    return sum(8 * math.prod(shapes[name]) for name in names)


def extend_tables(schema, columns, places, kinds, compute, beside, tables):
    """Yields a partition's Arrow tables with the columns at `places`, followed by the new ones.

    `kinds` is {new column: whether it holds vectors}, `beside` as in `check_pieces`.
    """
    pending = deque()
    for arrays in brief_errors(compute(check_tables(schema, columns, tables, pending, beside))):
        table = pending.popleft()
        new = [
            vector_column(arrays[name]) if vectors else arrow_column(arrays[name])
            for name, vectors in kinds.items()
        ]
        kept = [table.column(place) for place in places]
        names = [*(table.schema.names[place] for place in places), *kinds]
        yield pyarrow.RecordBatch.from_arrays([*kept, *new], names=names)


def check_tables(schema, columns, tables, pending, beside=0):
    """Yields the Batch of each piece of the Arrow tables, and appends the piece to `pending`."""
    partition = TaskContext.get().partitionId()
    for piece, batch in check_pieces(schema, columns, partition, tables, beside):
        pending.append(piece)
        yield batch


def arrow_column(array, kind=None):
    """Returns (n,) as an array of numbers, (n, ...) as lists of numbers.

    `kind` is the Arrow type; None: the array's own type, or lists of float32.
    """
    if array.ndim == 1:
        return pyarrow.array(array) if kind is None else pyarrow.array(array).cast(kind)
    flat = array.reshape(len(array), -1)
    lists = pyarrow.FixedSizeListArray.from_arrays(flat.reshape(-1), flat.shape[1])
    return lists.cast(kind or pyarrow.list_(pyarrow.float32()))


def vector_column(array):
    """Returns (n, k) as dense vectors of pyspark.ml."""
    n, k = array.shape
    bounds = np.arange(0, n * k + 1, k, dtype=np.int32)
    values = pyarrow.array(array.astype(np.float64).reshape(-1))
    parts = {
        "type": pyarrow.array(np.ones(n, np.int8)),  # dense
        "size": pyarrow.nulls(n, pyarrow.int32()),
        "indices": pyarrow.nulls(n, pyarrow.list_(pyarrow.int32())),
        "values": pyarrow.ListArray.from_arrays(bounds, values),
    }
    return pyarrow.StructArray.from_arrays([*parts.values()], names=[*parts])


def prediction_fields(conf, prediction="prediction", probability="probability"):
    """Returns the columns that predict adds, named as in pyspark.ml by default."""
    single = len(conf.outputs[0].out_shape) == 1
    if conf.loss.predicts == "class":
        return [number(prediction) if single else numbers(prediction), numbers(probability)]
    return [number(prediction) if single and conf.output_size == 1 else numbers(prediction)]


def prediction_parts(conf, prediction="prediction", probability="probability"):
    """Returns what `column_function` needs to predict: (new columns, `compute`, layers).

    `compute` receives a shared model and a transform before the Batches.
    """
    new = prediction_fields(conf, prediction, probability)
    return new, partial(prediction_columns, [field.name for field in new]), [conf.output.name]


def layer_parts(layers):
    """Returns what `column_function` needs for the outputs of layers, as `prediction_parts`."""
    return [numbers(name) for name in layers], partial(layer_columns, layers), layers


def number(name):
    return StructField(name, DoubleType(), True)


def numbers(name):
    return StructField(name, ArrayType(FloatType(), True), True)


def prediction_columns(names, model, transform, batches):
    """Yields {column: array} of each Batch, for the columns of `prediction_fields`."""
    conf = model.value[0]
    name = conf.output.name
    for columns in layer_columns((name,), model, transform, batches):
        yield dict(zip(names, prediction_arrays(conf, columns[name]), strict=True))


def prediction_arrays(conf, z):
    """Returns the arrays of the prediction columns, given the output layer's values."""
    if conf.loss.predicts == "class":
        return best_class(z), z
    return (z[:, 0].astype(np.float64) if z.shape[1:] == (1,) else z,)


def best_class(y):
    """Returns the class of each record, (n,) float64, or of each step, (n, T) float32."""
    best = y.argmax(axis=2 if y.ndim == 3 else 1)
    return best.astype(np.float64 if best.ndim == 1 else np.float32)


def layer_columns(layers, model, transform, batches):
    """Yields {layer: array} of each Batch, for each of `layers`."""
    replica = load_replica(model)
    for batch in batches:
        parts = pieces(batch, transform, replica.conf)
        results = [replica.forward(piece, layers) for piece in parts]
        yield {name: np.concatenate([result[name] for result in results]) for name in layers}


def example_losses(model, transform, batches):
    """Yields the losses (n,) of the records of each Batch, as float64."""
    replica = load_replica(model)
    for batch in sound(batches):
        yield batch_losses(replica, transform, batch)


def batch_losses(replica, transform, batch):
    """Returns the losses (n,) of a batch's records, as float64."""
    parts = [replica.losses(piece)[1] for piece in pieces(batch, transform, replica.conf)]
    return np.concatenate(parts).astype(np.float64)


def loss_column(name, model, transform, batches):
    """Yields {name: losses} of each Batch, as float64."""
    for losses in example_losses(model, transform, batches):
        yield {name: losses}


def loss_numbers(model, transform, batches):
    """Yields the loss of each record, a float."""
    for losses in example_losses(model, transform, batches):
        yield from losses.tolist()


def check_layers(conf, layers):
    """Returns layer names as a list without duplicates; ConfigError unless the network has them."""
    layers = unique_names(layers)
    known = [place.name for place in conf.stack]
    if not layers or any(name not in known for name in layers):
        raise ConfigError(f"layers must be some of {known}, got {layers}")
    return layers


def require_all(keep, data):
    """Raises ConfigError if `keep` is given for data without columns."""
    if keep is not None:
        raise ConfigError(f"keep must be None for data that is no DataFrame, got {kind_of(data)}")
