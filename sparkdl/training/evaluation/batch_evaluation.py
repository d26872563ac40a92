"""Evaluation of a replica on batches, in any process."""

from itertools import chain

from sparkdl.training.evaluation import evaluation_for
from sparkdl.training.evaluation.count_arrays import counts_of, with_counts
from sparkdl.training.evaluation.metric_counts import MetricCounts
from sparkdl.training.evaluation.selection import predictions_to_judge, weights_to_judge
from sparkdl.training.evaluation.wrong_records import WrongRecords
from sparkdl.training.inputs.minibatch import prepare_minibatch

BATCH = 256  # examples that inference computes at once


class Evaluator:
    """Evaluates a network by its own loss.

    Another class with the same methods may evaluate differently; it is sent to workers.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    transform : callable or None
        Batch to Batch, for the validation data.
    metrics : MetricCounts or None
        Of the user's own metrics, without examples.
    """

    def __init__(self, conf, transform=None, metrics=None):
        self.conf, self.transform = conf, transform
        self.metrics = MetricCounts() if metrics is None else metrics

    def with_metrics(self, metrics):
        """Returns an Evaluator with these MetricCounts."""
        return type(self)(self.conf, self.transform, metrics)

    def new(self):
        """Returns an Evaluation without examples."""
        evaluation = new_evaluation(self.conf)
        evaluation.metrics = self.metrics.empty()
        return evaluation

    def evaluate(self, replica, blocks):
        """Returns an Evaluation of the replica, with its current weights, on blocks of records."""
        evaluation = self.new()
        parts = (pieces(block, self.transform, self.conf) for block in blocks)
        evaluate_batches(replica, chain.from_iterable(parts), evaluation)
        return evaluation

    def figures(self):
        """Returns the names of its evaluations' figures."""
        return tuple(self.new().figures())

    def counts(self, evaluation):
        """Returns the counts of an evaluation, as arrays."""
        return counts_of(evaluation)

    def restore(self, arrays):
        """Returns the Evaluation from the arrays of `counts`."""
        return with_counts(self.new(), arrays)


def pieces(batch, transform, conf, size=BATCH):
    """Yields the batch in parts small enough to compute at once, prepared for the network."""
    for start in range(0, len(batch), size):
        yield prepare_minibatch(batch.take(slice(start, start + size)), transform, conf)


def new_evaluation(conf):
    return evaluation_for(conf.loss, conf.output_size)


def evaluate_batches(replica, batches, evaluation):
    """Adds the replica's predictions for batches to an evaluation; see `predictions_to_judge`."""
    wrong = WrongRecords(replica.conf, evaluation.wrong.most, evaluation.labels)
    for batch in batches:
        prediction, losses = replica.losses(batch)
        judged = predictions_to_judge(replica, batch, prediction, losses)
        weights = weights_to_judge(replica, batch, prediction)
        evaluation.add(*judged, weights)
        evaluation.metrics.add(*judged, weights)
        wrong.add(batch, prediction, losses, batch.ids)
    evaluation.wrong += wrong.examples()
