"""Losses of examples with one class each: how unlikely the prediction makes it."""

from typing import ClassVar

import numpy as np

from sparkdl.config import Choice, Integer, Number, Sequence, dataclass, option
from sparkdl.config.field_types import OptionalSeveral, Several
from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.hints import Value
from sparkdl.nn.losses.base import (
    COUNTS,
    FOCUSING,
    SMOOTHING,
    WEIGHTS,
    Loss,
    are_weights,
    check_classes,
    check_length,
    count_labels,
    differs,
    focus,
    smooth,
    weight_terms,
)


@dataclass(frozen=True, kw_only=True)
class SoftmaxCrossEntropy(Loss, name="softmax_cross_entropy"):
    """-log of the probability that softmax(z) gives to the true class, in nats.

    With `focal_gamma` the focal loss: -(1 - p)^gamma log p of each class with a share of the label.
    Its numbers are those of Keras's CategoricalFocalCrossentropy, whose alpha is our
    `class_weights`, but for the 1e-7 that Keras keeps p away from 0 and 1.

    References
    ----------
    Bishop, Pattern Recognition and Machine Learning (2006), eq. 4.108. Caffe SoftmaxWithLoss; DL4J
    SPARSE_MCXENT and, with one_hot, MCXENT and NEGATIVELOGLIKELIHOOD. Smoothed labels: Szegedy et
    al., Rethinking the Inception architecture for computer vision (2016), section 7. Focal loss:
    Lin, Goyal, Girshick, He and Dollár, Focal loss for dense object detection (2017), eq. 4 and 5.
    """

    label_range: ClassVar = COUNTS

    labels: str = option(
        Choice(of=("class", "one_hot")),
        '"class": an integer per example. "one_hot": 1 at the class and 0 elsewhere, or a '
        "probability of each class; then the loss is the sum of -label log p. Data may have "
        "either for either, but probabilities only for the second.",
        default="class",
    )
    class_weights: OptionalSeveral[float] = option(
        Sequence(of=Number(minimum=0)),
        "Factor of the loss of each class, not all of them 0.",
        default=None,
    )
    ignore_label: int | None = option(
        Integer(limit=2**31 - 1),
        "Label whose loss is 0. Of the steps or places of an example, the mean is over the "
        "others (Caffe's normalization VALID, which is over those of the whole batch); an "
        "example that has one label counts as an example of loss 0 (Caffe's FULL).",
        default=None,
    )
    label_smoothing: float = option(
        Number(minimum=0, maximum=1), SMOOTHING.format(over="all classes"), default=0.0
    )
    focal_gamma: float = option(Number(minimum=0), FOCUSING, default=0.0)

    def validate(self) -> None:
        super().validate()
        require(self, "class_weights", are_weights(self.class_weights), WEIGHTS)
        holds = self.ignore_label is None or self.labels == "class"
        require(self, "ignore_label", holds, "None where labels are one_hot")

    @property
    def label_kind(self) -> str:  # type: ignore[override]
        return "class" if self.labels == "class" else "values"

    @property
    def predicts(self) -> str:
        return "class"

    def check(self, units: int) -> None:
        check_classes(self, units)
        check_length(self, "class_weights", units)

    def counts(self, labels: Value) -> Value:
        return None if self.ignore_label is None else differs(labels, self.ignore_label)

    def output(self, z: Value) -> Value:
        return ops.softmax(z)

    def per_example(self, z: Value, labels: Value) -> Value:
        share, classes = self.label_smoothing, z.shape[1]
        if self.labels == "one_hot":
            return self.of_shares(z, smooth(labels, share, 1 / classes))
        known = self.replace_ignored(labels)
        loss = self.focused(ops.softmax_cross_entropy(z, known))
        if self.class_weights is not None:
            at = ops.one_hot(known, classes, z.dtype)
            loss = ops.mul(loss, ops.sum(weight_terms(at, self.class_weights), axes=(1,)))
        if share:
            even = self.of_shares(z, np.asarray(share / classes, z.dtype))
            loss = ops.add(ops.mul(loss, 1.0 - share), even)
        if self.ignore_label is None:
            return loss
        return ops.mul(loss, count_labels(labels, self.ignore_label, z.dtype))

    def of_shares(self, z: Value, shares: Value) -> Value:
        """Returns the loss of examples whose label is a share of each class, (batch, classes)."""
        logs = ops.log_softmax(z)
        logs = ops.neg(self.focused(ops.neg(logs))) if self.focal_gamma else logs
        terms = weight_terms(ops.mul(shares, logs), self.class_weights)
        return ops.neg(ops.sum(terms, axes=(1,)))

    def focused(self, losses: Value) -> Value:
        """Multiplies each loss -log p by (1 - p)^gamma."""
        if not self.focal_gamma:
            return losses
        return focus(losses, ops.sub(1.0, ops.exp(ops.neg(losses))), self.focal_gamma)

    def replace_ignored(self, labels: Value) -> Value:
        """Returns `labels` with class 0 for what is ignored, which may be no class at all."""
        if self.ignore_label is None:
            return labels
        return ops.mul(labels, differs(labels, self.ignore_label))


@dataclass(frozen=True, kw_only=True)
class Infogain(Loss, name="infogain"):
    """-sum over classes k of gain[label][k] log p_k, with p = softmax(z).

    The identity as `gain` gives the softmax cross entropy. Caffe's InfogainLoss.
    """

    label_kind: ClassVar = "class"

    gain: Several[tuple[float, ...]] = option(
        Sequence(of=Sequence(of=Number()), minimum=1),
        "A row for each class that a label may be, a column for each class that may be predicted.",
    )

    def validate(self) -> None:
        super().validate()
        square = all(len(row) == len(self.gain) for row in self.gain)
        require(self, "gain", square, "as many rows of numbers as a row has")

    def check(self, units: int) -> None:
        check_length(self, "gain", units)

    def output(self, z: Value) -> Value:
        return ops.softmax(z)

    def per_example(self, z: Value, labels: Value) -> Value:
        at = ops.one_hot(labels, len(self.gain), z.dtype)
        gain = ops.matmul(at, np.asarray(self.gain, z.dtype))
        return ops.neg(ops.sum(ops.mul(gain, ops.log_softmax(z)), axes=(1,)))


@dataclass(frozen=True, kw_only=True)
class MultinomialLogistic(Loss, name="multinomial_logistic"):
    """-log z of the true class: for networks whose last layer gives probabilities itself.

    A probability below 1e-20 counts as 1e-20, as in Caffe's MultinomialLogisticLoss.
    softmax_cross_entropy, which includes softmax, is more precise.
    """

    label_kind: ClassVar = "class"

    def per_example(self, z: Value, labels: Value) -> Value:
        of_labels = ops.sum(ops.mul(z, ops.one_hot(labels, z.shape[1], z.dtype)), axes=(1,))
        return ops.neg(ops.log(ops.maximum(of_labels, 1e-20)))
