"""Images to rows."""

from math import prod
from typing import ClassVar

from sparkdl.config import dataclass
from sparkdl.engine import ops
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.run import Run


@dataclass(frozen=True, kw_only=True)
class Flatten(Layer):
    """Flattens each example to one row, in the order channels, rows, columns.

    Shapes
    ------
    x (batch, C, H, W), y (batch, C H W)
    """

    low_precision: ClassVar = True
    keeps_numbers: ClassVar = True

    def out_shape(self, in_shape: Shape) -> Shape:
        return (prod(in_shape),)

    def lists_steps(self, in_shape: Shape) -> bool:
        return True

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        return ops.reshape(x, (x.shape[0], prod(x.shape[1:])))
