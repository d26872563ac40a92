"""Layer that passes no gradient back."""

from dataclasses import dataclass
from typing import ClassVar

from sparkdl.engine import ops
from sparkdl.nn.layers.core.base import Layer


@dataclass(frozen=True, kw_only=True)
class StopGradient(Layer):
    """y = x, and no gradient goes back to what gives x. Caffe's propagate_down: false.

    Shapes
    ------
    x, y (batch, ...)
    """

    narrow: ClassVar = True

    def out_shape(self, in_shape):
        return in_shape

    def forward(self, params, x, run):
        return ops.stop_gradient(x)
