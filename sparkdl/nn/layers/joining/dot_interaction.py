"""Dot products of all pairs of an example's vectors."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

from sparkdl.config import Choice, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.joining.merge import JoiningLayer

COMBINE = ("pairs", "sum")


@dataclass(frozen=True, kw_only=True)
class DotInteraction(JoiningLayer):
    """The dot products of all pairs of the inputs, or their sum.

    Shapes
    ------
    x k times (batch, dimension), y (batch, k (k - 1) / 2), or (batch, 1) for the sum

    References
    ----------
    Naumov et al., Deep learning recommendation model (2019), section 2.1.3, for the pairs; Rendle,
    Factorization machines (2010), lemma 3.1, for the sum, which takes time k and not k^2.
    """

    combine: str = option(
        Choice(of=COMBINE),
        '"pairs": the products x1 x0, x2 x0, x2 x1, x3 x0 ..., of inputs counted from 0; "sum": '
        "the sum of all products.",
        default="pairs",
    )

    def out_shape(self, in_shape: Any) -> Shape:
        if len(in_shape) < 2 or len(set(in_shape)) > 1 or len(in_shape[0]) != 1:
            raise ShapeError(
                f"DotInteraction needs two or more inputs of one length, got {in_shape}"
            )
        return (1,) if self.combine == "sum" else (len(in_shape) * (len(in_shape) - 1) // 2,)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        return sum_of_products(x) if self.combine == "sum" else products(x)


def products(vectors: Sequence[Value]) -> Value:
    """Returns the dot products of each vector with those before it."""
    (n, size), k = vectors[0].shape, len(vectors)
    rows = ops.reshape(ops.concat(vectors, 1), (n, k, size))
    all_pairs = ops.reshape(ops.matmul(rows, rows, transpose_y=True), (n, k * k))
    below = [ops.slice(all_pairs, (0, i * k), (n, i * k + i)) for i in range(1, k)]
    return ops.concat(below, 1)  # slices along one axis, whose gradients are concatenated


def sum_of_products(vectors: Sequence[Value]) -> Value:
    """Returns half the difference between the square of the sum and the sum of squares."""
    total = reduce(ops.add, vectors)
    squares = reduce(ops.add, [ops.mul(vector, vector) for vector in vectors])
    rest = ops.sub(ops.mul(total, total), squares)
    return ops.mul(ops.sum(rest, axes=(1,), keepdims=True), 0.5)
