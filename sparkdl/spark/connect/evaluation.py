"""An evaluation over Spark Connect: executors count, the client adds up."""

from functools import partial
from io import BytesIO

import numpy as np
import pyarrow
from pyspark import TaskContext

from sparkdl.error_messages import error_from_text, error_to_text
from sparkdl.spark.gpu_process.dispatch import run_partition_on_device
from sparkdl.spark.inference.arrow_map import with_plain_names
from sparkdl.spark.inference.predictions import evaluate_partition, total_evaluation
from sparkdl.spark.jobs.job import clear_errors
from sparkdl.spark.jobs.shared_value import LocalValue
from sparkdl.spark.records.records import table_batches, until_failure
from sparkdl.training.workers.contribution import Failure

COLUMNS = "partition int, counts binary, error string"
ARROW = pyarrow.schema(
    [("partition", pyarrow.int32()), ("counts", pyarrow.binary()), ("error", pyarrow.string())]
)


def evaluate(model, records, schema, evaluator, device):
    """Returns the Evaluation of a model over SparkRecords of a DataFrame.

    Parameters
    ----------
    model : tuple
        The arguments from which `predictions.load_replica` makes a replica.
    device : str
        Of a TrainingMaster.

    Raises
    ------
    DataError
        There are no records.
    """
    chosen, columns = records.select_columns(schema)
    each = partial(evaluate_tables, schema, columns, LocalValue(model), evaluator, device)
    chosen, each = with_plain_names(chosen, each)
    with clear_errors("an evaluation"):
        rows = chosen.mapInArrow(each, COLUMNS).collect()
    ranked = [(row["partition"], result_of(evaluator, row)) for row in rows]
    return total_evaluation(ranked)


def evaluate_tables(schema, columns, model, evaluator, device, tables):
    """Yields the row of a partition: counts of its Evaluation, or its error."""
    partition = TaskContext.get().partitionId()
    batches = until_failure(table_batches(schema, columns, partition, tables))
    compute = partial(evaluate_partition, model, evaluator)
    for _, result in run_partition_on_device(device, compute, partition, batches):
        row = {"partition": partition} | cells_of(evaluator, result)
        yield pyarrow.RecordBatch.from_pylist([row], schema=ARROW)


def cells_of(evaluator, result):
    if isinstance(result, Failure):
        return {"error": error_to_text(result.error)}
    file = BytesIO()
    np.savez(file, *evaluator.counts(result))
    return {"counts": file.getvalue()}


def result_of(evaluator, row):
    """Returns the Evaluation, or the Failure, of a row."""
    if row["error"] is not None:
        return Failure(error_from_text(row["error"]))
    with np.load(BytesIO(bytes(row["counts"])), allow_pickle=False) as arrays:
        return evaluator.restore([arrays[f"arr_{place}"] for place in range(len(arrays.files))])
