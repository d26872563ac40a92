"""Matrix products and bias addition."""

from math import prod

import numpy as np

from sparkdl.config import dataclass
from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.base import Op, common_type, register
from sparkdl.engine.ops.elementwise import add
from sparkdl.engine.ops.reduce import sum as sum_along
from sparkdl.engine.ops.shape import axis_of, reshape
from sparkdl.errors import ShapeError


@register
@dataclass(frozen=True)
class MatMulOp(Op):
    """x y with optional transposition of each: (..., M, K) (..., K, N) gives (..., M, N)."""

    transpose_x: bool = False
    transpose_y: bool = False

    def shape(self, x, y):
        if min(len(x.shape), len(y.shape)) < 2:
            raise ShapeError(f"matmul takes two matrices, got {x.shape} and {y.shape}")
        if x.shape[:-2] != y.shape[:-2]:
            raise ShapeError(f"matmul of {x.shape} and {y.shape}: the leading axes differ")
        m, k = x.shape[:-3:-1] if self.transpose_x else x.shape[-2:]
        k2, n = y.shape[:-3:-1] if self.transpose_y else y.shape[-2:]
        if k != k2:
            raise ShapeError(f"matmul of {(m, k)} and {(k2, n)}: the inner lengths differ")
        return Spec((*x.shape[:-2], m, n), common_type(x, y))

    def reference(self, x, y):
        return np.matmul(*self.operands(x, y))

    def operands(self, x, y):
        return (swap_last_axes(x) if self.transpose_x else x), (
            swap_last_axes(y) if self.transpose_y else y
        )

    def flops(self, x, y):
        return 2 * self.shape(x, y).size * x.shape[-2 if self.transpose_x else -1]

    def gradient(self, gz, x, y, z):
        tx, ty = self.transpose_x, self.transpose_y
        gx = matmul(y, gz, ty, True) if tx else matmul(gz, y, False, not ty)
        gy = matmul(gz, x, True, tx) if ty else matmul(x, gz, not tx, False)
        return gx, gy


def swap_last_axes(x):
    return np.swapaxes(x, -1, -2)


@register
@dataclass(frozen=True)
class AddBiasOp(Op):
    """x plus b (n,), one number per index of `axis`."""

    axis: int

    def shape(self, x, b):
        if b.shape != (x.shape[self.axis],):
            needs = (x.shape[self.axis],)
            raise ShapeError(
                f"add_bias along {self.axis} of {x.shape} needs {needs}, got {b.shape}"
            )
        return x

    def decompose(self, x, b):
        return add(x, reshape(b, self.along(x)))

    def along(self, x):
        """Returns the shape with which b broadcasts to x."""
        return tuple(n if i == self.axis else 1 for i, n in enumerate(x.shape))

    def gradient(self, gy, x, b, y):
        return gy, sum_along(gy, [i for i in range(len(x.shape)) if i != self.axis])


def matmul(x, y, transpose_x=False, transpose_y=False):
    """Multiplies two matrices or two stacks of them, each transposed first if asked.

    Shapes
    ------
    x (..., M, K), y (..., K, N) with equal leading axes, or y (K, N) for all of x; z (..., M, N)
    """
    lead, product = x.shape[:-2], MatMulOp(transpose_x, transpose_y)
    if len(y.shape) == 2 < len(x.shape) and not transpose_x:
        rows = product(reshape(x, (-1, x.shape[-1])), y)
        return reshape(rows, (*x.shape[:-1], rows.shape[-1]))
    if len(lead) > 1 and lead == y.shape[:-2]:  # merge leading axes: backends need one only
        z = product(*(reshape(a, (prod(lead), *a.shape[-2:])) for a in (x, y)))
        return reshape(z, (*lead, *z.shape[1:]))
    return product(x, y)


def add_bias(x, b, axis=-1):
    """x plus b along one axis: -1 for rows of features, 1 for images (N, C, H, W)."""
    return AddBiasOp(axis_of(x, axis))(x, b)
