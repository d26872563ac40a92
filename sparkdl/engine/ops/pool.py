"""Pooling of images (N, C, H, W): the largest or the mean of each window."""

from dataclasses import dataclass

import numpy as np

from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.base import register
from sparkdl.engine.ops.window import Window, pair, pairs
from sparkdl.errors import ShapeError


@dataclass(frozen=True)
class Pool(Window):
    """Attributes common to all; padding never wins a maximum."""

    def shape(self, x):
        out = self.out(x)
        last = [(n - 1) * s for n, s in zip(out, self.stride, strict=True)]
        axes = zip(x.shape[2:], self.size, self.padding, last, strict=True)
        if any(k <= before or at >= before + n for n, k, (before, _), at in axes):
            raise ShapeError(f"padding {self.padding} holds a whole window of {self.size}")
        return Spec((*x.shape[:2], *out), x.dtype)

    def options(self):
        return self.size, self.stride, self.padding, self.dilation

    def winners(self, x, y):
        """For each place in a window: where it is, and whose first maximum lies there."""
        padded, open_ = self.padded(x, -np.inf), np.ones(y.shape, bool)
        for at in self.offsets(y.shape[2:]):
            here = (padded[at] == y) & open_
            open_ &= ~here
            yield at, here


@register
@dataclass(frozen=True)
class MaxPool2d(Pool):
    """The largest number of each window; of equal ones the first gets the gradient."""

    def reference(self, x):
        padded, out = self.padded(x, -np.inf), self.out(x)
        first, *rest = self.offsets(out)
        y = padded[first].copy()
        for at in rest:
            np.maximum(y, padded[at], out=y)
        return y

    def gradient(self, gy, x, y):
        return (MaxPool2dGrad(*self.options())(gy, x, y),)


@register
@dataclass(frozen=True)
class MaxPool2dGrad(Pool):
    """gy of each window at the place of its maximum, 0 elsewhere."""

    def shape(self, gy, x, y):
        return x

    def reference(self, gy, x, y):
        gx = np.zeros_like(self.padded(x))
        for at, here in self.winners(x, y):
            gx[at] += gy * here
        return self.cut(gx)

    def gradient(self, gz, gy, x, y, z):
        return MaxPool2dPick(*self.options())(gz, x, y), None, None


@register
@dataclass(frozen=True)
class MaxPool2dPick(Pool):
    """Of g, shaped as x, what lies where each window of x has its maximum."""

    def shape(self, g, x, y):
        return y

    def reference(self, g, x, y):
        padded, picked = self.padded(g), np.zeros_like(y)
        for at, here in self.winners(x, y):
            picked += padded[at] * here
        return picked

    def gradient(self, gz, g, x, y, z):
        return MaxPool2dGrad(*self.options())(gz, x, y), None, None


@dataclass(frozen=True)
class Average(Pool):
    """A mean over the window, or over its part inside the image."""

    count_padding: bool = False

    def counts(self, image, out, dtype):
        """By how much each window divides."""
        if self.count_padding:
            return np.full((1, 1, *out), self.size[0] * self.size[1], dtype)
        inside = self.padded(np.ones((1, 1, *image), dtype))
        return sum(inside[at] for at in self.offsets(out))


@register
@dataclass(frozen=True)
class AvgPool2d(Average):
    """The mean of each window."""

    def reference(self, x):
        padded, out = self.padded(x), self.out(x)
        total = sum(padded[at] for at in self.offsets(out))
        return total / self.counts(x.shape[2:], out, x.dtype)

    def gradient(self, gy, x, y):
        back = AvgPool2dGrad(*self.options(), self.count_padding, image=tuple(x.shape[2:]))
        return (back(gy),)


@register
@dataclass(frozen=True)
class AvgPool2dGrad(Average):
    """gy of each window spread evenly over it."""

    image: tuple[int, int] = (0, 0)

    def shape(self, gy):
        return Spec((*gy.shape[:2], *self.image), gy.dtype)

    def reference(self, gy):
        out = gy.shape[2:]
        share = gy / self.counts(self.image, out, gy.dtype)
        gx = self.padded(np.zeros((*gy.shape[:2], *self.image), gy.dtype))
        for at in self.offsets(out):
            gx[at] += share
        return self.cut(gx)

    def gradient(self, gz, gy, z):
        return (AvgPool2d(*self.options(), self.count_padding)(gz),)


def max_pool2d(x, size, stride=None, padding=0):
    """The largest of each window; stride is the size unless given."""
    size = pair(size)
    return MaxPool2d(size, size if stride is None else pair(stride), pairs(padding))(x)


def avg_pool2d(x, size, stride=None, padding=0, count_padding=False):
    """The mean of each window, of its part inside the image unless `count_padding`."""
    size = pair(size)
    stride = size if stride is None else pair(stride)
    return AvgPool2d(size, stride, pairs(padding), (1, 1), bool(count_padding))(x)
