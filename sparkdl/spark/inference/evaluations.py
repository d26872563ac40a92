"""An evaluation as a Spark job: executors count, a tree of tasks adds up."""

from contextlib import nullcontext
from functools import partial

from sparkdl.spark.inference import predictions
from sparkdl.spark.jobs.job import job, staying_with_data
from sparkdl.spark.jobs.shared_value import sharing
from sparkdl.spark.records.validation_records import ValidationRecords, rdd_of
from sparkdl.spark.workers import tree


def evaluate(sc, model, validation, on_device):
    """Returns the Evaluation of a model over the records of a Validation.

    Parameters
    ----------
    sc : SparkContext
    model : tuple
        The arguments from which `predictions.loaded` makes a replica.
    validation : Validation
    on_device : function of a task that gives one which runs where the master says

    Raises
    ------
    DataError
        There are no records.
    """
    batches, evaluator = rdd_of(validation.batches), validation.evaluator
    with job(sc, "evaluation", "an evaluation"), sharing(sc, model) as shared:
        each = on_device(partial(predictions.evaluate_partition, shared, evaluator))
        with staying(sc, validation.batches):
            return sum_evaluations(batches, each)


def sum_evaluations(batches, each):
    """Returns the Evaluation of an RDD of Batches, of which `each` partition gives a part.

    Parameters
    ----------
    batches : RDD of Batch and Failure
    each : function (partition, its items) -> iterator of (partition, Evaluation or Failure)

    Raises
    ------
    DataError
        There are no records.
    """
    ranked, parts = batches.mapPartitionsWithIndex(each), batches.getNumPartitions()
    sums = tree(ranked, parts, depth=2, add=predictions.merge_evaluations)
    return predictions.total_evaluation(sums)


def staying(sc, batches):
    """Runs tasks where the batches lie, if others could not open their folders."""
    return staying_with_data(sc) if isinstance(batches, ValidationRecords) else nullcontext()
