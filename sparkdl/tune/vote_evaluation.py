"""Evaluation of an ensemble, as a Spark job."""

from functools import partial

from sparkdl.spark.inference.evaluations import UnreadRecords, sum_results
from sparkdl.spark.jobs.job import job
from sparkdl.spark.jobs.jvm import living_jvm
from sparkdl.spark.jobs.one_call import one_call
from sparkdl.spark.jobs.sent_function import SentFunction
from sparkdl.spark.jobs.shared_processes import shared_processes
from sparkdl.training.evaluation.batch_evaluation import Evaluator
from sparkdl.training.evaluation.metric_counts import MetricCounts
from sparkdl.training.inputs.schema import schema_of
from sparkdl.tune.vote_tasks import evaluate_votes


def evaluate(sc, conf, records, shared, vote, on_device):
    """Returns the Evaluation of an ensemble over SparkRecords.

    Parameters
    ----------
    conf : NetworkConf
        Of one of the networks; all take the same records.
    shared : SharedValue of the input of `load_members`
    on_device : function of a task
        Runs it on the master's device.

    Raises
    ------
    DataError
        If there are no records.
    """
    unread = UnreadRecords(records, schema_of(conf, transform=records.transform))
    task = partial(on_device, partial(evaluate_votes, shared, vote, records.transform))
    with living_jvm("the evaluation"), one_call(sc), shared_processes(sc, records.data):
        with job(sc, "evaluation of an ensemble", "an evaluation"):
            evaluator = Evaluator(conf, metrics=MetricCounts())  # of the main output alone
            return sum_results(*unread.results(sc, evaluator, SentFunction(task)))
