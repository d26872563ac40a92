"""The mean of each window."""

from functools import reduce
from math import prod
from typing import ClassVar

import numpy as np

from sparkdl.config import Boolean, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Shape, Value
from sparkdl.nn.layers.pooling.base import Pool


@dataclass(frozen=True, kw_only=True)
class AvgPool(Pool, abstract=True):
    """y = the mean of each window."""

    count_padding: bool = option(
        Boolean(),
        'Whether padding counts as zeros (as in Caffe) or not at all (Keras). What "ceil" adds '
        "never counts. Masked steps count as zeros.",
        default=False,
    )

    def pool_windows(self, x: Value, space: Shape) -> Value:
        dilation = self.wide(self.sizes("dilation"))
        y = ops.avg_pool(x, *self.options(space), self.count_padding, dilation)
        if self.count_padding and self.padding_of(space) != self.padding_of(space, "floor"):
            y = ops.mul(y, self.correction(space).astype(np.dtype(x.dtype)))
        return y

    def correction(self, space: Shape) -> Value:
        """Returns (1, 1, H', W'): window size over its part in the image or explicit padding."""
        limits = [n + sum(p) for n, p in zip(space, self.padding_of(space, "floor"), strict=True)]
        axes = zip(
            limits,
            self.places(space),
            self.step,
            self.sizes("size"),
            self.sizes("dilation"),
            strict=True,
        )
        counts = [
            (np.add.outer(np.arange(m) * s, np.arange(k) * d) < limit).sum(axis=1)
            for limit, m, s, k, d in axes
        ]
        inside = reduce(np.multiply.outer, counts)
        shape = (1, 1, *self.wide(inside.shape))
        return (prod(self.sizes("size")) / inside).reshape(shape)


@dataclass(frozen=True, kw_only=True)
class AvgPool1D(AvgPool):
    """y = the mean of each window of a sequence, per feature.

    Shapes
    ------
    x (batch, T, F), y (batch, T', F), a number for each of T' windows
    """

    axes: ClassVar = 1


@dataclass(frozen=True, kw_only=True)
class AvgPool2D(AvgPool):
    """y = the mean of each window of an image.

    Shapes
    ------
    x (batch, C, H, W), y (batch, C, H', W'), a number for each of H' W' windows
    """

    axes: ClassVar = 2


@dataclass(frozen=True, kw_only=True)
class AvgPool3D(AvgPool):
    """y = the mean of each window of a volume.

    Shapes
    ------
    x (batch, C, D, H, W), y (batch, C, D', H', W'), a number for each of
    D' H' W' windows
    """

    axes: ClassVar = 3
