"""A layer that blocks gradients."""

from typing import ClassVar

from sparkdl.config import dataclass
from sparkdl.engine import ops
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.run import Run


@dataclass(frozen=True, kw_only=True)
class StopGradient(Layer):
    """y = x, and no gradient flows back through it. Caffe's propagate_down: false.

    Shapes
    ------
    x, y (batch, ...)
    """

    low_precision: ClassVar = True
    keeps_numbers: ClassVar = True

    def out_shape(self, in_shape: Shape) -> Shape:
        return in_shape

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        return ops.stop_gradient(x)
