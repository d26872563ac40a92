"""Losses of a predicted distribution over units: how unlikely it makes the labels, in nats."""

from typing import ClassVar

from sparkdl.config import Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Value
from sparkdl.nn.losses.base import (
    COUNTS,
    FOCUSING,
    SHARES,
    SMALLEST,
    SMOOTHING,
    PerUnit,
    SumOrMean,
    any_known,
    check_classes,
    differs,
    focus,
    smooth,
)


@dataclass(frozen=True, kw_only=True)
class SigmoidCrossEntropy(SumOrMean, name="sigmoid_cross_entropy"):
    """-log of the probability of the labels, each unit a yes or no of its own, in nats.

    Labels are 0 or 1, or a probability in between. The sum over units, as Caffe's
    SigmoidCrossEntropyLoss and DL4J's XENT and RECONSTRUCTION_CROSSENTROPY have it (Keras takes the
    mean over units: `averaged`).

    With `focal_gamma` and `focal_alpha` the focal loss: each unit's term is multiplied by
    (1 - p)^gamma, with p = the probability of its label. These are the numbers of torchvision's
    sigmoid_focal_loss, and of Keras's BinaryFocalCrossentropy but for the 1e-7 that Keras keeps
    probabilities away from 0 and 1.

    References
    ----------
    Lin, Goyal, Girshick, He and Dollár, Focal loss for dense object detection (2017), eq. 4 and 5.
    """

    label_range: ClassVar = SHARES

    ignore_label: float | None = option(
        Number(),
        "Units with this label do not count, as Caffe's ignore_label has it. Of the steps or "
        "places of an example, the mean is over those with a label; an example without any counts "
        "as one of loss 0.",
        default=None,
    )
    label_smoothing: float = option(
        Number(minimum=0, maximum=1), SMOOTHING.format(over="0 and 1"), default=0.0
    )
    focal_gamma: float = option(Number(minimum=0), FOCUSING, default=0.0)
    focal_alpha: float | None = option(
        Number(minimum=0, maximum=1),
        "Weight of the label 1, where that of 0 is 1 - alpha; the paper's is 0.25. None: 1 for "
        "both.",
        default=None,
    )

    def counts(self, labels: Value) -> Value:
        return any_known(labels, self.ignore_label)

    def output(self, z: Value) -> Value:
        return ops.sigmoid(z)

    def terms(self, z: Value, labels: Value) -> Value:
        if self.ignore_label is None:
            return self.known_terms(z, labels)
        known = differs(labels, float(self.ignore_label))
        terms = self.known_terms(z, ops.mul(labels, known))  # a factor 0 leaves NaN as it is
        return ops.mul(terms, ops.cast(known, z.dtype))

    def known_terms(self, z: Value, labels: Value) -> Value:
        """Returns the terms of all units (batch, units), whose labels are all known."""
        return self.focused(z, smooth(labels, self.label_smoothing, 0.5))

    def focused(self, z: Value, labels: Value) -> Value:
        """Returns the terms of smoothed labels, with the factors of the focal loss."""
        terms = ops.sigmoid_cross_entropy(z, labels)
        if self.focal_gamma:
            yes, no = ops.sigmoid(z), ops.sigmoid(ops.neg(z))
            wrong = ops.add(ops.mul(labels, no), ops.mul(ops.sub(1.0, labels), yes))
            terms = focus(terms, wrong, self.focal_gamma)
        alpha = self.focal_alpha
        if alpha is None:
            return terms
        return ops.mul(terms, ops.add(ops.mul(labels, 2.0 * alpha - 1.0), 1.0 - alpha))


@dataclass(frozen=True, kw_only=True)
class KlDivergence(PerUnit, name="kl_divergence"):
    """sum of y log(y / p) over units, with p = softmax(z) and 0 log 0 = 0, in nats.

    Labels are a distribution over units. The numbers of DL4J's KL_DIVERGENCE and Keras's
    KLDivergence after softmax, but for the 1e-7 that Keras keeps y and p away from 0.

    References
    ----------
    Kullback and Leibler, On information and sufficiency (1951), eq. 2.2.
    """

    label_range: ClassVar = COUNTS

    def check(self, units: int) -> None:
        super().check(units)
        check_classes(self, units)

    def output(self, z: Value) -> Value:
        return ops.softmax(z)

    def terms(self, z: Value, labels: Value) -> Value:
        log_labels = ops.log(ops.maximum(labels, SMALLEST))
        return ops.mul(labels, ops.sub(log_labels, ops.log_softmax(z)))


@dataclass(frozen=True, kw_only=True)
class Poisson(SumOrMean, name="poisson"):
    """rate - y log(rate) with rate = e^z, sum over units: -log of the likelihood of counts y.

    The part that depends on y alone, log y!, is left out. PyTorch's PoissonNLLLoss has the same
    terms and their mean, Keras's Poisson that mean but for the 1e-7 that it adds to rates; DL4J's
    POISSON is the sum, where its last layer gives e^z. In float32 e^z is infinite from z = 88.8 on.
    """

    label_range: ClassVar = COUNTS

    def output(self, z: Value) -> Value:
        return ops.exp(z)

    def terms(self, z: Value, labels: Value) -> Value:
        return ops.sub(ops.exp(z), ops.mul(labels, z))
