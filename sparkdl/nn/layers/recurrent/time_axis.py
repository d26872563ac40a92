"""Repetition of rows over the steps of a sequence, and reversal of steps."""

from typing import Any, ClassVar

from sparkdl.config import dataclass
from sparkdl.engine import ops
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.joining.merge import JoiningLayer


@dataclass(frozen=True, kw_only=True)
class DuplicateToTime(JoiningLayer):
    """Repeats the first input at every step of the second. DL4J DuplicateToTimeSeriesVertex.

    Shapes
    ------
    x (batch, F) and (batch, T, G), y (batch, T, F)
    """

    def out_shape(self, in_shape: Any) -> Shape:
        if [len(shape) for shape in in_shape] != [1, 2]:
            raise ShapeError(f"DuplicateToTime takes rows and sequences, got {in_shape}")
        return (in_shape[1][0], *in_shape[0])

    def out_mask(self, mask: Value, in_shape: Any) -> Value:
        return mask[1]

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        row, sequence = x
        n, width = row.shape
        return ops.broadcast_to(ops.reshape(row, (n, 1, width)), (n, sequence.shape[1], width))


@dataclass(frozen=True, kw_only=True)
class ReverseTime(Layer):
    """Reverses the order of steps; padding stays at the end. DL4J ReverseTimeSeriesVertex.

    Shapes
    ------
    x, y (batch, T, F)
    """

    reads_backward: ClassVar = True

    def out_shape(self, in_shape: Any) -> Shape:
        return self.sequence(in_shape)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        return ops.reverse_time(x, run.mask)
