"""Convolution of images, and its two transposes, which are its gradients.

Axes: N examples, C and O channels, G groups, K = C/G kh kw places of a window, P windows.
"""

from dataclasses import dataclass
from math import prod

import numpy as np

from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.base import common_type, register
from sparkdl.engine.ops.window import Window, pair, pairs
from sparkdl.errors import ShapeError


@dataclass(frozen=True)
class Convolution(Window):
    """Attributes and views common to the three."""

    groups: int = 1

    def columns(self, x, out):
        """(N, G, K, P): for each window the numbers it sees."""
        padded, n, groups = self.padded(x), len(x), self.groups
        cols = np.stack([padded[at] for at in self.offsets(out)], axis=2)
        return cols.reshape(n, groups, x.shape[1] // groups * prod(self.size), prod(out))

    def grouped(self, w):
        """(G, O/G, K)"""
        return w.reshape(self.groups, w.shape[0] // self.groups, -1)

    def maps(self, y):
        """(N, G, O/G, P)"""
        return y.reshape(len(y), self.groups, y.shape[1] // self.groups, prod(y.shape[2:]))

    def options(self):
        return self.size, self.stride, self.padding, self.dilation, self.groups


@register
@dataclass(frozen=True)
class Conv2d(Convolution):
    """Cross-correlation of x (N, C, H, W) with w (O, C/G, kh, kw): y (N, O, H', W').

    References
    ----------
    Chellapilla, Puri, Simard, High performance convolutional neural networks (2006): the
    reference gathers windows into columns and takes one matrix product for each example.
    """

    def shape(self, x, w):
        self.images(x)
        groups = self.groups
        if len(w.shape) != 4 or w.shape[1] * groups != x.shape[1] or w.shape[2:] != self.size:
            raise ShapeError(f"conv2d of {x.shape} in {groups} groups does not fit w {w.shape}")
        if w.shape[0] % groups:
            raise ShapeError(f"conv2d needs filters in {groups} equal groups, got {w.shape[0]}")
        return Spec((x.shape[0], w.shape[0], *self.out(x)), common_type(x, w))

    def reference(self, x, w):
        out = self.out(x)
        y = np.matmul(self.grouped(w), self.columns(x, out))
        return y.reshape(len(x), w.shape[0], *out)

    def gradient(self, gy, x, w, y):
        gx = Conv2dGradInput(*self.options(), image=x.shape[2:])(gy, w)
        return gx, Conv2dGradWeight(*self.options())(gy, x)


@register
@dataclass(frozen=True)
class Conv2dGradInput(Convolution):
    """The gradient of Conv2d for its input: also transposed convolution, to images of `image`."""

    image: tuple[int, int] = (0, 0)

    def shape(self, gy, w):
        return Spec((gy.shape[0], w.shape[1] * self.groups, *self.image), gy.dtype)

    def reference(self, gy, w):
        n, out, channels = len(gy), gy.shape[2:], w.shape[1] * self.groups
        (top, bottom), (left, right) = self.padding
        height, width = self.image
        gx = np.zeros((n, channels, height + top + bottom, width + left + right), gy.dtype)
        cols = np.matmul(self.grouped(w).transpose(0, 2, 1), self.maps(gy))
        cols = cols.reshape(n, channels, prod(self.size), *out)
        for i, at in enumerate(self.offsets(out)):
            gx[at] += cols[:, :, i]
        return self.cut(gx)

    def gradient(self, gz, gy, w, z):
        forward = Conv2d(*self.options())
        return forward(gz, w), Conv2dGradWeight(*self.options())(gy, gz)


@register
@dataclass(frozen=True)
class Conv2dGradWeight(Convolution):
    """The gradient of Conv2d for its weights."""

    def shape(self, gy, x):
        return Spec((gy.shape[1], x.shape[1] // self.groups, *self.size), x.dtype)

    def reference(self, gy, x):
        cols = self.columns(x, gy.shape[2:])
        gw = np.matmul(self.maps(gy), cols.swapaxes(2, 3)).sum(axis=0)
        return gw.reshape(gy.shape[1], x.shape[1] // self.groups, *self.size)

    def gradient(self, gz, gy, x, z):
        back = Conv2dGradInput(*self.options(), image=x.shape[2:])
        return Conv2d(*self.options())(x, gz), back(gy, gz)


def conv2d(x, w, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation of images x (N, C, H, W) with filters w (O, C/groups, kh, kw).

    padding is a number, a pair (rows, columns), or ((top, bottom), (left, right)).
    """
    size = tuple(w.shape[2:])
    return Conv2d(size, pair(stride), pairs(padding), pair(dilation), int(groups))(x, w)
