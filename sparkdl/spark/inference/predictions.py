"""Networks in use on Spark: predictions, features and evaluations, a partition at a time."""

from collections import deque
from functools import partial, reduce
from operator import itemgetter

import numpy as np
import pyarrow
from pyspark import TaskContext
from pyspark.sql.types import ArrayType, DoubleType, FloatType, StructField, StructType

from sparkdl.data.readers.encodings.arrow_columns import require_column, table_batch
from sparkdl.errors import ConfigError, SparkdlError
from sparkdl.training.evaluation.batch_evaluation import pieces
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.rounds.replica import limit_threads, replica_for
from sparkdl.training.workers.contribution import Failure


def load_replica(model):
    """Returns this process's replica with a SharedValue's (conf, state, device, backend)."""
    limit_threads()
    conf, state, device, backend = model.value
    replica = replica_for(conf, device, backend)
    replica.load(state.params, state.buffers, state.slots)
    return replica


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
    """Yields the partition's number with its Evaluation, or with the Failure in it."""
    try:
        yield partition, evaluator.evaluate(load_replica(model), sound(batches))
    except SparkdlError as error:
        yield partition, Failure(error)


def sound(batches):
    """Yields the batches; the error of a Failure among them is raised."""
    for batch in batches:
        if isinstance(batch, Failure):
            raise batch.error
        yield batch


def merge_evaluations(ranked):
    """Returns the Evaluations of (rank, Evaluation) pairs as one, in the order of rank, so that
    sums come out the same each time. Where there are Failures it is the one of the lowest rank
    instead.
    """
    results = [result for _, result in sorted(ranked, key=itemgetter(0))]
    failures = [result for result in results if isinstance(result, Failure)]
    return failures[0] if failures else reduce(lambda one, other: one.merge(other), results)


def with_columns(frame, conf, transform, column, new, compute):
    """Adds columns to `frame`.

    `new` are their StructFields; `compute` gives their arrays for each of some Batches of records
    as they are before `transform`.
    """
    schema = schema_of(conf, labels=False, transform=transform)
    new_fields = schema.fields(column)
    for name in new_fields.values():
        require_column(name, frame.columns, "the DataFrame")
    present = {name.lower() for name in frame.columns}  # Spark knows no upper and lower case
    present_names = [field.name for field in new if field.name.lower() in present]
    if present_names:
        raise ConfigError(
            f"the DataFrame must not have the columns {present_names} yet; rename or drop them"
        )
    names = [field.name for field in new]
    extend = partial(extend_tables, schema, new_fields, names, compute)
    return frame.mapInArrow(extend, StructType([*frame.schema.fields, *new]))


def extend_tables(schema, new_fields, names, compute, tables):
    """Yields each Arrow table of a partition with the new columns behind its own."""
    pending = deque()
    for arrays in compute(check_tables(schema, new_fields, tables, pending)):
        table = pending.popleft()
        columns = [*table.columns, *(arrow_column(arrays[name]) for name in names)]
        yield pyarrow.RecordBatch.from_arrays(columns, names=[*table.schema.names, *names])


def check_tables(schema, new_fields, tables, pending):
    """Yields the Batch of each Arrow table with rows, which is put into `pending`."""
    start, partition = 0, TaskContext.get().partitionId()
    where = f"partition {partition}"
    for table in tables:
        if table.num_rows:
            batch = table_batch(table, new_fields, where, partition, start, schema.masks)
            pending.append(table)
            start += table.num_rows
            yield schema.check(batch, where)


def arrow_column(array):
    """Returns (n,) as numbers, (n, ...) as lists of numbers."""
    if array.ndim == 1:
        return pyarrow.array(array)
    flat = array.reshape(len(array), -1)
    return pyarrow.FixedSizeListArray.from_arrays(flat.reshape(-1), flat.shape[1]).cast(
        pyarrow.list_(pyarrow.float32())
    )


def prediction_fields(conf):
    """Returns the columns that predict adds, named as pyspark.ml names them."""
    single = len(conf.outputs[0].out_shape) == 1
    if conf.loss.predicts == "class":
        return [number("prediction") if single else numbers("prediction"), numbers("probability")]
    return [number("prediction") if single and conf.output_size == 1 else numbers("prediction")]


def number(name):
    return StructField(name, DoubleType(), True)


def numbers(name):
    return StructField(name, ArrayType(FloatType(), True), True)


def prediction_columns(model, transform, batches):
    """Yields {column: array} of each Batch, for the columns of `prediction_fields`."""
    conf = model.value[0]
    name = conf.output.name
    for columns in layer_columns((name,), model, transform, batches):
        yield output_columns(conf, columns[name])


def output_columns(conf, z):
    """Returns {column: array} from what the output layer gives."""
    if conf.loss.predicts == "class":
        best = z.argmax(axis=2 if z.ndim == 3 else 1)
        kind = np.float64 if best.ndim == 1 else np.float32
        return {"prediction": best.astype(kind), "probability": z}
    return {"prediction": z[:, 0].astype(np.float64) if z.shape[1:] == (1,) else z}


def layer_columns(layers, model, transform, batches):
    """Yields {layer: array} of each Batch, for each of `layers`."""
    replica = load_replica(model)
    for batch in batches:
        parts = pieces(batch, transform, replica.conf)
        results = [replica.forward(piece, layers) for piece in parts]
        yield {name: np.concatenate([result[name] for result in results]) for name in layers}


def check_layers(conf, layers):
    """Returns the names of some layers as a list, each once, if a network has them."""
    layers = [layers] if isinstance(layers, str) else list(dict.fromkeys(layers))
    known = [place.name for place in conf.stack]
    if not layers or any(name not in known for name in layers):
        raise ConfigError(f"layers must be some of {known}, got {layers}")
    return layers
