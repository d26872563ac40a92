"""One number for each channel."""

from dataclasses import dataclass
from typing import ClassVar

from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.layers.base import Layer

KINDS = {"avg": ops.mean, "max": ops.max, "sum": ops.sum}


@dataclass(frozen=True, kw_only=True)
class GlobalPool(Layer):
    """The mean, the largest or the sum of each channel of an image.

    Parameters
    ----------
    kind : str
        "avg", "max" or "sum".

    Shapes
    ------
    x (batch, C, H, W), y (batch, C)
    """

    narrow: ClassVar = True

    kind: str = "avg"

    def __post_init__(self):
        super().__post_init__()
        require(self, "kind", self.kind in KINDS, "'avg', 'max' or 'sum'")

    def out_shape(self, in_shape):
        return self.images(in_shape)[:1]

    def forward(self, params, x, run):
        return KINDS[self.kind](x, axes=(2, 3))
