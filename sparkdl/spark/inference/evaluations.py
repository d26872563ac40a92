"""An evaluation as a Spark job: executors count, a tree of tasks adds up."""

from contextlib import nullcontext
from functools import partial

from sparkdl.errors import DataError
from sparkdl.spark.inference import predictions
from sparkdl.spark.jobs.job import job, staying_with_data
from sparkdl.spark.jobs.shared_value import sharing
from sparkdl.spark.records.validation_records import ValidationRecords, rdd_of
from sparkdl.spark.workers import tree
from sparkdl.training.workers.contribution import unwrap


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
        ranked, parts = batches.mapPartitionsWithIndex(each), batches.getNumPartitions()
        with staying(sc, validation.batches):
            sums = tree(ranked, parts, depth=2, add=predictions.merge_evaluations)
    result = unwrap(predictions.merge_evaluations(sums)) if sums else None
    if result is None or not result.examples:
        raise DataError("there are no records to evaluate on: every partition is empty")
    return result


def staying(sc, batches):
    """Runs tasks where the batches lie, if others could not open their folders."""
    return staying_with_data(sc) if isinstance(batches, ValidationRecords) else nullcontext()
