"""Tasks of an ensemble on executors: all its networks on each batch, and their votes."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sparkdl.errors import SparkdlError
from sparkdl.nn.execution.device import backend_for
from sparkdl.nn.execution.replica import make_replica
from sparkdl.spark.inference.output_columns import YES_OR_NO, OutputColumns, probabilities
from sparkdl.spark.inference.predictions import sound
from sparkdl.spark.inference.threshold_evaluator import ThresholdCounts, ThresholdEvaluator
from sparkdl.training.evaluation.batch_evaluation import new_evaluation, pieces
from sparkdl.training.evaluation.metric_counts import MetricCounts
from sparkdl.training.evaluation.selection import predictions_to_judge, weights_to_judge
from sparkdl.training.rounds.replica import limit_threads, load_to_read
from sparkdl.training.workers.contribution import failure_of
from sparkdl.tune.outcome_losses import outcome_losses
from sparkdl.tune.votes import combine

MOST = 32  # most replicas cached by a process, with their compiled programs


class Vote(NamedTuple):
    """The way in which networks vote.

    Parameters
    ----------
    kind : str
        Of their outputs; see OutputColumns.
    voting : str
    weights : tuple of float or None
    thresholds : tuple of float or None
        Of the classes; see OutputColumns.
    """

    kind: str
    voting: str
    weights: tuple[float, ...] | None
    thresholds: tuple[float, ...] | None = None

    def outcome(self, outputs):
        """Returns the networks' outputs combined, of the same shape (n, k) and meaning."""
        if self.kind != YES_OR_NO:
            return combine(outputs, self.voting, self.weights)
        both = [probabilities(y, self.kind) for y in outputs]
        return combine(both, self.voting, self.weights)[:, 1:]

    def counts(self, conf):
        """Returns ThresholdCounts, to which outcomes are added; None without thresholds."""
        if self.thresholds is None:
            return None
        evaluator = ThresholdEvaluator(conf, None, self.kind, self.thresholds)
        return ThresholdCounts(evaluator.with_metrics(MetricCounts()))  # of the main output alone


def outcomes(members, vote, transform, batch):
    """Yields (piece, outcome) for each piece of a batch, small enough to compute at once."""
    for piece in pieces(batch, transform, members[0].conf):
        names = [member.conf.main.name for member in members]
        outputs = [m.forward(piece, [name])[name] for m, name in zip(members, names, strict=True)]
        yield piece, vote.outcome(outputs)


def load_members(models):
    """Returns a replica of each network, with its weights.

    Parameters
    ----------
    models : sequence of (conf, state, device, backend)
    """
    limit_threads()
    members = []
    for number, (conf, state, device, backend) in enumerate(models):
        replica = replica_of(number, conf, device, backend)
        load_to_read(replica, state)
        members.append(replica)
    return members


@lru_cache(maxsize=MOST)
def replica_of(number, conf, device, backend):
    """Returns this process's replica of a member; members may differ only in their weights."""
    return make_replica(conf, backend_for(conf, device, backend))


def vote_columns(shared, vote, names, transform, batches):
    """Yields {column: array} of each Batch.

    Parameters
    ----------
    shared : SharedValue of the input of `load_members`
    names : (str, str)
        Of the prediction and the probability, "" for none.
    """
    members = load_members(shared.kept_value)
    output = OutputColumns("y", vote.kind, *names, thresholds=vote.thresholds)
    for batch in batches:
        found = [y for _, y in outcomes(members, vote, transform, batch)]
        yield output.arrays({"y": np.concatenate(found)})


def evaluate_votes(shared, vote, transform, partition, batches):
    """Yields the partition's number with its Evaluation, or with the Failure that occurred."""
    try:
        members = load_members(shared.kept_value)
        counts = vote.counts(members[0].conf)
        evaluation = new_evaluation(members[0].conf) if counts is None else counts
        for batch in sound(batches):
            for piece, y in outcomes(members, vote, transform, batch):
                losses = outcome_losses(members[0].conf, vote.voting, y, piece)
                judged = predictions_to_judge(members[0], piece, y, losses)
                evaluation.add(*judged, weights_to_judge(members[0], piece, y))
        yield partition, evaluation if counts is None else counts.evaluation()
    except SparkdlError as error:
        yield partition, failure_of(error)
