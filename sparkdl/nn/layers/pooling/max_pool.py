"""The maximum of each window."""

from math import prod
from typing import ClassVar

import numpy as np

from sparkdl.config import dataclass
from sparkdl.engine import ops
from sparkdl.nn.hints import Shape, Value
from sparkdl.nn.layers.core.masks import LOWEST
from sparkdl.nn.layers.pooling.base import Pool


@dataclass(frozen=True, kw_only=True)
class MaxPool(Pool, abstract=True):
    """y = the maximum of each window; neither padding nor masked steps ever win."""

    fill: ClassVar = LOWEST

    def pool_windows(self, x: Value, space: Shape) -> Value:
        return ops.max_pool(x, *self.options(space), self.wide(self.sizes("dilation")))


@dataclass(frozen=True, kw_only=True)
class MaxPool1D(MaxPool):
    """y = the largest number of each window of a sequence, per feature; padding never wins.

    Shapes
    ------
    x (batch, T, F), y (batch, T', F), a number for each of T' windows
    """

    axes: ClassVar = 1


@dataclass(frozen=True, kw_only=True)
class MaxPool2D(MaxPool):
    """y = the largest number of each window of an image; padding never wins.

    Shapes
    ------
    x (batch, C, H, W), y (batch, C, H', W'), a number for each of H' W' windows
    """

    axes: ClassVar = 2


@dataclass(frozen=True, kw_only=True)
class MaxPool3D(MaxPool):
    """y = the largest number of each window of a volume; padding never wins.

    Shapes
    ------
    x (batch, C, D, H, W), y (batch, C, D', H', W'), a number for each of
    D' H' W' windows
    """

    axes: ClassVar = 3


@dataclass(frozen=True, kw_only=True)
class MaxPoolIndex2D(MaxPool2D):
    """y = where the largest number of each window lies in its plane, counted by rows from 0.

    Of equal ones it is the first. No gradient goes back. Caffe's Pooling gives it as a second top,
    its mask.

    Shapes
    ------
    x (batch, C, H, W), y (batch, C, H', W')
    """

    low_precision: ClassVar = False  # positions have more digits than bfloat16

    def pool_windows(self, x: Value, space: Shape) -> Value:
        places = np.arange(prod(space), dtype=x.dtype).reshape(1, 1, *space)
        places = ops.broadcast_to(places, x.shape)
        options = (*self.options(space), self.wide(self.sizes("dilation")))
        return ops.stop_gradient(ops.pick_largest(places, x, *options))
