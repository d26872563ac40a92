"""The indices or values of the largest numbers."""

import numpy as np

from sparkdl.config import Boolean, Integer, Size, dataclass, option
from sparkdl.engine import ops
from sparkdl.engine.ops.reduce import equal
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.masks import LOWEST
from sparkdl.nn.layers.core.run import Run


@dataclass(frozen=True, kw_only=True)
class ArgMax(Layer):
    """Indices of the `top_k` largest values; of equal values the last comes first.

    Caffe layer ArgMax. Gradients go to values only.

    Shapes
    ------
    x (batch, C, H, W), y (batch, top_k, H, W) for axis 0; without an axis y (batch, 1, top_k), with
    values (batch, 2, top_k), and an axis of 1 for each further one of x
    """

    top_k: int = option(Size(minimum=1), "Number of largest values.", default=1)
    axis: int | None = option(
        Integer(minimum=0),
        "Axis of an example to search. None: all numbers of an example.",
        default=None,
    )
    values: bool = option(
        Boolean(),
        "Whether to give the largest values: along an axis instead of their indices, else "
        "behind them.",
        default=False,
    )

    def out_shape(self, in_shape: Shape) -> Shape:
        if self.axis is not None and self.axis >= len(in_shape):
            raise ShapeError(f"ArgMax.axis must be an axis of {in_shape}, got {self.axis}")
        limit = self.size(in_shape)
        if self.top_k > limit:
            raise ShapeError(f"ArgMax.top_k must be at most {limit}, got {self.top_k}")
        if self.axis is None:
            return (1 + self.values, self.top_k, *[1] * (len(in_shape) - 2))
        return (*in_shape[: self.axis], self.top_k, *in_shape[self.axis + 1 :])

    def size(self, shape: Shape) -> int:
        """Returns how many numbers are compared with each other."""
        return int(np.prod(shape)) if self.axis is None else shape[self.axis]

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        out, shape = self.out_shape(tuple(x.shape[1:])), tuple(x.shape)
        if self.axis is None:
            parts = self.largest(ops.reshape(x, (shape[0], self.size(shape[1:]))))[
                : 1 + self.values
            ]
            return ops.reshape(ops.concat(parts, 1), (shape[0], *out))
        order = [i for i in range(len(shape)) if i != 1 + self.axis] + [1 + self.axis]
        moved = ops.transpose(x, order)
        rows = int(np.prod(moved.shape[:-1])), moved.shape[-1]
        y = self.largest(ops.reshape(moved, rows))[self.values]
        y = ops.reshape(y, (*moved.shape[:-1], self.top_k))
        return ops.transpose(y, [order.index(i) for i in range(len(order))])

    def largest(self, x: Value) -> tuple[Value, Value]:
        """Returns (numbers, values) of rows x (n, size), each (n, top_k)."""
        places = np.broadcast_to(np.arange(x.shape[1], dtype=x.dtype), x.shape)
        indices, values, remaining = [], [], x
        for _ in range(self.top_k):
            top = ops.max(remaining, 1, keepdims=True)
            hit = equal(remaining, ops.broadcast_to(top, x.shape))
            at = ops.max(ops.where(hit, places, -1.0), 1, keepdims=True)
            remaining = ops.where(equal(places, ops.broadcast_to(at, x.shape)), LOWEST, remaining)
            indices.append(ops.stop_gradient(at))
            values.append(top)
        return ops.concat(indices, 1), ops.concat(values, 1)
