"""Euclidean lengths and distances of examples."""

from math import prod
from typing import Any

from sparkdl.config import Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.masks import fill_steps
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.joining.merge import JoiningLayer


@dataclass(frozen=True, kw_only=True)
class L2Distance(JoiningLayer):
    """The Euclidean distance of two inputs. DL4J L2Vertex.

    Masked steps count as 0.

    Shapes
    ------
    x two of (batch, ...), y (batch, 1)
    """

    epsilon: float = option(
        Number(above=0),
        "Added to the sum of squares, so that the gradient at distance 0 is finite.",
        default=1e-8,
    )

    def out_shape(self, in_shape: Any) -> Shape:
        if len(in_shape) != 2 or in_shape[0] != in_shape[1]:
            raise ShapeError(f"L2Distance needs two inputs of one shape, got {in_shape}")
        return (1,)

    def mixes_steps(self, in_shape: Any) -> bool:
        return len(in_shape[0]) == 2

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        one, other = map(fill_steps, x, run.masks or (None, None))
        return l2_norm(ops.sub(one, other), self.epsilon)


@dataclass(frozen=True, kw_only=True)
class L2Normalize(Layer):
    """Divides each example by its Euclidean length. DL4J L2NormalizeVertex.

    Masked steps do not count, and become 0.

    Shapes
    ------
    x, y (batch, ...)
    """

    epsilon: float = option(Number(above=0), "Added to the sum of squares.", default=1e-8)

    def out_shape(self, in_shape: Any) -> Shape:
        return in_shape

    def mixes_steps(self, in_shape: Shape) -> bool:
        return len(in_shape) == 2

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        x = fill_steps(x, run.mask)
        length = l2_norm(x, self.epsilon)
        return ops.div(x, ops.reshape(length, (x.shape[0], *[1] * (len(x.shape) - 1))))


def l2_norm(x: Value, epsilon: float) -> Value:
    """Returns (batch, 1), the Euclidean length of each example."""
    flat = ops.reshape(x, (x.shape[0], prod(x.shape[1:])))
    return ops.sqrt(ops.add(ops.sum(ops.square(flat), 1, keepdims=True), epsilon))
