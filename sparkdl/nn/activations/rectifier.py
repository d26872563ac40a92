"""Piecewise linear and related activation functions."""

from sparkdl.config import Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.activations.base import ActivationFunction
from sparkdl.nn.hints import Value


@dataclass(frozen=True, kw_only=True)
class AbsVal(ActivationFunction, name="abs_val"):
    """|x|; Caffe layer AbsVal."""

    def apply(self, x: Value) -> Value:
        return ops.abs(x)


@dataclass(frozen=True, kw_only=True)
class Clip(ActivationFunction, name="clip"):
    """x, kept within `low` and `high`; Caffe layer Clip."""

    low: float = option(Number(), "Smallest output.")
    high: float = option(Number(), "Largest output, above `low`.")

    def validate(self) -> None:
        super().validate()
        require(self, "high", self.high > self.low, f"a number above low ({self.low})")

    def apply(self, x: Value) -> Value:
        return ops.minimum(ops.maximum(x, self.low), self.high)


@dataclass(frozen=True, kw_only=True)
class Elu(ActivationFunction, name="elu"):
    """x above 0, else alpha (e^x - 1); Clevert, Unterthiner and Hochreiter (2015), eq. 15."""

    alpha: float = option(Number(above=0), "Minus the limit far below 0.", default=1.0)

    def apply(self, x: Value) -> Value:
        return ops.elu(x, self.alpha)


@dataclass(frozen=True, kw_only=True)
class LeakyRelu(ActivationFunction, name="leaky_relu"):
    """x above 0, else alpha x; Maas, Hannun and Ng (2013), eq. 4."""

    alpha: float = option(Number(), "The slope below 0.", default=0.01)

    def apply(self, x: Value) -> Value:
        return ops.leaky_relu(x, self.alpha)


@dataclass(frozen=True, kw_only=True)
class Relu(ActivationFunction, name="relu"):
    """max(x, 0)."""

    def apply(self, x: Value) -> Value:
        return ops.relu(x)


@dataclass(frozen=True, kw_only=True)
class Relu6(ActivationFunction, name="relu6"):
    """x, kept within 0 and 6; Howard et al., MobileNets (2017)."""

    def apply(self, x: Value) -> Value:
        return ops.minimum(ops.relu(x), 6.0)


@dataclass(frozen=True, kw_only=True)
class Selu(ActivationFunction, name="selu"):
    """scale times elu(x, alpha), with the two constants that keep mean 0 and variance 1.

    References
    ----------
    Klambauer, Unterthiner, Mayr and Hochreiter, Self-normalizing neural networks (2017), eq. 14.
    """

    def apply(self, x: Value) -> Value:
        return ops.mul(ops.elu(x, 1.6732632423543772), 1.0507009873554805)


@dataclass(frozen=True, kw_only=True)
class ThresholdedRelu(ActivationFunction, name="thresholded_relu"):
    """x above `threshold`, else 0; Konda, Memisevic and Krueger (2014). DL4J THRESHOLDEDRELU."""

    threshold: float = option(Number(minimum=0), "Value above which x passes.", default=1.0)

    def apply(self, x: Value) -> Value:
        return ops.mul(x, ops.greater(x, self.threshold))


@dataclass(frozen=True, kw_only=True)
class Heaviside(ActivationFunction, name="heaviside"):
    """1 above `threshold`, else 0, with no gradient; Caffe layer Threshold."""

    threshold: float = option(Number(), "Value above which the output is 1.", default=0.0)

    def apply(self, x: Value) -> Value:
        return ops.greater(x, self.threshold)
