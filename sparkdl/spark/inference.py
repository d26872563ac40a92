"""Networks in use on Spark: predictions, features and evaluations, a partition at a time."""

from functools import partial

import pyarrow
from pyspark.sql.types import ArrayType, DoubleType, FloatType, StructField, StructType

from sparkdl.data.readers.arrow import table_batch
from sparkdl.errors import ConfigError, SparkdlError
from sparkdl.training.aggregate import Failure
from sparkdl.training.network import evaluate_batches, new_evaluation, pieces
from sparkdl.training.schema import schema_of
from sparkdl.training.steps import limit_threads, replica_for


def loaded(model):
    """This process's replica with the weights of a broadcast (conf, state, backend)."""
    limit_threads()
    conf, state, backend = model.value
    replica = replica_for(conf, backend)
    replica.load(state.params, state.buffers, state.slots)
    return replica


def outputs(model, layers, batches, transform=None):
    """[{layer: array (n, ...)}] for each piece of the batches."""
    replica = loaded(model)
    for batch in batches:
        if isinstance(batch, Failure):
            raise batch.error
        for piece in pieces(batch, transform):
            yield replica.forward(piece.features, layers)


def predict_batches(model, transform, batches):
    """The output vector of each record."""
    name = model.value[0].output.name
    for result in outputs(model, (name,), batches, transform):
        yield from result[name]


def feature_batches(model, layers, transform, batches):
    """{layer: array} of each record."""
    for result in outputs(model, layers, batches, transform):
        for i in range(len(result[layers[0]])):
            yield {name: result[name][i] for name in layers}


def evaluate_partition(model, transform, batches):
    """The Evaluation of a partition, or the Failure in it."""
    conf, batches = model.value[0], list_until_failure(batches)
    try:
        parts = (part for batch in batches for part in pieces(batch, transform))
        result = new_evaluation(conf)
        evaluate_batches(loaded(model), parts, result)
        yield result
    except SparkdlError as error:
        yield Failure(error)


def list_until_failure(batches):
    for batch in batches:
        if isinstance(batch, Failure):
            raise batch.error
        yield batch


def merged(first, second):
    """Two evaluations as one; a Failure stays."""
    if isinstance(first, Failure) or isinstance(second, Failure):
        return first if isinstance(first, Failure) else second
    return first.merge(second)


def with_columns(frame, model, conf, column, new, compute):
    """`frame` with columns more: `new` are their StructFields, `compute` gives their arrays."""
    taken = [field.name for field in new if field.name in frame.columns]
    if taken:
        raise ConfigError(
            f"the DataFrame must not have the columns {taken} yet; rename or drop them"
        )
    schema = StructType([*frame.schema.fields, *new])
    names = [field.name for field in new]
    extend = partial(extended, model, schema_of(conf, labels=False), column, names, compute)
    return frame.mapInArrow(extend, schema)


def extended(model, schema, column, names, compute, tables):
    """Each Arrow table of a partition with the new columns behind its own."""
    start = 0
    for table in tables:
        if not table.num_rows:
            continue
        batch = table_batch(table, {"features": column}, "DataFrame", 0, start)
        arrays = compute(model, [schema.check(batch, "DataFrame")])
        start += table.num_rows
        columns = [*table.columns, *(arrow_column(arrays[name]) for name in names)]
        yield pyarrow.RecordBatch.from_arrays(columns, names=[*table.schema.names, *names])


def arrow_column(array):
    """(n,) as numbers, (n, ...) as lists of numbers."""
    if array.ndim == 1:
        return pyarrow.array(array)
    flat = array.reshape(len(array), -1)
    return pyarrow.FixedSizeListArray.from_arrays(flat.reshape(-1), flat.shape[1]).cast(
        pyarrow.list_(pyarrow.float32())
    )


def prediction_fields(conf):
    """The columns that predict adds, named as pyspark.ml names them."""
    if conf.loss.label_kind == "class":
        return [number("prediction"), numbers("probability")]
    return [number("prediction") if conf.output.units == 1 else numbers("prediction")]


def number(name):
    return StructField(name, DoubleType(), True)


def numbers(name):
    return StructField(name, ArrayType(FloatType(), True), True)


def prediction_columns(model, batches):
    """{column: array} for the columns of `prediction_fields`."""
    import numpy as np

    conf = model.value[0]
    name = conf.output.name
    z = np.concatenate([result[name] for result in outputs(model, (name,), batches)])
    if conf.loss.label_kind == "class":
        return {"prediction": z.argmax(axis=1).astype(np.float64), "probability": z}
    return {"prediction": z[:, 0].astype(np.float64) if conf.output.units == 1 else z}


def layer_columns(layers, model, batches):
    """{layer: array} for each of `layers`."""
    import numpy as np

    results = list(outputs(model, layers, batches))
    return {name: np.concatenate([result[name] for result in results]) for name in layers}
