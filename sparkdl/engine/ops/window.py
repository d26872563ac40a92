"""Windows that slide over images: sizes, padding, and the views that convolution and pooling share.

Axes: N examples, C channels, H rows, W columns; a pair is (rows, columns).
"""

from dataclasses import dataclass

import numpy as np

from sparkdl.engine.ops.base import Op
from sparkdl.errors import ShapeError


@dataclass(frozen=True)
class Window(Op):
    """Where the windows lie. padding is ((top, bottom), (left, right))."""

    floating = True
    size: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    padding: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0))
    dilation: tuple[int, int] = (1, 1)

    def images(self, x):
        if len(x.shape) != 4:
            raise ShapeError(f"{type(self).__name__} takes images (N, C, H, W), got {x.shape}")

    def out(self, x):
        """Rows and columns of windows in an image of shape x: the last may leave a rest over."""
        self.images(x)
        sizes = zip(x.shape[2:], self.size, self.stride, self.padding, self.dilation, strict=True)
        out = tuple((n + sum(p) - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sizes)
        if min(out) < 1:
            raise ShapeError(f"a window of {self.size} does not fit into images of {x.shape[2:]}")
        return out

    def padded(self, x, fill=0):
        if not any(map(any, self.padding)):
            return x
        return np.pad(x, ((0, 0), (0, 0), *self.padding), constant_values=fill)

    def cut(self, x):
        """What `padded` put around x, off again."""
        (top, bottom), (left, right) = self.padding
        return x[:, :, top : x.shape[2] - bottom, left : x.shape[3] - right]

    def offsets(self, out):
        """For each place in a window, the slices of a padded image that all windows see there."""
        for i in range(self.size[0]):
            for j in range(self.size[1]):
                yield (..., self.run(0, i, out), self.run(1, j, out))

    def run(self, axis, place, out):
        start, step = place * self.dilation[axis], self.stride[axis]
        return slice(start, start + step * (out[axis] - 1) + 1, step)


def pair(value):
    """(value, value) for a number, the value itself for a pair."""
    return (int(value), int(value)) if np.ndim(value) == 0 else tuple(int(v) for v in value)


def pairs(value):
    """((top, bottom), (left, right)) from a number, a pair, or just that."""
    return tuple(pair(v) for v in ((value, value) if np.ndim(value) == 0 else value))
