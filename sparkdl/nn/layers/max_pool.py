"""The largest number of each window."""

from dataclasses import dataclass
from typing import ClassVar

from sparkdl.engine import ops
from sparkdl.nn.layers.masked import LOWEST
from sparkdl.nn.layers.pool import Pool


@dataclass(frozen=True, kw_only=True)
class MaxPool(Pool, abstract=True):
    """y = the largest number of each window; padding never wins, nor do steps that are none."""

    fill: ClassVar = LOWEST

    def pooled(self, x, space):
        return ops.max_pool(x, *self.options(space), self.wide(self.sizes("dilation")))


@dataclass(frozen=True, kw_only=True)
class MaxPool1D(MaxPool):
    """y = the largest number of each window of a sequence, per feature; padding never wins."""

    axes: ClassVar = 1


@dataclass(frozen=True, kw_only=True)
class MaxPool2D(MaxPool):
    """y = the largest number of each window of an image; padding never wins."""

    axes: ClassVar = 2


@dataclass(frozen=True, kw_only=True)
class MaxPool3D(MaxPool):
    """y = the largest number of each window of a volume; padding never wins."""

    axes: ClassVar = 3
