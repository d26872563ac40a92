"""Pooling over one to three spatial axes: the maximum, mean or norm of each window."""

from math import prod

import numpy as np

from sparkdl.config import dataclass
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.base import register
from sparkdl.engine.ops.elementwise import abs, greater, maximum, mul, power, where
from sparkdl.engine.ops.spatial.window import WindowOp, all_see_something, numbers, sides
from sparkdl.errors import ShapeError

TINY = float(np.finfo(np.float32).tiny)  # a smaller sum counts as 0, where its root has no gradient


@dataclass(frozen=True)
class PoolOp(WindowOp):
    """Attributes common to all pooling operations; padding never wins a maximum."""

    def shape(self, x):
        space = self.space(x)
        out = self.out(space)
        axes = zip(space, self.size, self.stride, self.padding, self.dilation, strict=True)
        for n, size, stride, padding, dilation in axes:
            if not all_see_something(n, size, stride, padding, dilation):
                raise ShapeError(f"padding {self.padding} holds a whole window of {self.size}")
        return Spec((*x.shape[:2], *out), x.dtype)

    def options(self):
        return self.size, self.stride, self.padding, self.dilation

    def winners(self, x, y):
        """Yields for each window position: its slices, and the windows whose maximum is there."""
        padded, open_ = self.pad(x, -np.inf), np.ones(y.shape, bool)
        for at in self.offsets(y.shape[2:]):
            wins = (padded[at] == y) & open_
            open_ &= ~wins
            yield at, wins


@register
@dataclass(frozen=True)
class MaxPoolOp(PoolOp):
    """The maximum of each window; among equal ones, the first gets the gradient."""

    def reference(self, x):
        padded, out = self.pad(x, -np.inf), self.out(x.shape[2:])
        first, *rest = self.offsets(out)
        y = padded[first].copy()
        for at in rest:
            np.maximum(y, padded[at], out=y)
        return y

    def gradient(self, gy, x, y):
        return (MaxPoolGradOp(*self.options())(gy, x, y),)


@register
@dataclass(frozen=True)
class MaxPoolGradOp(PoolOp):
    """Routes the gy of each window to the position of its maximum; 0 elsewhere."""

    def shape(self, gy, x, y):
        return x

    def reference(self, gy, x, y):
        gx = np.zeros_like(self.pad(x))
        for at, wins in self.winners(x, y):
            gx[at] += gy * wins
        return self.cut(gx)

    def gradient(self, gz, gy, x, y, z):
        return MaxPoolPickOp(*self.options())(gz, x, y), None, None


@register
@dataclass(frozen=True)
class MaxPoolPickOp(PoolOp):
    """The numbers of g, shaped like x, at the maximum of each window of x."""

    def shape(self, g, x, y):
        return y

    def reference(self, g, x, y):
        padded, picked = self.pad(g), np.zeros_like(y)
        for at, wins in self.winners(x, y):
            picked += padded[at] * wins
        return picked

    def gradient(self, gz, g, x, y, z):
        return MaxPoolGradOp(*self.options())(gz, x, y), None, None


@dataclass(frozen=True)
class AverageOp(PoolOp):
    """The mean over the window, or over its part inside the space."""

    count_padding: bool = False

    def counts(self, space, out, dtype):
        """Returns the divisor of each window."""
        if self.count_padding:
            return np.full((1, 1, *out), prod(self.size), dtype)
        inside = self.pad(np.ones((1, 1, *space), dtype))
        return sum(inside[at] for at in self.offsets(out))


@register
@dataclass(frozen=True)
class AvgPoolOp(AverageOp):
    """The mean of each window."""

    def reference(self, x):
        padded, out = self.pad(x), self.out(x.shape[2:])
        total = sum(padded[at] for at in self.offsets(out))
        return total / self.counts(x.shape[2:], out, x.dtype)

    def gradient(self, gy, x, y):
        back = AvgPoolGradOp(*self.options(), self.count_padding, image=tuple(x.shape[2:]))
        return (back(gy),)


@register
@dataclass(frozen=True)
class AvgPoolGradOp(AverageOp):
    """Spreads the gy of each window evenly over it."""

    image: tuple[int, ...] = ()

    def shape(self, gy):
        return Spec((*gy.shape[:2], *self.image), gy.dtype)

    def reference(self, gy):
        out = gy.shape[2:]
        share = gy / self.counts(self.image, out, gy.dtype)
        gx = self.pad(np.zeros((*gy.shape[:2], *self.image), gy.dtype))
        for at in self.offsets(out):
            gx[at] += share
        return self.cut(gx)

    def gradient(self, gz, gy, z):
        return (AvgPoolOp(*self.options(), self.count_padding)(gz),)


def max_pool(x, size, stride=None, padding=0, dilation=1):
    """Returns the maximum of each window; stride defaults to the size."""
    return MaxPoolOp(*windows_of(x, size, stride, padding, dilation))(x)


def pick_largest(g, x, size, stride=None, padding=0, dilation=1):
    """Returns the numbers of g, shaped like x, at the first maximum of each window of x."""
    options = windows_of(x, size, stride, padding, dilation)
    return MaxPoolPickOp(*options)(g, x, MaxPoolOp(*options)(x))


def avg_pool(x, size, stride=None, padding=0, count_padding=False, dilation=1):
    """Returns the mean of each window, over its part inside the space unless `count_padding`."""
    return AvgPoolOp(*windows_of(x, size, stride, padding, dilation), bool(count_padding))(x)


def lp_pool(x, size, stride=None, padding=0, p=2.0, dilation=1):
    """(sum of |x|^p)^(1/p) over each window. Where the sum is 0, so is the gradient."""
    options = windows_of(x, size, stride, padding, dilation)
    total = mul(AvgPoolOp(*options, True)(power(abs(x), p)), float(prod(options[0])))
    return norm_of(total, p)


def norm_of(total, p):
    """Returns the p-th root of a sum of powers; where the sum is 0, 0 with a gradient of 0."""
    root = power(maximum(total, TINY), 1 / p)
    return where(greater(total, TINY), root, 0.0)


def windows_of(x, size, stride, padding, dilation):
    """Returns (size, stride, padding, dilation) with an entry per spatial axis."""
    axes = len(x.shape) - 2
    if axes not in (1, 2, 3):
        raise ShapeError(f"pooling takes (N, C, 1 to 3 axes of space), got {tuple(x.shape)}")
    size = numbers(size, axes)
    stride = size if stride is None else numbers(stride, axes)
    return size, stride, sides(padding, axes), numbers(dilation, axes)
