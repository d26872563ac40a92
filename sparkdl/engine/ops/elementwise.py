"""Arithmetic on one, two or three arrays, element by element, with numpy's broadcasting."""

from typing import ClassVar

import numpy as np

from sparkdl.config import dataclass
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.base import Op, common_type, register
from sparkdl.engine.ops.shape import sum_to
from sparkdl.errors import ShapeError


@dataclass(frozen=True)
class ElementwiseOp(Op):
    """An operation that maps one number per input to one number, so a chain of them is one loop.

    `ufunc`, if set, computes the same as `reference` and accepts a destination.
    """

    in_place: ClassVar = True
    ufunc: ClassVar = None

    def shape(self, *specs):
        try:
            shape = np.broadcast_shapes(*(s.shape for s in specs))
        except ValueError:
            shapes = " and ".join(str(s.shape) for s in specs)
            raise ShapeError(f"{self.kind} cannot broadcast {shapes}") from None
        return Spec(shape, common_type(*specs))

    def reference(self, *arrays):
        return self.ufunc(*arrays)


@register
class AddOp(ElementwiseOp):
    """x + y"""

    ufunc = np.add

    def gradient(self, gz, x, y, z):
        return sum_to(gz, x.shape), sum_to(gz, y.shape)


@register
class SubOp(ElementwiseOp):
    """x - y"""

    ufunc = np.subtract

    def gradient(self, gz, x, y, z):
        return sum_to(gz, x.shape), sum_to(neg(gz), y.shape)


@register
class MulOp(ElementwiseOp):
    """x y"""

    ufunc = np.multiply

    def gradient(self, gz, x, y, z):
        return sum_to(mul(gz, y), x.shape), sum_to(mul(gz, x), y.shape)


@register
class DivOp(ElementwiseOp):
    """x / y"""

    floating = True
    ufunc = np.divide

    def gradient(self, gz, x, y, z):
        gx = div(gz, y)
        return sum_to(gx, x.shape), sum_to(neg(mul(gx, z)), y.shape)


@register
class MaximumOp(ElementwiseOp):
    """The larger of x and y; where they are equal the gradient goes to x."""

    ufunc = np.maximum

    def gradient(self, gz, x, y, z):
        return pick(gz, greater(y, x), x, y)


@register
class MinimumOp(ElementwiseOp):
    """The smaller of x and y; where they are equal the gradient goes to x."""

    ufunc = np.minimum

    def gradient(self, gz, x, y, z):
        return pick(gz, greater(x, y), x, y)


@register
class GreaterOp(ElementwiseOp):
    """1 where x > y, else 0, in the common type of x and y."""

    def reference(self, x, y):
        return np.greater(x, y).astype(np.result_type(x, y))

    def gradient(self, gz, x, y, z):
        return None, None


@register
class WhereOp(ElementwiseOp):
    """x where c is not 0, else y."""

    def shape(self, c, x, y):
        return Spec(super().shape(c, x, y).shape, common_type(x, y))

    def reference(self, c, x, y):
        return np.where(c != 0, x, y)

    def gradient(self, gz, c, x, y, z):
        return None, *pick(gz, c, y, x)[::-1]


@register
@dataclass(frozen=True)
class PowerOp(ElementwiseOp):
    """x to a fixed exponent."""

    floating = True
    exponent: float

    def reference(self, x):
        return np.power(x, np.asarray(self.exponent, x.dtype))

    def gradient(self, gy, x, y):
        if self.exponent == 0:
            return (None,)
        return (mul(mul(gy, self.exponent), power(x, self.exponent - 1)),)


@register
class NegOp(ElementwiseOp):
    """-x"""

    ufunc = np.negative

    def gradient(self, gy, x, y):
        return (neg(gy),)


@register
class ExpOp(ElementwiseOp):
    """exp(x)"""

    floating = True
    ufunc = np.exp

    def gradient(self, gy, x, y):
        return (mul(gy, y),)


@register
class LogOp(ElementwiseOp):
    """The natural logarithm of x."""

    floating = True
    ufunc = np.log

    def gradient(self, gy, x, y):
        return (div(gy, x),)


@register
class SqrtOp(ElementwiseOp):
    """The square root of x."""

    floating = True
    ufunc = np.sqrt

    def gradient(self, gy, x, y):
        return (div(mul(gy, 0.5), y),)


@register
class SquareOp(ElementwiseOp):
    """x x"""

    ufunc = np.square

    def gradient(self, gy, x, y):
        return (mul(gy, mul(x, 2)),)


@register
class AbsOp(ElementwiseOp):
    """|x|; the gradient at 0 is 0."""

    ufunc = np.abs

    def gradient(self, gy, x, y):
        return (mul(gy, sign(x)),)


@register
class SignOp(ElementwiseOp):
    """-1, 0 or 1"""

    ufunc = np.sign

    def gradient(self, gy, x, y):
        return (None,)


def pick(gz, other, x, y):
    """Splits gz: to x where `other` is 0, to y elsewhere."""
    zero = np.zeros((), gz.dtype)  # not gz times 0, which is NaN if gz is infinite
    return sum_to(where(other, zero, gz), x.shape), sum_to(where(other, gz, zero), y.shape)


add, sub, mul, div = AddOp(), SubOp(), MulOp(), DivOp()
maximum, minimum, greater, where = MaximumOp(), MinimumOp(), GreaterOp(), WhereOp()
neg, exp, log, sqrt, square, abs, sign = (
    NegOp(),
    ExpOp(),
    LogOp(),
    SqrtOp(),
    SquareOp(),
    AbsOp(),
    SignOp(),
)


def power(x, exponent):
    """x to a fixed exponent, a Python number."""
    return PowerOp(float(exponent))(x)
