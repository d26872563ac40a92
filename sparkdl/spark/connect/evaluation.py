"""Evaluation over Spark Connect: executors count, the client sums."""

from functools import partial

from sparkdl.spark.gpu_process.dispatch import run_partition_on_device
from sparkdl.spark.inference.frame_evaluation import evaluate_partitions, result_of
from sparkdl.spark.inference.predictions import evaluate_partition, total_evaluation
from sparkdl.spark.jobs.job import clear_errors
from sparkdl.spark.jobs.shared_value import LocalValue
from sparkdl.spark.jobs.user_code import check_pickles


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
    ConfigError
        If the evaluator cannot be pickled.
    DataError
        If there are no records.
    """
    check_pickles(model, evaluator)
    compute = partial(evaluate_partition, LocalValue(model), evaluator)
    each = partial(run_partition_on_device, device, compute)
    with clear_errors("an evaluation"):
        rows = evaluate_partitions(records, schema, evaluator, each).collect()
    return total_evaluation([result_of(evaluator, row) for row in rows])
