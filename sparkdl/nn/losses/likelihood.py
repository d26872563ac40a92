"""Losses of a predicted distribution over units: how unlikely it makes the labels, in nats."""

from sparkdl.config import Boolean, Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Value
from sparkdl.nn.losses.base import PerUnit, check_classes, count_labels


@dataclass(frozen=True, kw_only=True)
class SigmoidCrossEntropy(PerUnit, name="sigmoid_cross_entropy"):
    """-log of the probability of the labels, each unit a yes or no of its own, in nats.

    Labels are 0 or 1, or a probability in between. The sum over units, as Caffe's
    SigmoidCrossEntropyLoss and DL4J's XENT and RECONSTRUCTION_CROSSENTROPY have it (Keras takes the
    mean over units: `averaged`).
    """

    ignore_label: float | None = option(
        Number(),
        "Units with this label do not count, as Caffe's ignore_label has it.",
        default=None,
    )
    averaged: bool = option(  # type: ignore[misc]
        Boolean(),
        "The mean over units rather than the sum; those that do not count are among them.",
        default=False,
    )

    def output(self, z: Value) -> Value:
        return ops.sigmoid(z)

    def terms(self, z: Value, labels: Value) -> Value:
        terms = ops.sigmoid_cross_entropy(z, labels)
        if self.ignore_label is None:
            return terms
        return ops.mul(terms, count_labels(labels, float(self.ignore_label), z.dtype))


@dataclass(frozen=True, kw_only=True)
class KlDivergence(PerUnit, name="kl_divergence"):
    """sum of y log(y / p) over units, with p = softmax(z) and 0 log 0 = 0, in nats.

    Labels are a distribution over units. The numbers of DL4J's KL_DIVERGENCE and Keras's
    KLDivergence after softmax, but for the 1e-7 that Keras keeps y and p away from 0.

    References
    ----------
    Kullback and Leibler, On information and sufficiency (1951), eq. 2.2.
    """

    def check(self, units: int) -> None:
        super().check(units)
        check_classes(self, units)

    def output(self, z: Value) -> Value:
        return ops.softmax(z)

    def terms(self, z: Value, labels: Value) -> Value:
        log_labels = ops.log(ops.maximum(labels, 1e-37))  # near the smallest normal float32
        return ops.mul(labels, ops.sub(log_labels, ops.log_softmax(z)))


@dataclass(frozen=True, kw_only=True)
class Poisson(PerUnit, name="poisson"):
    """rate - y log(rate) with rate = e^z, sum over units: -log of the likelihood of counts y.

    The part that depends on y alone, log y!, is left out. PyTorch's PoissonNLLLoss has the same
    terms (and their mean); DL4J's POISSON the same sum, where its last layer gives e^z. In float32
    e^z is infinite from z = 88.8 on.
    """

    def output(self, z: Value) -> Value:
        return ops.exp(z)

    def terms(self, z: Value, labels: Value) -> Value:
        return ops.sub(ops.exp(z), ops.mul(labels, z))
