"""An evaluation of networks that vote, as a Spark job."""

from functools import partial

from sparkdl.errors import DataError
from sparkdl.spark.inference.predictions import merge_evaluations
from sparkdl.spark.jobs.job import job
from sparkdl.spark.workers import tree
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.workers.contribution import unwrap
from sparkdl.tune.vote_tasks import evaluate_votes


def evaluate(sc, conf, records, shared, vote, on_device):
    """Returns the Evaluation of an ensemble over SparkRecords.

    Parameters
    ----------
    conf : NetworkConf
        Of one of the networks; all take the same records.
    shared : SharedValue of what `load_members` takes
    on_device : function of a task that runs it where the master says

    Raises
    ------
    DataError
        There are no records.
    """
    batches = records.batches(sc, schema_of(conf, transform=records.transform))
    with job(sc, "evaluation of an ensemble", "an evaluation"):
        task = partial(on_device, partial(evaluate_votes, shared, vote, records.transform))
        ranked, parts = batches.mapPartitionsWithIndex(task), batches.getNumPartitions()
        sums = tree(ranked, parts, depth=2, add=merge_evaluations)
    result = unwrap(merge_evaluations(sums)) if sums else None
    if result is None or not result.examples:
        raise DataError("there are no records to evaluate on: every partition is empty")
    return result
