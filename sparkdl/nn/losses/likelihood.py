"""Losses of a predicted distribution: how unlikely it makes the labels, in nats."""

from dataclasses import dataclass
from typing import ClassVar

from sparkdl.engine import ops
from sparkdl.nn.losses.base import Loss


@dataclass(frozen=True, kw_only=True)
class SoftmaxCrossEntropy(Loss, name="softmax_cross_entropy"):
    """-log of the probability that softmax(z) gives to the true class, in nats.

    References
    ----------
    Bishop, Pattern Recognition and Machine Learning (2006), eq. 4.108. Caffe SoftmaxWithLoss with
    normalization VALID, DL4J MCXENT.
    """

    label_kind: ClassVar[str] = "class"

    def output(self, z):
        return ops.softmax(z)

    def per_example(self, z, labels):
        return ops.softmax_cross_entropy(z, labels)


@dataclass(frozen=True, kw_only=True)
class SigmoidCrossEntropy(Loss, name="sigmoid_cross_entropy"):
    """-log of the probability of the labels, each unit a yes or no of its own, in nats.

    Labels are 0 or 1, or a probability in between. The sum over units, as Caffe's
    SigmoidCrossEntropyLoss and DL4J's XENT have it (Keras takes the mean over units).
    """

    def output(self, z):
        return ops.sigmoid(z)

    def per_example(self, z, labels):
        return ops.sum(ops.sigmoid_cross_entropy(z, labels), axes=(1,))


@dataclass(frozen=True, kw_only=True)
class KlDivergence(Loss, name="kl_divergence"):
    """sum of y log(y / p) over units, with p = softmax(z) and 0 log 0 = 0, in nats.

    Labels are a distribution over units. The numbers of DL4J's KL_DIVERGENCE and Keras's
    KLDivergence after softmax, but for the 1e-7 that Keras keeps y and p away from 0.

    References
    ----------
    Kullback and Leibler, On information and sufficiency (1951), eq. 2.2.
    """

    def output(self, z):
        return ops.softmax(z)

    def per_example(self, z, labels):
        log_labels = ops.log(ops.maximum(labels, 1e-37))  # near the least float32
        return ops.sum(ops.mul(labels, ops.sub(log_labels, ops.log_softmax(z))), axes=(1,))


@dataclass(frozen=True, kw_only=True)
class Poisson(Loss, name="poisson"):
    """rate - y log(rate) with rate = e^z, sum over units: -log of the likelihood of counts y.

    The part that depends on y alone, log y!, is left out. PyTorch's PoissonNLLLoss has the same
    terms (and their mean); DL4J's POISSON the same sum, where its last layer gives e^z. In float32
    e^z is infinite from z = 88.8 on.
    """

    def output(self, z):
        return ops.exp(z)

    def per_example(self, z, labels):
        return ops.sum(ops.sub(ops.exp(z), ops.mul(labels, z)), axes=(1,))
