"""Losses of the difference between z and the labels."""

from typing import ClassVar

from sparkdl.config import Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Value
from sparkdl.nn.losses.base import PerUnit

KERAS_EPSILON = 1e-7


@dataclass(frozen=True, kw_only=True)
class Mse(PerUnit, name="mse"):
    """The squared difference, mean over units (Caffe's EuclideanLoss is units / 2 times it)."""

    averaged: ClassVar = True

    def terms(self, z: Value, labels: Value) -> Value:
        return ops.square(ops.sub(z, labels))


@dataclass(frozen=True, kw_only=True)
class Mae(PerUnit, name="mae"):
    """The absolute difference, mean over units."""

    averaged: ClassVar = True

    def terms(self, z: Value, labels: Value) -> Value:
        return ops.abs(ops.sub(z, labels))


@dataclass(frozen=True, kw_only=True)
class L1(PerUnit, name="l1"):
    """The absolute difference, sum over units; DL4J's L1."""

    def terms(self, z: Value, labels: Value) -> Value:
        return ops.abs(ops.sub(z, labels))


@dataclass(frozen=True, kw_only=True)
class L2(PerUnit, name="l2"):
    """The squared difference, sum over units; DL4J's L2 (Caffe's EuclideanLoss is half of it)."""

    def terms(self, z: Value, labels: Value) -> Value:
        return ops.square(ops.sub(z, labels))


@dataclass(frozen=True, kw_only=True)
class Euclidean(PerUnit, name="euclidean"):
    """Half the squared difference, sum over units; Caffe's EuclideanLoss."""

    def terms(self, z: Value, labels: Value) -> Value:
        return ops.mul(ops.square(ops.sub(z, labels)), 0.5)


@dataclass(frozen=True, kw_only=True)
class Mape(PerUnit, name="mape"):
    """100 |y - z| / |y| in percent, mean over units.

    |y| is at least 1e-7, as in Keras's MeanAbsolutePercentageError. DL4J divides by 0.
    """

    averaged: ClassVar = True

    def terms(self, z: Value, labels: Value) -> Value:
        size = ops.maximum(ops.abs(labels), KERAS_EPSILON)
        return ops.mul(ops.div(ops.abs(ops.sub(z, labels)), size), 100.0)


@dataclass(frozen=True, kw_only=True)
class Msle(PerUnit, name="msle"):
    """(log(1 + z) - log(1 + y))^2, mean over units, for labels of 0 and above.

    Numbers below 1e-7 count as 1e-7, as in Keras's MeanSquaredLogarithmicError, so a unit below
    that has no gradient. DL4J lets them through, and the logarithm of a negative number with them.
    """

    averaged: ClassVar = True

    def terms(self, z: Value, labels: Value) -> Value:
        return ops.square(ops.sub(log_of_one_and(z), log_of_one_and(labels)))


def log_of_one_and(x: Value) -> Value:
    return ops.log(ops.add(ops.maximum(x, KERAS_EPSILON), 1.0))


@dataclass(frozen=True, kw_only=True)
class Huber(PerUnit, name="huber"):
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

    def terms(self, z: Value, labels: Value) -> Value:
        size = ops.abs(ops.sub(z, labels))
        near = ops.minimum(size, self.delta)
        far = ops.sub(size, near)
        return ops.add(ops.mul(ops.square(near), 0.5), ops.mul(far, self.delta))
