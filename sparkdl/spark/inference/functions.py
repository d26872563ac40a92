"""Networks as functions for users' own use: of columns in SQL, of arrays in predict_batch_udf."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow

from sparkdl.data.batches.batch import Batch
from sparkdl.spark.inference.predictions import brief_errors, check_tables, load_replica
from sparkdl.training.evaluation.batch_evaluation import pieces

# The fields of pyspark.ml's vectors; pandas does not know them where all vectors are dense.
VECTOR = {
    "type": pyarrow.int8(),
    "size": pyarrow.int32(),
    "indices": pyarrow.list_(pyarrow.int32()),
    "values": pyarrow.list_(pyarrow.float64()),
}


def column_udf(schema: Any, column: str, compute: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function for pandas_udf: of columns of features, one for each input.

    Parameters
    ----------
    schema : Schema
        Of the features.
    column : str
        That of the arrays of `compute` which the function gives.
    compute : function of an iterator of Batches
        Yields {column: array} for each.
    """
    import pandas

    def predict(parts: Iterator[pandas.Series]) -> Iterator[pandas.Series]:
        names = {name: name for name in schema.inputs}
        tables = (as_table(part, names) for part in parts)
        batches = check_tables(schema, names, tables, deque(maxlen=0))
        for arrays in brief_errors(compute(batches)):
            array = arrays[column]
            flat = array if array.ndim == 1 else list(array.reshape(len(array), -1))
            yield pandas.Series(flat)

    return predict


def as_table(part, names):
    """Returns an Arrow table of a Series or DataFrame, or of several, with these names."""
    several = part if isinstance(part, tuple) else (part,)
    return pyarrow.RecordBatch.from_arrays([*map(as_arrow, several)], names=[*names])


def as_arrow(values):
    """Returns a column as Arrow has it; vectors come as a DataFrame of their fields."""
    if hasattr(values, "columns"):
        fields = [
            pyarrow.array(values[name], kind, from_pandas=True) for name, kind in VECTOR.items()
        ]
        nulls = pyarrow.array(values["type"].isna())
        return pyarrow.StructArray.from_arrays(fields, names=[*VECTOR], mask=nulls)
    return pyarrow.array(values, from_pandas=True)


def batch_function(model: Any, schema: Any, transform: Any, layer: str) -> Callable[..., Any]:
    """Returns a function for predict_batch_udf: it makes one of arrays (n, ...) of features.

    Spark's processes fork, so it computes on the processor.
    """

    def make():
        replica, [name] = load_replica(model), schema.inputs

        def predict(inputs: np.ndarray) -> np.ndarray:
            batch = schema.check(Batch(columns={name: inputs}, ids=ids_of(inputs)), "the batch")
            parts = pieces(batch, transform, replica.conf)
            return np.concatenate([replica.forward(part, [layer])[layer] for part in parts])

        return predict

    return make


def ids_of(inputs):
    return np.arange(len(inputs), dtype=np.uint64)
