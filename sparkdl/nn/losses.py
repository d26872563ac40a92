"""Losses: how far the output of a network is from the label, one number per example."""

from dataclasses import dataclass
from typing import ClassVar

from sparkdl.engine import ops
from sparkdl.nn.config import Member


@dataclass(frozen=True, kw_only=True)
class Loss(Member):
    """Base of all losses. `z` is what the last layer computes, (batch, units).

    `label_kind` says what labels are: "class", an int32 in [0, units) per example, or "values",
    `units` float32 per example. `output(z)` is what a prediction gives. `per_example(z, labels)`
    is the loss of each example, (batch,); the loss of a batch is its mean.
    """

    label_kind: ClassVar[str] = "values"

    def label_shape(self, units):
        """The shape of one example's label."""
        return () if self.label_kind == "class" else (units,)

    def output(self, z):
        return z

    def per_example(self, z, labels):
        raise NotImplementedError


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
class Mse(Loss, name="mse"):
    """The squared difference, mean over units (Caffe's EuclideanLoss is units / 2 times it)."""

    def per_example(self, z, labels):
        return ops.mean(ops.square(ops.sub(z, labels)), axes=(1,))


@dataclass(frozen=True, kw_only=True)
class Mae(Loss, name="mae"):
    """The absolute difference, mean over units."""

    def per_example(self, z, labels):
        return ops.mean(ops.abs(ops.sub(z, labels)), axes=(1,))
