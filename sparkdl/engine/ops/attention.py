"""Products of sequences per attention head.

N batch, T steps of the queries, S steps of the keys, H heads, F numbers per step for all heads, d =
F / H of them per head. Heads are never split in memory: a backend that supports strides reads (N,
T, F) as (N, H, T, d) in place.
"""

import numpy as np

from sparkdl.config import dataclass
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.base import Op, common_type, register
from sparkdl.engine.ops.reduce import sum as sum_along
from sparkdl.engine.ops.shape import reshape
from sparkdl.errors import ShapeError


@dataclass(frozen=True)
class HeadProductOp(Op):
    """A product per example and head, times `scale`."""

    heads: int
    scale: float = 1.0

    def by_heads(self, x):
        """Returns (N, T, F) as (N, H, T, d), a view."""
        return x.reshape(*x.shape[:2], self.heads, x.shape[2] // self.heads).swapaxes(1, 2)

    def by_examples(self, maps):
        """Returns (N H, T, S) as (N, H, T, S), a view."""
        return maps.reshape(len(maps) // self.heads, self.heads, *maps.shape[1:])

    def divides(self, x):
        if len(x.shape) != 3 or x.shape[2] % self.heads:
            kind = self.kind
            raise ShapeError(f"{kind} needs (batch, steps, {self.heads} d), got {x.shape}")


@register
@dataclass(frozen=True)
class HeadScoresOp(HeadProductOp):
    """The score of each key for each query: scale q k^T (+ a bias shared by all heads).

    Shapes
    ------
    q (N, T, F), k (N, S, F), bias (N, T, S) or (N, 1, S), optional; y (N H, T, S)
    """

    floating = True

    def shape(self, q, k, *bias):
        self.divides(q)
        if len(k.shape) != 3 or (q.shape[0], q.shape[2]) != (k.shape[0], k.shape[2]):
            raise ShapeError(f"queries {q.shape} need keys of as many numbers, got {k.shape}")
        (n, t, _), s = q.shape, k.shape[1]
        for b in bias:
            if b.shape not in ((n, t, s), (n, 1, s)):
                raise ShapeError(f"scores {(n, t, s)} need a bias like them, got {b.shape}")
        return Spec((n * self.heads, t, s), common_type(q, k))

    def reference(self, q, k, *bias):
        y = np.matmul(self.by_heads(q), self.by_heads(k).swapaxes(2, 3)) * q.dtype.type(self.scale)
        for b in bias:
            y += b[:, None]
        return y.reshape(y.shape[0] * self.heads, *y.shape[2:])

    def flops(self, q, k, *bias):
        return 2 * q.size * k.shape[1]

    def gradient(self, gy, q, k, *bias_and_y):
        gq = HeadMixOp(self.heads, self.scale)(gy, k)
        gk = HeadMixOp(self.heads, self.scale, True)(gy, q)
        return gq, gk, *(self.to_bias(gy, b) for b in bias_and_y[:-1])

    def to_bias(self, gy, bias):
        axes = 1 if bias.shape[1] == gy.shape[1] else (1, 2)
        by_examples = reshape(gy, (bias.shape[0], self.heads, *gy.shape[1:]))
        return reshape(sum_along(by_examples, axes), bias.shape)


@register
@dataclass(frozen=True)
class HeadMixOp(HeadProductOp):
    """The values of the keys, weighted per query by its row of `maps`: scale maps v.

    With `back`, weighted per key by its column: scale maps^T v, where v has the steps of the
    queries.

    Shapes
    ------
    maps (N H, T, S), v (N, S, F), y (N, T, F); back: v (N, T, F), y (N, S, F)
    """

    floating = True
    back: bool = False

    def shape(self, maps, v):
        self.divides(v)
        n, steps, _ = v.shape
        read = maps.shape[:0:-1] if self.back else maps.shape[1:]
        if len(read) != 2 or (maps.shape[0], read[1]) != (n * self.heads, steps):
            raise ShapeError(f"values {v.shape} of {self.heads} heads do not fit maps {maps.shape}")
        return Spec((n, read[0], v.shape[2]), common_type(maps, v))

    def maps(self, maps):
        """Returns the maps per example, transposed if `back`."""
        maps = self.by_examples(maps)
        return maps.swapaxes(2, 3) if self.back else maps

    def reference(self, maps, v):
        y = np.matmul(self.maps(maps), self.by_heads(v)) * v.dtype.type(self.scale)
        return y.swapaxes(1, 2).reshape(*y.shape[::2], v.shape[2])

    def flops(self, maps, v):
        return 2 * maps.size * v.shape[2] // self.heads

    def gradient(self, gy, maps, v, y):
        pair = (v, gy) if self.back else (gy, v)
        gmaps = HeadScoresOp(self.heads, self.scale)(*pair)
        return gmaps, HeadMixOp(self.heads, self.scale, not self.back)(maps, gy)


def head_scores(q, k, bias=None, *, heads=1, scale=1.0):
    """(N H, T, S): scale q k^T of each head, plus `bias` (N, T, S) or (N, 1, S)."""
    return HeadScoresOp(int(heads), float(scale))(q, k, *(() if bias is None else (bias,)))


def head_mix(maps, v, *, heads=1):
    """(N, T, F): for each head the rows of `maps` (N H, T, S) times the values v (N, S, F)."""
    return HeadMixOp(int(heads))(maps, v)
