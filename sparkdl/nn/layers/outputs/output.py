"""The usual output layer: fully connected, with a loss."""

from typing import ClassVar

from sparkdl.config import Size, dataclass, option
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.dense.fully_connected import FullyConnected
from sparkdl.nn.layers.outputs.base import ScoredLayer


@dataclass(frozen=True, kw_only=True)
class Output(FullyConnected, ScoredLayer):
    """z = x W + b, which the loss compares with the labels. A prediction is loss.output(z).

    Shapes
    ------
    x (batch, n_in), z (batch, units), W (n_in, units), b (units,); of sequences each step by itself
    """

    low_precision: ClassVar = False  # bfloat16 would leave z three digits

    units: int = option(Size(minimum=1), "Number of classes, or numbers per label.")

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        return self.affine(params, x)


@dataclass(frozen=True, kw_only=True)
class RnnOutput(Output):
    """An Output for sequences only: a label for each step. DL4J RnnOutputLayer.

    Shapes
    ------
    x (batch, T, n_in), z (batch, T, units)
    """

    def rows(self, in_shape: Shape) -> Shape:
        return self.sequence(in_shape)
