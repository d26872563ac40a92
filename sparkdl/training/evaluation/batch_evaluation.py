"""Evaluation of a replica on batches, in any process."""

from copy import copy
from itertools import chain

import numpy as np

from sparkdl.training.evaluation import evaluation_for
from sparkdl.training.evaluation.choice import keeps_ignored_labels
from sparkdl.training.evaluation.count_arrays import counts_of, with_counts
from sparkdl.training.evaluation.mean_loss import MeanLoss
from sparkdl.training.evaluation.metric_counts import MetricCounts, naming_metric
from sparkdl.training.evaluation.selection import (
    column_to_judge,
    predictions_to_judge,
    weights_to_judge,
)
from sparkdl.training.evaluation.wrong_records import WrongRecords
from sparkdl.training.inputs.minibatch import prepare_minibatch

BATCH = 256  # examples that inference computes at once


class Evaluator:
    """Evaluates a network, or one of its outputs, by its own loss.

    Another class with the same methods may evaluate differently; it is sent to workers.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    transform : callable or None
        Batch to Batch, for the validation data.
    metrics : MetricCounts or None
        Of the user's own metrics, without examples; None: see `metrics_of_others`.
    output : str, optional
        The output to evaluate, by its own loss; None: the main one, by the network's loss.

    Raises
    ------
    ConfigError
        If the network has no such output, or it reads no labels.
    """

    def __init__(self, conf, transform=None, metrics=None, output=None):
        column_to_judge(conf, output)
        self.conf, self.transform, self.output = conf, transform, output
        self.metrics = metrics_of_others(conf, output) if metrics is None else metrics

    def with_metrics(self, metrics):
        """Returns a copy with these MetricCounts."""
        made = copy(self)
        made.metrics = metrics
        return made

    def new(self):
        """Returns an Evaluation without examples."""
        evaluation = new_evaluation(self.conf, self.output)
        evaluation.metrics = self.metrics.empty()
        return evaluation

    def evaluate(self, replica, blocks):
        """Returns an Evaluation of the replica, with its current weights, on blocks of records."""
        evaluation = self.new()
        parts = (pieces(block, self.transform, self.conf) for block in blocks)
        evaluate_batches(replica, chain.from_iterable(parts), evaluation, self.output)
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


def new_evaluation(conf, output=None):
    """Returns an Evaluation without examples of an output; None: the main one."""
    place = conf.output_named(output)
    return evaluation_for(place.layer.loss, place.units)


def metrics_of_others(conf, output=None):
    """Returns MetricCounts of the other outputs that read labels, under their names.

    They have none where an output was chosen, or where there is only one. An output that reads
    what the main one reads, as Dice beside a cross entropy does, has the same figures but its loss.
    """
    named = conf.outputs_by_name if output is None else {}
    others = {name: place for name, place in named.items() if place.name != conf.main.name}
    counts = {name: other_evaluation(conf, place) for name, place in others.items()}
    return MetricCounts(counts, outputs={name: place.name for name, place in others.items()})


def other_evaluation(conf, place):
    """Returns an Evaluation without examples of an output beside the main one."""
    alike = [of(place) == of(conf.main) for of in (sources_of, conf.label_column, kind_of)]
    return MeanLoss() if all(alike) else new_evaluation(conf, place.name)


def sources_of(place):
    return place.sources


def kind_of(place):
    """Returns the type of an output's Evaluation."""
    return type(evaluation_for(place.layer.loss, place.units))


def evaluate_batches(replica, batches, evaluation, output=None):
    """Adds an output's predictions for batches to an evaluation; see `predictions_to_judge`."""
    wrong = WrongRecords(replica.conf, evaluation.wrong.most, evaluation.labels, output)
    others = evaluation.metrics.by_output
    outputs = tuple(dict.fromkeys([output, *(other for _, other, _ in others)]))
    for batch in batches:
        found = replica.losses_by_output(batch, outputs)
        prediction, losses = found[output]
        counted = judge(replica, batch, prediction, losses, output)
        evaluation.add(*counted)
        evaluation.metrics.add(*with_known_labels(replica.conf.output_named(output), *counted))
        for name, other, counts in others:
            with naming_metric(name):
                counts.add(*judge(replica, batch, *found[other], other))
        wrong.add(batch, prediction, losses, batch.ids)
    evaluation.wrong += wrong.examples()


def judge(replica, batch, prediction, losses, output=None):
    """Returns what an Evaluation adds: predictions, labels, losses and weights of what counts."""
    judged = predictions_to_judge(replica, batch, prediction, losses, output)
    return *judged, weights_to_judge(replica, batch, prediction, output)


def with_known_labels(place, predictions, labels, losses, weights=None):
    """Returns the rows of what `judge` returns of which the output's loss ignores no label.

    Metrics of a user's own would take the number that stands for a missing label for a label.
    """
    loss = place.layer.loss
    rows = slice(None)
    if keeps_ignored_labels(loss, place.units):
        rows = (labels != np.asarray(loss.ignore_label, labels.dtype)).all(axis=1)
    return predictions[rows], labels[rows], losses[rows], None if weights is None else weights[rows]
