"""Fully connected layer."""

from typing import ClassVar

from sparkdl.config import dataclass
from sparkdl.engine import ops
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.core.weights import ActivatedLayer
from sparkdl.nn.layers.dense.fully_connected import FullyConnected


@dataclass(frozen=True, kw_only=True)
class Dense(ActivatedLayer, FullyConnected):
    """A fully connected layer: y = activation(x W + b).

    Shapes
    ------
    x (batch, n_in), y (batch, units), W (n_in, units), b (units,)
    """

    ends_in_activation: ClassVar = True

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        # rows first, so that the activation directly follows the product and is fused with it
        rows = self.activate(self.affine(params, ops.reshape(x, (-1, x.shape[-1]))))
        return ops.reshape(rows, (*x.shape[:-1], self.units))
