"""Base of the layers that connect every input to every unit."""

from typing import ClassVar

from sparkdl.config import Size, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.weights import WeightedLayer


@dataclass(frozen=True, kw_only=True)
class FullyConnected(WeightedLayer, abstract=True):
    """x W + b.

    Shapes
    ------
    x (batch, n_in), y (batch, units), W (n_in, units), b (units,); sequences (batch, T, n_in) are
    mapped step by step to (batch, T, units)
    """

    low_precision: ClassVar = True

    takes_rows: ClassVar = True

    units: int = option(Size(minimum=1), "Number of output units.")

    def weight_shape(self, in_shape: Shape) -> Shape:
        return (self.rows(in_shape)[-1], self.units)

    def fans(self, shape: Shape) -> Shape:
        return shape

    def outputs(self) -> int:
        return self.units

    def out_shape(self, in_shape: Shape) -> Shape:
        return (*self.rows(in_shape)[:-1], self.units)

    def affine(self, params: Values, x: Value) -> Value:
        """Returns x W, plus b if there is one."""
        y = ops.matmul(ops.reshape(x, (-1, x.shape[-1])), params["W"])
        y = ops.add_bias(y, params["b"], -1) if "b" in params else y
        return ops.reshape(y, (*x.shape[:-1], self.units))
