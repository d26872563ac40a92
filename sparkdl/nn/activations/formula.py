"""Plain functions: x itself, powers, exponentials and logarithms."""

from dataclasses import dataclass
from math import log

from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.activations.base import ActivationFunction
from sparkdl.nn.checks import is_number, is_positive


@dataclass(frozen=True, kw_only=True)
class Cube(ActivationFunction, name="cube"):
    """x cubed."""

    def apply(self, x):
        return ops.mul(ops.square(x), x)


@dataclass(frozen=True, kw_only=True)
class Identity(ActivationFunction, name="identity"):
    """x itself."""

    def apply(self, x):
        return x


@dataclass(frozen=True, kw_only=True)
class OfLine(ActivationFunction, abstract=True):
    """A function of shift + scale x."""

    scale: float = 1.0
    shift: float = 0.0

    def __post_init__(self):
        super().__post_init__()
        require(self, "scale", is_number(self.scale), "a finite number")
        require(self, "shift", is_number(self.shift), "a finite number")

    def line(self, x):
        return ops.add(ops.mul(x, self.scale), self.shift)


@dataclass(frozen=True, kw_only=True)
class Power(OfLine, name="power"):
    """(shift + scale x)^power; Caffe layer Power. NaN below 0 unless `power` is a whole number."""

    power: float = 1.0

    def __post_init__(self):
        super().__post_init__()
        require(self, "power", is_number(self.power), "a finite number")

    def apply(self, x):
        return ops.power(self.line(x), self.power)


@dataclass(frozen=True, kw_only=True)
class Exp(OfLine, name="exp"):
    """base^(shift + scale x); Caffe layer Exp, whose base -1 is None here: e."""

    base: float | None = None

    def __post_init__(self):
        super().__post_init__()
        require_base(self)

    def apply(self, x):
        line = self.line(x)
        return ops.exp(line if self.base is None else ops.mul(line, log(self.base)))


@dataclass(frozen=True, kw_only=True)
class Log(OfLine, name="log"):
    """log of shift + scale x to `base`; Caffe layer Log, whose base -1 is None here: e.

    NaN where shift + scale x is below 0, and -infinity at 0.
    """

    base: float | None = None

    def __post_init__(self):
        super().__post_init__()
        require_base(self)

    def apply(self, x):
        y = ops.log(self.line(x))
        return y if self.base is None else ops.div(y, log(self.base))


def require_base(function):
    fits = function.base is None or (is_positive(function.base) and function.base != 1)
    require(function, "base", fits, "a number above 0 but 1, or None for e")
