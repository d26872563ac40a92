"""Scaling and shifting by fixed numbers."""

from sparkdl.config import Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.run import Run


@dataclass(frozen=True, kw_only=True)
class Rescaling(Layer):
    """y = scale x + offset. Keras Rescaling, DL4J ScaleVertex and ShiftVertex.

    Shapes
    ------
    x, y (batch, ...), of one shape
    """

    scale: float = option(Number(), "Factor of x.", default=1.0)
    offset: float = option(Number(), "Number added.", default=0.0)

    def out_shape(self, in_shape: Shape) -> Shape:
        return in_shape

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        y = x if self.scale == 1 else ops.mul(x, float(self.scale))
        return y if self.offset == 0 else ops.add(y, float(self.offset))
