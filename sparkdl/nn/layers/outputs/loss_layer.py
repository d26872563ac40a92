"""An output layer without parameters: the loss alone."""

from sparkdl.config import dataclass
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.outputs.base import ScoredLayer


@dataclass(frozen=True, kw_only=True)
class LossLayer(ScoredLayer):
    """z = x, which the loss compares with the labels. DL4J LossLayer, RnnLossLayer, CnnLossLayer.

    Shapes
    ------
    x, z (batch, units), (batch, T, units) or (batch, units, H, W)
    """

    def out_shape(self, in_shape: Shape) -> Shape:
        return in_shape

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        return x
