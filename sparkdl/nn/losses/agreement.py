"""Losses of the product of z and the labels: whether they point the same way."""

from dataclasses import dataclass

from sparkdl.engine import ops
from sparkdl.nn.losses.base import Loss


@dataclass(frozen=True, kw_only=True)
class Hinge(Loss, name="hinge"):
    """max(0, 1 - y z), sum over units, for labels -1 and 1.

    DL4J's HINGE. Caffe's HingeLoss with norm L1 has the same sum, its labels being classes: -1 for
    all units but that of the class. Keras takes the mean over units.
    """

    def per_example(self, z, labels):
        return ops.sum(margin(z, labels), axes=(1,))


@dataclass(frozen=True, kw_only=True)
class SquaredHinge(Loss, name="squared_hinge"):
    """max(0, 1 - y z)^2, sum over units, for labels -1 and 1.

    DL4J's SQUARED_HINGE, and Caffe's HingeLoss with norm L2; Keras takes the mean over units.
    """

    def per_example(self, z, labels):
        return ops.sum(ops.square(margin(z, labels)), axes=(1,))


def margin(z, labels):
    """How much is missing to 1."""
    return ops.relu(ops.sub(1.0, ops.mul(z, labels)))


@dataclass(frozen=True, kw_only=True)
class CosineProximity(Loss, name="cosine_proximity"):
    """-cosine of the angle between z and the label: -1 where they point the same way.

    DL4J's COSINE_PROXIMITY, Keras's CosineSimilarity. A length below 1e-6 counts as 1e-6.
    """

    def per_example(self, z, labels):
        return ops.neg(ops.sum(ops.mul(unit(z), unit(labels)), axes=(1,)))


def unit(x):
    """The rows of x with length 1."""
    square = ops.sum(ops.square(x), axes=(1,), keepdims=True)
    return ops.div(x, ops.sqrt(ops.maximum(square, 1e-12)))


@dataclass(frozen=True, kw_only=True)
class Wasserstein(Loss, name="wasserstein"):
    """y z, mean over units; DL4J's WASSERSTEIN.

    For the critic of a Wasserstein GAN: labels 1 and -1 say which distribution an example is of.

    References
    ----------
    Arjovsky, Chintala and Bottou, Wasserstein GAN (2017), algorithm 1.
    """

    def per_example(self, z, labels):
        return ops.mean(ops.mul(z, labels), axes=(1,))
