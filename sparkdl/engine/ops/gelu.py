"""The Gaussian error linear unit, costly enough for kernels of its own, forward and backward."""

from math import pi

from sparkdl.config import dataclass
from sparkdl.engine.ops.activation import erf, tanh
from sparkdl.engine.ops.base import Op, register
from sparkdl.engine.ops.elementwise import add, exp, mul, square, sub

CUBIC, STEEPNESS = 0.044715, (2 / pi) ** 0.5


@register
@dataclass(frozen=True)
class GeluOp(Op):
    """x times the normal distribution function of x; with tanh if `approximate`.

    References
    ----------
    Hendrycks and Gimpel, Gaussian error linear units (2016), section 2.
    """

    floating = True
    approximate: bool = False

    def shape(self, x):
        return x

    def decompose(self, x):
        return mul(x, share(x, self.approximate))

    def gradient(self, gy, x, y):
        return (GeluGradOp(self.approximate)(gy, x),)


@register
@dataclass(frozen=True)
class GeluGradOp(Op):
    """gy times the derivative of gelu at x."""

    floating = True
    approximate: bool = False

    def shape(self, gy, x):
        return self.same(gy, x)

    def decompose(self, gy, x):
        return mul(gy, add(share(x, self.approximate), mul(x, slope(x, self.approximate))))


def share(x, approximate):
    """Returns the fraction of x that gelu lets through, in (0, 1)."""
    return mul(add(tanh(inner(x)) if approximate else erf(mul(x, 0.5**0.5)), 1.0), 0.5)


def slope(x, approximate):
    """Returns the derivative of `share`."""
    if not approximate:
        return mul(exp(mul(square(x), -0.5)), (2 * pi) ** -0.5)
    steepness = mul(add(mul(square(x), 3 * CUBIC), 1.0), STEEPNESS)
    return mul(mul(sub(1.0, square(tanh(inner(x)))), steepness), 0.5)


def inner(x):
    return mul(mul(x, add(mul(square(x), CUBIC), 1.0)), STEEPNESS)


def gelu(x, approximate=False):
    """x times the normal distribution function of x; with tanh if `approximate`."""
    return GeluOp(bool(approximate))(x)
