"""Closed-form activation functions: identity, powers, exponentials and logarithms."""

from math import log

from sparkdl.config import Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.activations.base import ActivationFunction
from sparkdl.nn.hints import Value


@dataclass(frozen=True, kw_only=True)
class Cube(ActivationFunction, name="cube"):
    """x cubed."""

    def apply(self, x: Value) -> Value:
        return ops.mul(ops.square(x), x)


@dataclass(frozen=True, kw_only=True)
class Identity(ActivationFunction, name="identity"):
    """x itself."""

    def apply(self, x: Value) -> Value:
        return x


@dataclass(frozen=True, kw_only=True)
class OfAffineInput(ActivationFunction, abstract=True):
    """A function of shift + scale x."""

    scale: float = option(Number(), "Factor of x.", default=1.0)
    shift: float = option(Number(), "Number added to scale x.", default=0.0)

    def line(self, x: Value) -> Value:
        scaled = x if self.scale == 1 else ops.mul(x, self.scale)
        return scaled if self.shift == 0 else ops.add(scaled, self.shift)  # keeps -0


@dataclass(frozen=True, kw_only=True)
class Power(OfAffineInput, name="power"):
    """(shift + scale x)^power; Caffe layer Power. NaN below 0 unless `power` is a whole number."""

    power: float = option(Number(), "The exponent.", default=1.0)

    def apply(self, x: Value) -> Value:
        return self.line(x) if self.power == 1 else ops.power(self.line(x), self.power)


@dataclass(frozen=True, kw_only=True)
class Exp(OfAffineInput, name="exp"):
    """base^(shift + scale x); Caffe layer Exp, whose base -1 is None here: e."""

    base: float | None = option(
        Number(above=0), "Base of the power, not 1; None for e.", default=None
    )

    def validate(self) -> None:
        super().validate()
        require_base(self)

    def apply(self, x: Value) -> Value:
        line = self.line(x)
        return ops.exp(line if self.base is None else ops.mul(line, log(self.base)))


@dataclass(frozen=True, kw_only=True)
class Log(OfAffineInput, name="log"):
    """log of shift + scale x to `base`; Caffe layer Log, whose base -1 is None here: e.

    NaN where shift + scale x is below 0, and -infinity at 0.
    """

    base: float | None = option(
        Number(above=0), "Base of the logarithm, not 1; None for e.", default=None
    )

    def validate(self) -> None:
        super().validate()
        require_base(self)

    def apply(self, x: Value) -> Value:
        y = ops.log(self.line(x))
        return y if self.base is None else ops.div(y, log(self.base))


def require_base(function: Exp | Log) -> None:
    require(function, "base", function.base != 1, "a number above 0 but 1, or None for e")
