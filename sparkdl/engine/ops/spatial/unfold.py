"""Extraction of sliding windows (im2col), and the transpose that adds them back (col2im)."""

from math import prod

import numpy as np

from sparkdl.config import dataclass
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.base import register
from sparkdl.engine.ops.spatial.window import WindowOp
from sparkdl.errors import ShapeError


@register
@dataclass(frozen=True)
class UnfoldOp(WindowOp):
    """x (N, C, ...) to (N, C K, ...): the K numbers of each channel under each window."""

    def shape(self, x):
        n, channels = x.shape[:2]
        return Spec((n, channels * prod(self.size), *self.out(self.space(x))), x.dtype)

    def reference(self, x):
        out, padded = self.out(x.shape[2:]), self.pad(x)
        windows = np.stack([padded[at] for at in self.offsets(out)], axis=2)
        return windows.reshape(len(x), x.shape[1] * prod(self.size), *out)

    def gradient(self, gy, x, y):
        back = FoldOp(self.size, self.stride, self.padding, self.dilation, tuple(x.shape[2:]))
        return (back(gy),)


@register
@dataclass(frozen=True)
class FoldOp(WindowOp):
    """The transpose of UnfoldOp: adds each number to its original position in `image`."""

    image: tuple[int, ...] = ()

    def shape(self, gy):
        channels, rest = divmod(gy.shape[1], prod(self.size))
        if rest or self.space(gy) != self.out(self.image):
            raise ShapeError(f"fold of {tuple(gy.shape)} gives no {self.image}")
        return Spec((gy.shape[0], channels, *self.image), gy.dtype)

    def reference(self, gy):
        n, out = len(gy), gy.shape[2:]
        wide = [size + sum(p) for size, p in zip(self.image, self.padding, strict=True)]
        windows = gy.reshape(n, gy.shape[1] // prod(self.size), prod(self.size), *out)
        gx = np.zeros((n, windows.shape[1], *wide), gy.dtype)
        for i, at in enumerate(self.offsets(out)):
            gx[at] += windows[:, :, i]
        return self.cut(gx)

    def gradient(self, gz, gy, z):
        return (UnfoldOp(self.size, self.stride, self.padding, self.dilation)(gz),)


def unfold(x, size, stride, padding, dilation):
    """Returns the windows of x; options have an entry per spatial axis, as in WindowOp."""
    return UnfoldOp(tuple(size), tuple(stride), tuple(padding), tuple(dilation))(x)
