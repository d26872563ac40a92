"""Sliding windows over sequences, images or volumes, shared by convolution and pooling.

Axes: N examples, C channels, then one, two or three spatial axes (L; H, W; D, H, W). An option has
an entry per spatial axis.
"""

from itertools import chain, product
from math import gcd

import numpy as np

from sparkdl.config import dataclass
from sparkdl.engine.ops.base import Op
from sparkdl.errors import ShapeError

KINDS = {1: "sequences (N, C, L)", 2: "images (N, C, H, W)", 3: "volumes (N, C, D, H, W)"}


@dataclass(frozen=True)
class WindowOp(Op):
    """Base of the operations with sliding windows."""

    floating = True
    size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]

    @property
    def spans(self):
        """The extent of a window along each axis."""
        return tuple(d * (k - 1) + 1 for k, d in zip(self.size, self.dilation, strict=True))

    def space(self, x):
        """Returns the lengths of the spatial axes of x."""
        if len(x.shape) != len(self.size) + 2:
            kind = KINDS[len(self.size)]
            raise ShapeError(f"{self.kind} takes {kind}, got {tuple(x.shape)}")
        return tuple(x.shape[2:])

    def out(self, space):
        """Returns the number of windows along each axis of `space`; a remainder is ignored."""
        if min(*self.size, *self.stride, *self.dilation) < 1:
            raise ShapeError(
                f"{self.kind} needs size, stride and dilation of at least 1, got "
                f"{self.size}, {self.stride}, {self.dilation}"
            )
        axes = zip(space, self.spans, self.stride, self.padding, strict=True)
        out = tuple((n + sum(p) - k) // s + 1 for n, k, s, p in axes)
        if min(out) < 1:
            kind = KINDS[len(self.size)].split()[0]
            raise ShapeError(f"a window of {self.size} does not fit into {kind} of {space}")
        return out

    def pad(self, x, fill=0):
        if not any(map(any, self.padding)):
            return x
        return np.pad(x, ((0, 0), (0, 0), *self.padding), constant_values=fill)

    def cut(self, x):
        """Removes the padding that `pad` added."""
        sides = zip(x.shape[2:], self.padding, strict=True)
        return x[(..., *(slice(before, n - after) for n, (before, after) in sides))]

    def offsets(self, out):
        """Yields for each position in a window the slices of a padded array, over all windows."""
        axes = range(len(self.size))
        for place in product(*(range(k) for k in self.size)):
            yield (..., *(self.run(axis, place[axis], out) for axis in axes))

    def run(self, axis, place, out):
        start, step = place * self.dilation[axis], self.stride[axis]
        return slice(start, start + step * (out[axis] - 1) + 1, step)


def window_starts(n, size, stride, padding, dilation):
    """Returns where each window along an axis of length n begins; negative in the padding."""
    before, after = padding
    return np.arange(-before, n + after - dilation * (size - 1), stride)


def see_something(starts, n, size, dilation):
    """Returns for each window along an axis of length n whether it covers more than padding."""
    skipped = np.maximum(-(starts // dilation), 0)  # positions in front of the axis
    return (skipped < size) & (starts + skipped * dilation < n)


def all_see_something(n, size, stride, padding, dilation):
    """Returns whether each window along an axis of length n covers more than padding.

    The first window reaches least far behind the padding before the axis, the last begins nearest
    to its end. A dilation above n may miss the axis, at places that repeat.
    """
    before, after = padding
    starts = range(-before, n + after - dilation * (size - 1), stride)
    distinct = dilation // gcd(dilation, stride) if dilation > n else 1

    def sees(start):
        skipped = max(-(start // dilation), 0)
        return skipped < size and start + skipped * dilation < n

    return all(map(sees, chain(starts[:distinct], starts[-1:])))


def numbers(value, axes):
    """Returns one number per spatial axis, from a single number or a sequence."""
    value = (value,) * axes if np.ndim(value) == 0 else tuple(value)
    if len(value) != axes:
        raise ShapeError(f"{axes} axes of space need a number each, got {value}")
    return tuple(int(v) for v in value)


def sides(value, axes):
    """Returns ((before, after), ...) from one number, one per axis, or one pair per axis."""
    value = (value,) * axes if np.ndim(value) == 0 else tuple(value)
    if len(value) != axes:
        raise ShapeError(f"{axes} axes of space need padding each, got {value}")
    return tuple(numbers(v, 2) for v in value)
