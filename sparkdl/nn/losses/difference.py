"""Losses of the difference between z and the labels."""

from math import log
from typing import ClassVar

from sparkdl.config import Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Value
from sparkdl.nn.losses.base import PerUnit, any_known, differs

KERAS_EPSILON = 1e-7


@dataclass(frozen=True, kw_only=True)
class Difference(PerUnit, abstract=True):
    """A loss of the difference between each unit and its label; labels may be missing."""

    ignore_label: float | None = option(
        Number(),
        "Units with this label do not count: what stands for a missing label. A mean over units "
        "divides by the number of units all the same. Of the steps or places of an example, the "
        "mean is over those with a label; an example without any counts as one of loss 0.",
        default=None,
    )

    def counts(self, labels: Value) -> Value:
        return any_known(labels, self.ignore_label)

    def terms(self, z: Value, labels: Value) -> Value:
        if self.ignore_label is None:
            return self.differences(z, labels)
        known = differs(labels, float(self.ignore_label))
        terms = self.differences(z, ops.mul(labels, known))
        return ops.mul(terms, ops.cast(known, z.dtype))

    def differences(self, z: Value, labels: Value) -> Value:
        """Returns the terms of all units (batch, units), whose labels are all known."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Mse(Difference, name="mse"):
    """The squared difference, mean over units (Caffe's EuclideanLoss is units / 2 times it)."""

    averaged: ClassVar = True

    def differences(self, z: Value, labels: Value) -> Value:
        return ops.square(ops.sub(z, labels))


@dataclass(frozen=True, kw_only=True)
class Mae(Difference, name="mae"):
    """The absolute difference, mean over units."""

    averaged: ClassVar = True

    def differences(self, z: Value, labels: Value) -> Value:
        return ops.abs(ops.sub(z, labels))


@dataclass(frozen=True, kw_only=True)
class L1(Difference, name="l1"):
    """The absolute difference, sum over units; DL4J's L1."""

    def differences(self, z: Value, labels: Value) -> Value:
        return ops.abs(ops.sub(z, labels))


@dataclass(frozen=True, kw_only=True)
class L2(Difference, name="l2"):
    """The squared difference, sum over units; DL4J's L2 (Caffe's EuclideanLoss is half of it)."""

    def differences(self, z: Value, labels: Value) -> Value:
        return ops.square(ops.sub(z, labels))


@dataclass(frozen=True, kw_only=True)
class Euclidean(Difference, name="euclidean"):
    """Half the squared difference, sum over units; Caffe's EuclideanLoss."""

    def differences(self, z: Value, labels: Value) -> Value:
        return ops.mul(ops.square(ops.sub(z, labels)), 0.5)


@dataclass(frozen=True, kw_only=True)
class Mape(Difference, name="mape"):
    """100 |y - z| / |y| in percent, mean over units.

    |y| is at least 1e-7, as in Keras's MeanAbsolutePercentageError. DL4J divides by 0.
    """

    averaged: ClassVar = True

    def differences(self, z: Value, labels: Value) -> Value:
        size = ops.maximum(ops.abs(labels), KERAS_EPSILON)
        return ops.mul(ops.div(ops.abs(ops.sub(z, labels)), size), 100.0)


@dataclass(frozen=True, kw_only=True)
class Msle(Difference, name="msle"):
    """(log(1 + z) - log(1 + y))^2, mean over units, for labels of 0 and above.

    Numbers below 1e-7 count as 1e-7, as in Keras's MeanSquaredLogarithmicError, so a unit below
    that has no gradient. DL4J lets them through, and the logarithm of a negative number with them.
    """

    averaged: ClassVar = True

    def differences(self, z: Value, labels: Value) -> Value:
        return ops.square(ops.sub(log_of_one_and(z), log_of_one_and(labels)))


def log_of_one_and(x: Value) -> Value:
    return ops.log(ops.add(ops.maximum(x, KERAS_EPSILON), 1.0))


@dataclass(frozen=True, kw_only=True)
class Huber(Difference, name="huber"):
    """d^2 / 2 up to |d| = delta, then delta (|d| - delta / 2), with d = z - y; mean over units.

    The numbers of Keras's Huber and PyTorch's HuberLoss.

    References
    ----------
    Huber, Robust estimation of a location parameter (1964), section 1.
    """

    averaged: ClassVar = True

    delta: float = option(
        Number(above=0), "Difference from which on the loss grows in a straight line.", default=1.0
    )

    def differences(self, z: Value, labels: Value) -> Value:
        size = ops.abs(ops.sub(z, labels))
        near = ops.minimum(size, self.delta)
        far = ops.sub(size, near)
        return ops.add(ops.mul(ops.square(near), 0.5), ops.mul(far, self.delta))


@dataclass(frozen=True, kw_only=True)
class LogCosh(Difference, name="log_cosh"):
    """log cosh(z - y), mean over units: d^2 / 2 for small differences d, |d| - log 2 for large.

    The numbers of Keras's LogCosh.
    """

    averaged: ClassVar = True

    def differences(self, z: Value, labels: Value) -> Value:
        size = ops.abs(ops.sub(z, labels))
        return ops.sub(ops.add(size, ops.softplus(ops.mul(size, -2.0))), log(2))
