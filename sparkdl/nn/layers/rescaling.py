"""Scaling and shifting by fixed numbers."""

from dataclasses import dataclass

from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.checks import is_number
from sparkdl.nn.layers.base import Layer


@dataclass(frozen=True, kw_only=True)
class Rescaling(Layer):
    """y = scale x + offset. Keras Rescaling, DL4J ScaleVertex and ShiftVertex.

    Parameters
    ----------
    scale, offset : float
    """

    scale: float = 1.0
    offset: float = 0.0

    def __post_init__(self):
        super().__post_init__()
        for name in ("scale", "offset"):
            require(self, name, is_number(getattr(self, name)), "a finite number")

    def out_shape(self, in_shape):
        return in_shape

    def forward(self, params, x, run):
        y = x if self.scale == 1 else ops.mul(x, float(self.scale))
        return y if self.offset == 0 else ops.add(y, float(self.offset))
