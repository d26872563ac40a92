"""Windows of convolutions and pooling, along any number of axes."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from sparkdl.errors import UnsupportedError
from sparkdl.interop.onnx.forward.shapes import need_room

PADDINGS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


@dataclass(frozen=True)
class Windows:
    """Windows over the last axes of arrays.

    Parameters
    ----------
    kernel, strides, dilations : tuple of int
        For each axis.
    pads : tuple of (before, after)
    sizes : tuple of int
        Lengths of the axes that are cut into windows.
    counts : tuple of int
        Windows along each axis.
    """

    kernel: tuple
    strides: tuple
    dilations: tuple
    pads: tuple
    sizes: tuple
    counts: tuple

    @classmethod
    def over(
        cls, sizes, kernel, strides=None, dilations=None, pads=None, auto_pad="NOTSET", ceil=False
    ):
        """Returns the windows that the attributes of a node describe."""
        if auto_pad not in PADDINGS:
            raise ValueError(f"auto_pad must be one of {PADDINGS}, got {auto_pad!r}")
        axes = len(sizes)
        strides, dilations = (tuple(given or [1] * axes) for given in (strides, dilations))
        spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
        pairs = padding(sizes, spans, strides, pads, auto_pad)
        rows = zip(sizes, spans, strides, pairs, strict=True)
        counts = tuple(count(*each, ceil) for each in rows)
        return cls(tuple(kernel), strides, dilations, tuple(pairs), tuple(sizes), counts)

    def padded(self, x, fill):
        """Returns x padded with `fill` as far as the windows reach."""
        pairs = [(0, 0)] * (x.ndim - len(self.sizes))
        for (before, after), reach, size in zip(self.pads, self.reach(), self.sizes, strict=True):
            pairs.append((before, max(after, reach - before - size)))
        need_room([n + sum(pair) for n, pair in zip(x.shape, pairs, strict=True)])
        return np.pad(x, pairs, constant_values=fill)

    def reach(self):
        rows = zip(self.counts, self.strides, self.kernel, self.dilations, strict=True)
        return [(n - 1) * stride + (k - 1) * d + 1 for n, stride, k, d in rows]

    def cut(self, x, fill=0):
        """Returns the view (..., *counts, *kernel) of x (..., *sizes)."""
        x, axes = self.padded(x, np.asarray(fill, x.dtype)), len(self.sizes)
        front = x.ndim - axes
        spans = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True)]
        view = np.lib.stride_tricks.sliding_window_view(x, spans, tuple(range(front, x.ndim)))
        places = [slice(None)] * front
        for n, stride in zip(self.counts, self.strides, strict=True):
            places.append(slice(0, (n - 1) * stride + 1, stride))
        return view[(*places, *(slice(None, None, d) for d in self.dilations))]

    def places(self):
        """Returns all positions in the kernel."""
        return product(*map(range, self.kernel))

    def numbers_at(self, place):
        """Returns the slices of the padded array that a kernel position covers."""
        rows = zip(place, self.dilations, self.counts, self.strides, strict=True)
        return [slice(k * d, k * d + (n - 1) * stride + 1, stride) for k, d, n, stride in rows]

    def add_up(self, parts):
        """Returns overlapping parts (*kernel, ..., *counts) summed into (..., *sizes)."""
        front = parts.shape[len(self.kernel) : -len(self.counts)]
        before = [pair[0] for pair in self.pads]
        rows = zip(before, self.sizes, self.reach(), strict=True)
        shape = *front, *(max(b + size, reach) for b, size, reach in rows)
        need_room(shape)
        y = np.zeros(shape, parts.dtype)
        for place in self.places():
            y[(..., *self.numbers_at(place))] += parts[place]
        inner = [slice(b, b + size) for b, size in zip(before, self.sizes, strict=True)]
        return y[(..., *inner)]


def padding(sizes, spans, strides, pads, auto_pad):
    """Returns [(before, after)] of each axis for windows that span so many places."""
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        return [same(*each, auto_pad) for each in zip(sizes, spans, strides, strict=True)]
    axes = len(spans)
    pads = [0] * 2 * axes if pads is None or auto_pad == "VALID" else pads
    return list(zip(pads[:axes], pads[axes:], strict=True))


def same(size, span, stride, auto_pad):
    """Returns (before, after) padding that gives ceil(size / stride) windows.

    Raises
    ------
    UnsupportedError
        If two or more places are in no window: onnx's reference leaves out the last ones,
        onnxruntime some at both ends, how many depends on the operation.
    """
    total = (-(-size // stride) - 1) * stride + span - size
    if total < -1:
        left = f"leaves out {-total} of {size} places, by a stride of {stride},"
        raise UnsupportedError(f"auto_pad={auto_pad} that {left} is not supported")
    less, more = max(total, 0) // 2, max(total + 1, 0) // 2
    return (less, more) if auto_pad == "SAME_UPPER" else (more, less)


def count(size, span, stride, pads, ceil):
    room = size + sum(pads) - span
    found = (-(-room // stride) if ceil else room // stride) + 1
    behind = ceil and (found - 1) * stride >= size + pads[0]  # the last window lies in the padding
    return found - 1 if behind else found
