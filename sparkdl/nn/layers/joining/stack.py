"""Stacking of several batches into one, to share layers, and the way back."""

from typing import Any

from sparkdl.config import Size, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import ShapeError, require
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.joining.merge import JoiningLayer


@dataclass(frozen=True, kw_only=True)
class Stack(JoiningLayer):
    """Concatenates all inputs along the batch. DL4J StackVertex.

    Shapes
    ------
    x k times (batch, ...), y (k batch, ...)
    """

    def out_shape(self, in_shape: Any) -> Any:
        if len(set(in_shape)) > 1:
            raise ShapeError(f"Stack needs inputs of one shape, got {in_shape}")
        return in_shape[0]

    def out_mask(self, mask: Value, in_shape: Any) -> Value:
        if any(m is None for m in mask):
            if any(m is not None for m in mask):
                raise ShapeError("Stack needs a mask for each input, or for none")
            return None
        return ops.concat(list(mask))

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        return ops.concat(list(x))


@dataclass(frozen=True, kw_only=True)
class Unstack(Layer):
    """Takes one of the batches that Stack has concatenated. DL4J UnstackVertex.

    Shapes
    ------
    x (count batch, ...), y (batch, ...)
    """

    index: int = option(Size(minimum=0), "Index of the batch, from 0; below count.")
    count: int = option(Size(minimum=1), "Number of batches.")

    def validate(self) -> None:
        super().validate()
        require(self, "index", self.index < self.count, f"an integer in [0, {self.count})")

    def out_shape(self, in_shape: Any) -> Any:
        return in_shape

    def out_mask(self, mask: Value, in_shape: Any) -> Value:
        return None if mask is None else self.part(mask)

    def part(self, x: Value) -> Value:
        if x.shape[0] % self.count:
            raise ShapeError(f"Unstack takes {self.count} batches of one size, got {x.shape}")
        size = x.shape[0] // self.count
        rest = x.shape[1:]
        first = self.index * size
        return ops.slice(x, (first, *[0] * len(rest)), (first + size, *rest))

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        return self.part(x)
