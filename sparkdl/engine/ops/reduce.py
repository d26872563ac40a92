"""Sums, means and maxima along axes."""

from math import prod

import numpy as np

from sparkdl.config import dataclass
from sparkdl.engine.dtypes import sum_dtype
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.base import Op, register
from sparkdl.engine.ops.elementwise import div, mul
from sparkdl.engine.ops.shape import axis_of, broadcast_to, reshape
from sparkdl.errors import ShapeError


@dataclass(frozen=True)
class ReductionOp(Op):
    """One number per slice along `axes` (sorted, not negative)."""

    axes: tuple[int, ...]
    keepdims: bool

    def shape(self, x):
        return Spec(reduced_shape(x.shape, self.axes, self.keepdims), x.dtype)

    def wide(self, y, x):
        """Broadcasts one value per slice back to the shape of x."""
        return broadcast_to(reshape(y, reduced_shape(x.shape, self.axes, True)), x.shape)


@register
@dataclass(frozen=True)
class SumOp(ReductionOp):
    """The sum along axes; integers are summed in 64 bits, as in numpy, narrow floats in float32."""

    def shape(self, x):
        return Spec(super().shape(x).shape, sum_dtype(x.dtype))

    def reference(self, x):
        return np.sum(x, axis=self.axes, keepdims=self.keepdims)

    def into(self, y, x):
        np.sum(x, axis=self.axes, keepdims=self.keepdims, out=y)

    def gradient(self, gy, x, y):
        return (self.wide(gy, x),)


@register
@dataclass(frozen=True)
class MaxOp(ReductionOp):
    """The maximum along axes; equal maxima share the gradient."""

    def shape(self, x):
        if 0 in (x.shape[a] for a in self.axes):
            raise ShapeError(f"max of {x.shape} along {self.axes} has no numbers to look at")
        return super().shape(x)

    def reference(self, x):
        return np.max(x, axis=self.axes, keepdims=self.keepdims)

    def into(self, y, x):
        np.max(x, axis=self.axes, keepdims=self.keepdims, out=y)

    def gradient(self, gy, x, y):
        at = equal(x, self.wide(y, x))
        count = self.wide(sum(at, self.axes), x)
        return (mul(self.wide(gy, x), div(at, count)),)


@register
@dataclass(frozen=True)
class EqualOp(Op):
    """1 where x equals y, else 0, in the type of x."""

    def shape(self, x, y):
        return self.same(x, y)

    def reference(self, x, y):
        return np.equal(x, y).astype(x.dtype)

    def gradient(self, gz, x, y, z):
        return None, None


equal = EqualOp()


def reduced_shape(shape, axes, keepdims):
    if keepdims:
        return tuple(1 if i in axes else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def all_axes(x, axes):
    axes = range(len(x.shape)) if axes is None else (axes,) if isinstance(axes, int) else axes
    return tuple(sorted({axis_of(x, a) for a in axes}))


def sum(x, axes=None, keepdims=False):
    """Returns the sum of x along `axes`, by default all."""
    return SumOp(all_axes(x, axes), keepdims)(x)


def mean(x, axes=None, keepdims=False):
    """Returns the mean of x along `axes`, by default all."""
    count = prod(x.shape[a] for a in all_axes(x, axes))
    if count == 0:
        raise ShapeError(f"mean of {x.shape} along {axes} has no numbers to look at")
    return mul(sum(x, axes, keepdims), 1.0 / count)


def max(x, axes=None, keepdims=False):
    """Returns the maximum of x along `axes`, by default all."""
    return MaxOp(all_axes(x, axes), keepdims)(x)
