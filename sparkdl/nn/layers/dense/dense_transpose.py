"""Fully connected layer with the weights of the opposite direction."""

from typing import ClassVar

from sparkdl.config import dataclass
from sparkdl.engine import ops
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.core.weights import ActivatedLayer
from sparkdl.nn.layers.dense.fully_connected import FullyConnected


@dataclass(frozen=True, kw_only=True)
class DenseTranspose(ActivatedLayer, FullyConnected):
    """A fully connected layer with a transposed W: y = activation(x W' + b).

    A vertex that shares the weights of a Dense or an embedding maps back by them, as the decoder of
    an autoencoder with tied weights does. All parameters are shared, so both have bias=False; an
    Affine(scale=False) behind each adds a bias of its own.

    Shapes
    ------
    x (batch, n_in), y (batch, units), W (units, n_in), b (units,)
    """

    ends_in_activation: ClassVar = True

    def weight_shape(self, in_shape: Shape) -> Shape:
        return super().weight_shape(in_shape)[::-1]

    def fans(self, shape: Shape) -> Shape:
        return shape[::-1]

    def incoming(self, name: str, shape: Shape) -> tuple[Shape, tuple[int, ...]]:
        return shape, (1,)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        rows = ops.matmul(ops.reshape(x, (-1, x.shape[-1])), params["W"], transpose_y=True)
        rows = ops.add_bias(rows, params["b"], -1) if self.bias else rows
        return ops.reshape(self.activate(rows), (*x.shape[:-1], self.units))
