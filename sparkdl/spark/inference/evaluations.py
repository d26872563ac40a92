"""Evaluation as a Spark job: executors count, a tree of tasks sums."""

from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from sparkdl.spark.connect.sessions import is_frame
from sparkdl.spark.inference import predictions
from sparkdl.spark.inference.frame_evaluation import evaluate_partitions, result_of
from sparkdl.spark.jobs.job import job, staying_with_data
from sparkdl.spark.jobs.shared_value import sharing
from sparkdl.spark.jobs.user_code import check_pickles
from sparkdl.spark.records.records import SparkRecords
from sparkdl.spark.records.validation_records import ValidationRecords, rdd_of
from sparkdl.spark.workers import tree

FEW = 4  # partitions whose counts the driver sums itself; executors would need a shuffle


@dataclass(frozen=True)
class UnreadRecords:
    """Records that are read once, while they are evaluated.

    Those of a DataFrame never leave the process that receives them: between Python processes Spark
    would copy them all as rows.
    """

    records: SparkRecords
    schema: Any

    def results(self, sc, evaluator, each):
        """Returns (RDD of the results of `each` partition, number of partitions); see
        `sum_results`.

        `evaluator` writes and reads the counts in these results.
        """
        if not is_frame(self.records.data):
            batches = self.records.batches(sc, self.schema)
            return batches.mapPartitionsWithIndex(each), batches.getNumPartitions()
        rows = evaluate_partitions(self.records, self.schema, evaluator, each).rdd
        return rows.map(partial(result_of, evaluator)), rows.getNumPartitions()


def evaluate(sc, model, validation, on_device):
    """Returns the Evaluation of a model over the records of a Validation.

    Parameters
    ----------
    sc : SparkContext
    model : tuple
        The arguments from which `predictions.load_replica` makes a replica.
    validation : Validation
        Of UnreadRecords, ValidationRecords or an RDD of Batches.
    on_device : function of a task
        Returns the task wrapped to run on the master's device.

    Raises
    ------
    ConfigError
        If the evaluator cannot be pickled.
    DataError
        If there are no records.
    """
    batches, evaluator = validation.batches, validation.evaluator
    check_pickles(evaluator)
    with job(sc, "evaluation", "an evaluation"), sharing(sc, model) as shared:
        each = on_device(partial(predictions.evaluate_partition, shared, evaluator))
        with staying(sc, batches):
            if isinstance(batches, UnreadRecords):
                return sum_results(*batches.results(sc, evaluator, each))
            stored = rdd_of(batches)
            return sum_results(stored.mapPartitionsWithIndex(each), stored.getNumPartitions())


def sum_results(ranked, parts):
    """Returns the Evaluation of an RDD of (partition, Evaluation or Failure), one per partition.

    Raises
    ------
    DataError
        If there are no records.
    """
    depth = 1 if parts <= FEW else 2
    sums = tree(ranked, parts, depth, add=predictions.merge_evaluations)
    return predictions.total_evaluation(sums)


def staying(sc, batches):
    """Runs tasks where the batches lie, if other executors could not open their folders."""
    return staying_with_data(sc) if isinstance(batches, ValidationRecords) else nullcontext()
