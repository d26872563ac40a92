"""Evaluation of a replica on batches, in any process."""

from dataclasses import fields, is_dataclass
from itertools import chain

import numpy as np

from sparkdl.errors import DataError
from sparkdl.training.evaluation import evaluation_for
from sparkdl.training.evaluation.selection import predictions_to_judge
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
    """

    def __init__(self, conf, transform=None):
        self.conf, self.transform = conf, transform

    def evaluate(self, replica, blocks):
        """Returns an Evaluation of the replica, with its current weights, on blocks of records."""
        evaluation = new_evaluation(self.conf)
        parts = (pieces(block, self.transform, self.conf) for block in blocks)
        evaluate_batches(replica, chain.from_iterable(parts), evaluation)
        return evaluation

    def figures(self):
        """Returns the names of its evaluations' figures."""
        return tuple(new_evaluation(self.conf).figures())

    def counts(self, evaluation):
        """Returns the counts of an evaluation, as arrays."""
        return counts_of(evaluation)

    def restore(self, arrays):
        """Returns the Evaluation from the arrays of `counts`."""
        return with_counts(new_evaluation(self.conf), arrays)


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
        evaluation.add(*predictions_to_judge(replica, batch, prediction, losses))
        wrong.add(batch, prediction, losses, batch.ids)
    evaluation.wrong += wrong.examples()


def counts_of(evaluation):
    """Returns the counts of an Evaluation, as arrays."""
    return [np.atleast_1d(x) for name in evaluation.sums for x in parts(getattr(evaluation, name))]


def with_counts(evaluation, arrays):
    """Returns an empty Evaluation filled with the `counts_of` another.

    Raises
    ------
    DataError
        If they are not the counts of such an evaluation.
    """
    remaining = list(arrays)
    try:
        for name in evaluation.sums:
            like = getattr(evaluation, name)
            number = len(parts(like))
            setattr(evaluation, name, rebuild(like, remaining[:number]))
            remaining = remaining[number:]
        if remaining:
            raise ValueError("no more")
    except ValueError as error:
        actual = [(array.shape, array.dtype.kind) for array in arrays]
        raise DataError(f"{evaluation!r} counts arrays of {error}, got {actual}") from error
    return evaluation


def parts(value):
    """Returns the numbers and arrays of a value: itself, or a dataclass's fields."""
    if hasattr(value, "arrays"):
        return value.arrays()
    return [getattr(value, f.name) for f in fields(value)] if is_dataclass(value) else [value]


def rebuild(like, arrays):
    """Returns a value of the same kind as `like`, with these arrays as its `parts`.

    Raises ValueError if they do not fit.
    """
    if hasattr(like, "with_arrays"):
        return like.with_arrays(arrays)
    expected = [(x.shape, x.dtype.kind) for x in map(np.atleast_1d, parts(like))]
    if [(x.shape, x.dtype.kind) for x in arrays] != expected:
        raise ValueError(f"{expected}")
    if is_dataclass(like):
        values = (getattr(like, f.name) for f in fields(like))
        return type(like)(*map(restore_type, values, arrays))
    return restore_type(like, *arrays)


def restore_type(like, array):
    return array if isinstance(like, np.ndarray) else array[0].item()
