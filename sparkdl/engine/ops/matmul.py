"""Matrix products and the bias that follows them."""

from dataclasses import dataclass

import numpy as np

from sparkdl.engine.graph import Spec
from sparkdl.engine.ops.base import Op, common_type, register
from sparkdl.engine.ops.elementwise import add
from sparkdl.engine.ops.reduce import sum as sum_along
from sparkdl.engine.ops.shape import axis_of, reshape
from sparkdl.errors import ShapeError


@register
@dataclass(frozen=True)
class MatMul(Op):
    """x y, either of them transposed first: (M, K) (K, N) gives (M, N)."""

    transpose_x: bool = False
    transpose_y: bool = False

    def shape(self, x, y):
        if len(x.shape) != 2 or len(y.shape) != 2:
            raise ShapeError(f"matmul takes two matrices, got {x.shape} and {y.shape}")
        m, k = x.shape[::-1] if self.transpose_x else x.shape
        k2, n = y.shape[::-1] if self.transpose_y else y.shape
        if k != k2:
            raise ShapeError(f"matmul of {(m, k)} and {(k2, n)}: the inner lengths differ")
        return Spec((m, n), common_type(x, y))

    def reference(self, x, y):
        return np.matmul(*self.operands(x, y))

    def operands(self, x, y):
        return (x.T if self.transpose_x else x), (y.T if self.transpose_y else y)

    def flops(self, x, y):
        return 2 * self.shape(x, y).size * x.shape[-2 if self.transpose_x else -1]

    def gradient(self, gz, x, y, z):
        tx, ty = self.transpose_x, self.transpose_y
        gx = matmul(y, gz, ty, True) if tx else matmul(gz, y, False, not ty)
        gy = matmul(gz, x, True, tx) if ty else matmul(x, gz, not tx, False)
        return gx, gy


@register
@dataclass(frozen=True)
class AddBias(Op):
    """x plus one number of b (n,) for each index along `axis`."""

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
        """The shape under which b broadcasts to x."""
        return tuple(n if i == self.axis else 1 for i, n in enumerate(x.shape))

    def gradient(self, gy, x, b, y):
        return gy, sum_along(gy, [i for i in range(len(x.shape)) if i != self.axis])


def matmul(x, y, transpose_x=False, transpose_y=False):
    """The product of two matrices, either of them transposed first."""
    return MatMul(transpose_x, transpose_y)(x, y)


def add_bias(x, b, axis=-1):
    """x plus b along one axis: -1 for rows of features, 1 for images (N, C, H, W)."""
    return AddBias(axis_of(x, axis))(x, b)
