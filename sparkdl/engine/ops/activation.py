"""Activation functions with kernels of their own; sparkdl.nn composes all others."""

from math import pi

import numpy as np

from sparkdl.config import dataclass
from sparkdl.engine.ops.base import register
from sparkdl.engine.ops.elementwise import ElementwiseOp, exp, greater, mul, neg, square, sub, where


@register
class ReluOp(ElementwiseOp):
    """max(x, 0)"""

    def reference(self, x):
        return np.maximum(x, 0)

    def gradient(self, gy, x, y):
        return (relu_grad(gy, y),)


@register
class ReluGradOp(ElementwiseOp):
    """gy where y > 0, else 0."""

    def shape(self, gy, y):
        self.same(gy, y)
        return gy

    def reference(self, gy, y):
        return np.where(y > 0, gy, 0)

    def gradient(self, gz, gy, y, z):
        return relu_grad(gz, y), None


@register
@dataclass(frozen=True)
class LeakyReluOp(ElementwiseOp):
    """x where x > 0, else alpha x."""

    floating = True
    alpha: float = 0.01

    def reference(self, x):
        return np.where(x > 0, x, x * np.asarray(self.alpha, x.dtype))

    def gradient(self, gy, x, y):
        return (where(greater(of_one_sign(x, y, self.alpha), 0.0), gy, mul(gy, self.alpha)),)


@register
@dataclass(frozen=True)
class EluOp(ElementwiseOp):
    """x where x > 0, else alpha (exp(x) - 1); Clevert, Unterthiner, Hochreiter (2015)."""

    floating = True
    alpha: float = 1.0

    def reference(self, x):
        return np.where(x > 0, x, np.asarray(self.alpha, x.dtype) * np.expm1(np.minimum(x, 0)))

    def gradient(self, gy, x, y):
        rising = greater(of_one_sign(x, y, self.alpha), 0.0)
        return (where(rising, gy, mul(gy, y + self.alpha)),)


def of_one_sign(x, y, alpha):
    """Returns the array whose sign is that of x: y if possible, so that y may overwrite x."""
    return y if alpha >= 0 else x


@register
class TanhOp(ElementwiseOp):
    """The hyperbolic tangent."""

    floating = True
    ufunc = np.tanh

    def gradient(self, gy, x, y):
        return (mul(gy, sub(1.0, square(y))),)


@register
class SigmoidOp(ElementwiseOp):
    """1 / (1 + exp(-x)), to full relative precision even where it is tiny."""

    floating = True

    def reference(self, x):
        limit = np.floor(np.log(np.finfo(x.dtype).max))  # exp(-x) would overflow beyond it
        return 1 / (1 + np.exp(np.minimum(-x, limit)))

    def gradient(self, gy, x, y):
        return (mul(gy, mul(y, sub(1.0, y))),)


@register
class SoftplusOp(ElementwiseOp):
    """log(1 + exp(x))"""

    floating = True

    def reference(self, x):
        return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))

    def gradient(self, gy, x, y):
        return (mul(gy, sigmoid(x)),)


@register
class ErfOp(ElementwiseOp):
    """The error function, to 1e-7 in float32 and 1e-15 in float64.

    References
    ----------
    Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.5 (series) and 7.1.14 (continued
    fraction).
    """

    floating = True

    def reference(self, x):
        wide = np.abs(x.astype(np.float64))
        return (np.sign(x) * np.where(wide < 2.5, erf_series(wide), erf_tail(wide))).astype(x.dtype)

    def gradient(self, gy, x, y):
        return (mul(gy, mul(exp(neg(square(x))), 2 / pi**0.5)),)


def erf_series(x):
    """2/sqrt(pi) times the sum of (-1)^n x^(2n+1) / (n! (2n+1)), for x below 2.5."""
    x = np.minimum(x, 2.5)
    term, total = x.copy(), x.copy()
    for n in range(1, 60):
        term = term * (-x * x / n)
        total += term / (2 * n + 1)
    return total * (2 / pi**0.5)


def erf_tail(x):
    """1 - erfc(x) with the continued fraction of erfc, for x from 2.5 on."""
    x = np.maximum(x, 2.5)
    fraction = x.copy()
    for n in range(60, 0, -1):
        fraction = x + (n / 2) / fraction
    return 1 - np.exp(-(np.minimum(x, 30.0) ** 2)) / (fraction * pi**0.5)


relu, relu_grad, tanh, sigmoid = ReluOp(), ReluGradOp(), TanhOp(), SigmoidOp()
softplus, erf = SoftplusOp(), ErfOp()


def leaky_relu(x, alpha=0.01):
    """x where x > 0, else alpha x."""
    return LeakyReluOp(float(alpha))(x)


def elu(x, alpha=1.0):
    """x where x > 0, else alpha (exp(x) - 1)."""
    return EluOp(float(alpha))(x)
