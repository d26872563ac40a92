"""Base of the attention layers, in which each step attends to the steps of a sequence.

N batch, T steps that attend, S steps attended to, H heads of d numbers.
"""

from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from sparkdl.config import Boolean, Number, Size, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape, Shapes, Value, Values
from sparkdl.nn.layers.core.masks import fit_to_dtype, over_features
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.core.weights import WeightedLayer

WEIGHTS = ("Wq", "Wk", "Wv", "Wo")
OUT_OF_SIGHT = -1e30  # finite, as softmax must not give NaN if all steps are padding


@dataclass(frozen=True, kw_only=True)
class Attention(WeightedLayer, abstract=True):
    """y = concat(head_1 ... head_H) Wo + bo, head_i = softmax(q_i k_i^T / sqrt(d)) v_i.

    q = x Wq + bq, and q_i are the i-th d numbers of it; k and v likewise. Steps masked as padding
    are not attended to; if there are no others, the attended value is 0. Options of W and b below
    apply to all four weights and biases.

    References
    ----------
    Vaswani et al., Attention is all you need (2017), section 3.2.
    """

    low_precision: ClassVar = True
    sees_other_steps: ClassVar = True
    penalized: ClassVar = WEIGHTS
    biases: ClassVar[tuple[str, ...]] = ("bq", "bk", "bv", "bo")

    heads: int = option(Size(minimum=1), "H, the number of heads.", default=1)
    head_size: int | None = option(
        Size(minimum=1), "d. None: the width of the queries / heads.", default=None
    )
    units: int | None = option(
        Size(minimum=1), "Number of output units. None: that of the queries.", default=None
    )
    causal: bool = option(Boolean(), "Whether step t attends to steps 0 to t only.", default=False)
    dropout: float = option(
        Number(minimum=0, below=1),
        "Dropout rate of the attention weights in training.",
        default=0.0,
    )
    bias: bool = option(Boolean(), "Whether there are bq, bk, bv and bo.", default=True)

    def check_steps(self, queries: Shape, keys: Shape) -> None:
        """Raises ShapeError for `causal` with different numbers of queries and keys."""
        if self.causal and queries[0] != keys[0]:
            raise ShapeError(
                f"causal attention of {queries} needs as many keys as queries, got {keys}"
            )

    def width(self, queries: Shape) -> int:
        """Returns H d for queries of shape (T, F)."""
        if self.head_size is None and queries[1] % self.heads:
            kind = type(self).__name__
            raise ShapeError(
                f"{kind} with {self.heads} heads needs a width that they divide, got {queries}; "
                "or give head_size"
            )
        return self.heads * (self.head_size or queries[1] // self.heads)

    def projections(self, queries: Shape, keys: Shape, values: Shape) -> Shapes:
        """Returns {name: shape} of the projection weights for one example's input shapes."""
        inner = self.width(queries)
        units = self.units or queries[1]
        widths = {"q": (queries[1], inner), "k": (keys[1], inner), "v": (values[1], inner)}
        widths["o"] = (inner, units)
        weights: Shapes = {f"W{name}": shape for name, shape in widths.items()}
        return weights | {f"b{n}": s[1:] for n, s in widths.items()} if self.bias else weights

    def initial(self, name: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
        return super().initial(name[0], shape, rng)

    def fans(self, shape: Shape) -> Shape:
        return shape

    def attend(
        self, params: Values, queries: Value, keys: Value, values: Value, mask: Value, run: Run
    ) -> Value:
        """Returns (N, T, units) for (N, T, F), (N, S, G), (N, S, U) and a mask (N, S) or None."""
        parts = {"q": queries, "k": keys, "v": values}
        q, k, v = (project(params, name, x) for name, x in parts.items())
        return project(params, "o", self.mix(q, k, v, mask, run))

    def mix(self, q: Value, k: Value, v: Value, mask: Value, run: Run) -> Value:
        """Returns (N, T, H d): per head, the values weighted by how well keys match the queries."""
        if mask is not None:  # a query that sees no step attends to padding
            v = ops.mul(v, ops.cast(over_features(mask), v.dtype))
        hidden = self.hidden(q, mask)
        scale = (self.heads / q.shape[2]) ** 0.5
        scores = ops.head_scores(q, k, hidden, heads=self.heads, scale=scale)
        return ops.head_mix(self.drop(ops.softmax(scores), run), v, heads=self.heads)

    def hidden(self, q: Value, mask: Value) -> Value:
        """Returns the bias added to the scores: (N, T, S), (N, 1, S) or None.

        Later steps get a lower score than padding: a query that sees no step attends evenly to the
        padding before it, whose values `mix` zeroes, and never to later steps.
        """
        n, steps, _ = q.shape
        later = causal_mask(n, steps, q.dtype.name) if self.causal else None
        if mask is None:
            return later
        key_mask = ops.reshape(mask, (n, 1, mask.shape[1]))
        padding = ops.mul(ops.sub(1.0, key_mask), mask_score(q.dtype))
        padding = ops.cast(padding, q.dtype)
        return padding if later is None else ops.add(padding, later)

    def drop(self, maps: Value, run: Run) -> Value:
        if not run.training or self.dropout == 0:
            return maps
        rows, steps = self.heads * maps.shape[1], maps.shape[2]
        lost = ops.greater(self.dropout, run.uniform((rows, steps)))
        return ops.where(ops.reshape(lost, maps.shape), 0.0, ops.mul(maps, 1 / (1 - self.dropout)))


def project(params: Values, name: str, x: Value) -> Value:
    """Returns x W + b with the named weights, or x if there are none."""
    if f"W{name}" not in params:
        return x
    rows = ops.matmul(ops.reshape(x, (-1, x.shape[-1])), params[f"W{name}"])
    rows = ops.add_bias(rows, params[f"b{name}"]) if f"b{name}" in params else rows
    return ops.reshape(rows, (*x.shape[:-1], rows.shape[-1]))


def mask_score(dtype: Any) -> Value:
    """Returns the score bias that hides a step; four times that number is finite too."""
    return fit_to_dtype(4 * OUT_OF_SIGHT, dtype) / 4


@lru_cache(maxsize=16)
def causal_mask(n: int, steps: int, dtype: Any) -> Value:
    """Returns (n, steps, steps): 0 where step t may attend, twice `mask_score` after it; read-only.

    All layers of a network share one. It is repeated per example, as oneDNN requires.
    """
    hidden = np.triu(np.full((steps, steps), 2 * mask_score(dtype), dtype), 1)
    hidden = np.tile(hidden, (n, 1, 1))
    hidden.setflags(write=False)
    return hidden
