"""Convolution over one to three spatial axes, and its two transposes, which are its gradients.

Axes: N examples, C and O channels, G groups, K positions of a window in C/G channels, P windows.
"""

from math import prod

import numpy as np

from sparkdl.config import dataclass
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.base import common_type, register
from sparkdl.engine.ops.spatial.window import WindowOp, numbers, sides
from sparkdl.errors import ShapeError


@dataclass(frozen=True)
class ConvolutionOp(WindowOp):
    """Attributes and views common to the three operations."""

    groups: int = 1

    def columns(self, x, out):
        """Returns the numbers under each window, (N, G, K, P)."""
        padded, n, groups = self.pad(x), len(x), self.groups
        cols = np.stack([padded[at] for at in self.offsets(out)], axis=2)
        return cols.reshape(n, groups, x.shape[1] // groups * prod(self.size), prod(out))

    def group_weights(self, w):
        """Returns the weights per group, (G, O/G, K)."""
        return w.reshape(self.groups, w.shape[0] // self.groups, -1)

    def maps(self, y):
        """Returns the outputs per group, (N, G, O/G, P)."""
        return y.reshape(len(y), self.groups, y.shape[1] // self.groups, prod(y.shape[2:]))

    def options(self):
        return self.size, self.stride, self.padding, self.dilation, self.groups

    def products(self, y, w):
        """Returns the flops of the convolution that gives y; each gradient takes as many."""
        return 2 * y.size * (w.size // w.shape[0])


@register
@dataclass(frozen=True)
class ConvOp(ConvolutionOp):
    """Cross-correlation of x (N, C, ...) with w (O, C/G, *size): y (N, O, ...).

    References
    ----------
    Chellapilla, Puri, Simard, High performance convolutional neural networks (2006): the
    reference gathers windows into columns and computes one matrix product per example.
    """

    def shape(self, x, w):
        space, groups = self.space(x), self.groups
        if w.shape[1] * groups != x.shape[1] or tuple(w.shape[2:]) != self.size:
            raise ShapeError(f"conv of {x.shape} in {groups} groups does not fit w {w.shape}")
        if not w.shape[0] or not w.shape[1]:
            raise ShapeError(f"conv needs channels and filters, got {x.shape} and {w.shape}")
        if w.shape[0] % groups:
            raise ShapeError(f"conv needs filters in {groups} equal groups, got {w.shape[0]}")
        return Spec((x.shape[0], w.shape[0], *self.out(space)), common_type(x, w))

    def flops(self, x, w):
        return self.products(self.shape(x, w), w)

    def reference(self, x, w):
        out = self.out(x.shape[2:])
        y = np.matmul(self.group_weights(w), self.columns(x, out))
        return y.reshape(len(x), w.shape[0], *out)

    def gradient(self, gy, x, w, y):
        gx = ConvGradInputOp(*self.options(), image=tuple(x.shape[2:]))(gy, w)
        return gx, ConvGradWeightOp(*self.options())(gy, x)


@register
@dataclass(frozen=True)
class ConvGradInputOp(ConvolutionOp):
    """The gradient of ConvOp for its input: transposed convolution to a space of `image`."""

    image: tuple[int, ...] = ()

    def shape(self, gy, w):
        if self.space(gy) != self.out(self.image) or gy.shape[1] != w.shape[0]:
            raise ShapeError(f"conv_transpose of {gy.shape} by {w.shape} gives no {self.image}")
        return Spec((gy.shape[0], w.shape[1] * self.groups, *self.image), common_type(gy, w))

    def flops(self, gy, w):
        return self.products(gy, w)

    def reference(self, gy, w):
        n, out, channels = len(gy), gy.shape[2:], w.shape[1] * self.groups
        wide = [size + sum(p) for size, p in zip(self.image, self.padding, strict=True)]
        gx = np.zeros((n, channels, *wide), gy.dtype)
        cols = np.matmul(self.group_weights(w).transpose(0, 2, 1), self.maps(gy))
        cols = cols.reshape(n, channels, prod(self.size), *out)
        for i, at in enumerate(self.offsets(out)):
            gx[at] += cols[:, :, i]
        return self.cut(gx)

    def gradient(self, gz, gy, w, z):
        forward = ConvOp(*self.options())
        return forward(gz, w), ConvGradWeightOp(*self.options())(gy, gz)


@register
@dataclass(frozen=True)
class ConvGradWeightOp(ConvolutionOp):
    """The gradient of ConvOp for its weights."""

    def shape(self, gy, x):
        return Spec((gy.shape[1], x.shape[1] // self.groups, *self.size), x.dtype)

    def flops(self, gy, x):
        return self.products(gy, self.shape(gy, x))

    def reference(self, gy, x):
        cols = self.columns(x, gy.shape[2:])
        gw = np.matmul(self.maps(gy), cols.swapaxes(2, 3)).sum(axis=0)
        return gw.reshape(gy.shape[1], x.shape[1] // self.groups, *self.size)

    def gradient(self, gz, gy, x, z):
        back = ConvGradInputOp(*self.options(), image=tuple(x.shape[2:]))
        return ConvOp(*self.options())(x, gz), back(gy, gz)


def conv(x, w, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation of x (N, C, ...) with filters w (O, C/groups, *size).

    stride and dilation are one number, or one per spatial axis; padding is that, or ((before,
    after), ...).
    """
    size, *options = windows_of(w, stride, padding, dilation)
    return ConvOp(size, *options, int(groups))(x, w)


def conv_transpose(x, w, space, stride=1, padding=0, dilation=1, groups=1):
    """Transposes a convolution with w (C, O/groups, *size): x (N, C, ...) to (N, O, *space).

    `space` must be one that the convolution with these options maps to the space of x; with a
    stride above 1 there are several.
    """
    size, *options = windows_of(w, stride, padding, dilation)
    return ConvGradInputOp(size, *options, int(groups), image=numbers(space, len(size)))(x, w)


def windows_of(w, stride, padding, dilation):
    """Returns (size, stride, padding, dilation) with an entry per spatial axis."""
    axes = len(w.shape) - 2
    if axes not in (1, 2, 3):
        raise ShapeError(f"conv needs filters (O, C/groups, 1 to 3 sizes), got {tuple(w.shape)}")
    size, every = tuple(w.shape[2:]), (numbers(stride, axes), sides(padding, axes))
    return size, *every, numbers(dilation, axes)
