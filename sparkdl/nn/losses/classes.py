"""Losses of examples that belong to one class each: how unlikely the prediction makes it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.checks import is_integer, is_number
from sparkdl.nn.losses.base import (
    WEIGHTS,
    Loss,
    are_weights,
    check_length,
    counted,
    differs,
    weighted,
)


@dataclass(frozen=True, kw_only=True)
class SoftmaxCrossEntropy(Loss, name="softmax_cross_entropy"):
    """-log of the probability that softmax(z) gives to the true class, in nats.

    Parameters
    ----------
    labels : str
        "class": an integer per example. "one_hot": 1 at the class and 0 elsewhere, or a probability
        of each class; then the loss is the sum of -label log p.
    class_weights : sequence of float, optional
        Factor of the loss of each class, at least 0.
    ignore_label : int, optional
        What has this label has loss 0. Of the steps or places of an example, the mean is over the
        others (Caffe's normalization VALID, which is over those of the whole batch); an example
        that has one label counts as an example of loss 0 (Caffe's FULL).

    References
    ----------
    Bishop, Pattern Recognition and Machine Learning (2006), eq. 4.108. Caffe SoftmaxWithLoss; DL4J
    SPARSE_MCXENT and, with one_hot, MCXENT and NEGATIVELOGLIKELIHOOD.
    """

    labels: str = "class"
    class_weights: tuple[float, ...] | None = None
    ignore_label: int | None = None

    def __post_init__(self):
        super().__post_init__()
        require(self, "labels", self.labels in ("class", "one_hot"), "'class' or 'one_hot'")
        holds = self.class_weights is None or are_weights(self.class_weights)
        require(self, "class_weights", holds, WEIGHTS)
        holds = self.ignore_label is None or is_integer(self.ignore_label)
        require(self, "ignore_label", holds, "an integer")
        holds = self.ignore_label is None or self.labels == "class"
        require(self, "ignore_label", holds, "None where labels are one_hot")

    @property
    def label_kind(self):
        return "class" if self.labels == "class" else "values"

    @property
    def predicts(self):
        return "class"

    def check(self, units):
        check_length(self, "class_weights", units)

    def counts(self, labels):
        return None if self.ignore_label is None else differs(labels, self.ignore_label)

    def output(self, z):
        return ops.softmax(z)

    def per_example(self, z, labels):
        if self.labels == "one_hot":
            terms = ops.mul(labels, ops.log_softmax(z))
            return ops.neg(ops.sum(weighted(terms, self.class_weights), axes=(1,)))
        known = self.known(labels)
        loss = ops.softmax_cross_entropy(z, known)
        if self.class_weights is not None:
            at = ops.one_hot(known, z.shape[1], z.dtype)
            loss = ops.mul(loss, ops.sum(weighted(at, self.class_weights), axes=(1,)))
        if self.ignore_label is None:
            return loss
        return ops.mul(loss, counted(labels, self.ignore_label, z.dtype))

    def known(self, labels):
        """`labels` with class 0 for what is ignored, which may be no class at all."""
        if self.ignore_label is None:
            return labels
        return ops.mul(labels, differs(labels, self.ignore_label))


@dataclass(frozen=True, kw_only=True)
class Infogain(Loss, name="infogain"):
    """-sum over classes k of gain[label][k] log p_k, with p = softmax(z).

    The identity as `gain` gives the softmax cross entropy. Caffe's InfogainLoss.

    Parameters
    ----------
    gain : sequence of rows of float
        A row for each class that a label may be, a column for each class that may be predicted.
    """

    label_kind: ClassVar = "class"

    gain: tuple[tuple[float, ...], ...]

    def __post_init__(self):
        super().__post_init__()
        require(self, "gain", is_square(self.gain), "as many rows of numbers as a row has")

    def check(self, units):
        check_length(self, "gain", units)

    def output(self, z):
        return ops.softmax(z)

    def per_example(self, z, labels):
        at = ops.one_hot(labels, len(self.gain), z.dtype)
        gain = ops.matmul(at, np.asarray(self.gain, z.dtype))
        return ops.neg(ops.sum(ops.mul(gain, ops.log_softmax(z)), axes=(1,)))


def is_square(rows):
    """Whether `rows` is a tuple of as many tuples of numbers as each of them is long."""
    if not isinstance(rows, tuple) or not rows:
        return False
    return all(isinstance(row, tuple) and len(row) == len(rows) for row in rows) and all(
        is_number(value) for row in rows for value in row
    )


@dataclass(frozen=True, kw_only=True)
class MultinomialLogistic(Loss, name="multinomial_logistic"):
    """-log z of the true class: for networks whose last layer gives probabilities itself.

    A probability below 1e-20 counts as 1e-20, as in Caffe's MultinomialLogisticLoss. Softmax and
    softmax_cross_entropy in one are preciser.
    """

    label_kind: ClassVar = "class"

    def per_example(self, z, labels):
        own = ops.sum(ops.mul(z, ops.one_hot(labels, z.shape[1], z.dtype)), axes=(1,))
        return ops.neg(ops.log(ops.maximum(own, 1e-20)))
