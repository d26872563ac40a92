"""Images to rows."""

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from sparkdl.engine import ops
from sparkdl.nn.layers.core.base import Layer


@dataclass(frozen=True, kw_only=True)
class Flatten(Layer):
    """All numbers of an example in one row, in the order channels, rows, columns.

    Shapes
    ------
    x (batch, C, H, W), y (batch, C H W)
    """

    narrow: ClassVar = True

    def out_shape(self, in_shape):
        return (prod(in_shape),)

    def forward(self, params, x, run):
        return ops.reshape(x, (x.shape[0], prod(x.shape[1:])))
