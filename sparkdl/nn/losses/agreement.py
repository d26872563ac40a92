"""Losses of the product of z and the labels, which measure their agreement."""

from typing import ClassVar

from sparkdl.config import Choice, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Value
from sparkdl.nn.losses.base import Loss, PerUnit, SumOrMean, check_classes


@dataclass(frozen=True, kw_only=True)
class MarginLoss(SumOrMean, abstract=True):
    """The amount by which y z falls short of 1."""

    label_range: ClassVar = (-1.0, 1.0)
    takes_between: ClassVar = False

    labels: str = option(
        Choice(of=("signs", "class")),
        '"signs": -1 or 1 for each unit; "class": an integer per example, which stands for 1 '
        "at the unit of the class and -1 at all others, as in Caffe's HingeLoss. A prediction "
        "is softmax(z) then: the order of z as probabilities.",
        default="signs",
    )

    @property
    def label_kind(self) -> str:  # type: ignore[override]
        return "class" if self.labels == "class" else "values"

    @property
    def predicts_z(self) -> bool:
        return self.labels == "signs"

    def output(self, z: Value) -> Value:
        return ops.softmax(z) if self.labels == "class" else z

    def missing(self, z: Value, labels: Value) -> Value:
        """Returns max(0, 1 - y z) per unit."""
        if self.labels == "class":
            labels = ops.sub(ops.mul(ops.one_hot(labels, z.shape[1], z.dtype), 2.0), 1.0)
        return ops.relu(ops.sub(1.0, ops.mul(z, labels)))


@dataclass(frozen=True, kw_only=True)
class Hinge(MarginLoss, name="hinge"):
    """max(0, 1 - y z), sum over units.

    DL4J's HINGE, and Caffe's HingeLoss with norm L1; Keras's Hinge is the mean over units.
    """

    def terms(self, z: Value, labels: Value) -> Value:
        return self.missing(z, labels)


@dataclass(frozen=True, kw_only=True)
class SquaredHinge(MarginLoss, name="squared_hinge"):
    """max(0, 1 - y z)^2, sum over units.

    DL4J's SQUARED_HINGE, and Caffe's HingeLoss with norm L2; Keras's is the mean over units.
    """

    def terms(self, z: Value, labels: Value) -> Value:
        return ops.square(self.missing(z, labels))


@dataclass(frozen=True, kw_only=True)
class MulticlassHinge(Loss, name="multiclass_hinge"):
    """max(0, 1 + the largest z of the other classes - z of the true class).

    A prediction is softmax(z): the order of z as probabilities.

    References
    ----------
    Crammer and Singer, On the algorithmic implementation of multiclass kernel-based vector machines
    (2001), eq. 4. Keras's CategoricalHinge has 0 among the other classes' z.
    """

    label_kind: ClassVar = "class"

    def check(self, units: int) -> None:
        check_classes(self, units)

    def output(self, z: Value) -> Value:
        return ops.softmax(z)

    def per_example(self, z: Value, labels: Value) -> Value:
        is_label = ops.one_hot(labels, z.shape[1], z.dtype)
        rise = ops.max(ops.add(z, ops.sub(1.0, is_label)), axes=(1,))  # the class itself: its z
        return ops.sub(rise, ops.sum(ops.mul(z, is_label), axes=(1,)))


@dataclass(frozen=True, kw_only=True)
class CosineProximity(Loss, name="cosine_proximity"):
    """-cosine of the angle between z and the label: -1 where they point the same way.

    DL4J's COSINE_PROXIMITY, Keras's CosineSimilarity. A length below 1e-6 counts as 1e-6.
    """

    def per_example(self, z: Value, labels: Value) -> Value:
        return ops.neg(ops.sum(ops.mul(unit(z), unit(labels)), axes=(1,)))


def unit(x: Value) -> Value:
    """Scales the rows of x to length 1."""
    square = ops.sum(ops.square(x), axes=(1,), keepdims=True)
    return ops.div(x, ops.sqrt(ops.maximum(square, 1e-12)))


@dataclass(frozen=True, kw_only=True)
class Wasserstein(PerUnit, name="wasserstein"):
    """y z, mean over units; DL4J's WASSERSTEIN.

    For the critic of a Wasserstein GAN: labels 1 and -1 say which distribution an example is of.

    References
    ----------
    Arjovsky, Chintala and Bottou, Wasserstein GAN (2017), algorithm 1.
    """

    averaged: ClassVar = True

    def terms(self, z: Value, labels: Value) -> Value:
        return ops.mul(z, labels)
