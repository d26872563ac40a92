"""Evaluation of a DataFrame's partitions, with results as rows: counts in numpy format, or an
error.
"""

from functools import partial
from io import BytesIO

import numpy as np
import pyarrow
from pyspark import TaskContext

from sparkdl.error_messages import error_from_text, error_to_text
from sparkdl.spark.inference.arrow_map import with_plain_names
from sparkdl.spark.records.records import table_batches, until_failure
from sparkdl.training.workers.contribution import Failure

COLUMNS = "partition int, counts binary, error string"
ARROW = pyarrow.schema(
    [("partition", pyarrow.int32()), ("counts", pyarrow.binary()), ("error", pyarrow.string())]
)


def evaluate_partitions(records, schema, evaluator, each):
    """Returns a DataFrame with a row of COLUMNS for each partition; see `result_of`.

    The records never leave the process that receives them.

    Parameters
    ----------
    records : SparkRecords
        Of a DataFrame.
    each : function (partition, its Batches) -> iterator of (partition, Evaluation or Failure)
    """
    chosen, columns = records.select_columns(schema)
    task = partial(evaluate_tables, schema, columns, evaluator, each)
    chosen, task = with_plain_names(chosen, task)
    return chosen.mapInArrow(task, COLUMNS)


def evaluate_tables(schema, columns, evaluator, each, tables):
    """Yields the row of a partition: counts of its Evaluation, or its error."""
    partition = TaskContext.get().partitionId()
    batches = until_failure(table_batches(schema, columns, partition, tables))
    for _, result in each(partition, batches):
        row = {"partition": partition} | cells_of(evaluator, result)
        yield pyarrow.RecordBatch.from_pylist([row], schema=ARROW)


def cells_of(evaluator, result):
    if isinstance(result, Failure):
        return {"error": error_to_text(result.error)}
    file = BytesIO()
    np.savez(file, *evaluator.counts(result))
    return {"counts": file.getvalue()}


def result_of(evaluator, row):
    """Returns (partition, its Evaluation or Failure) of a row."""
    if row["error"] is not None:
        return row["partition"], Failure(error_from_text(row["error"]))
    with np.load(BytesIO(bytes(row["counts"])), allow_pickle=False) as arrays:
        counts = [arrays[f"arr_{place}"] for place in range(len(arrays.files))]
    return row["partition"], evaluator.restore(counts)
