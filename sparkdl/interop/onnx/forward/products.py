"""Products of matrices and tensors."""

import numpy as np


def gemm(a, b, c=None, *, alpha=1.0, beta=1.0, transA=0, transB=0):
    y = matmul(a.T if transA else a, b.T if transB else b)
    y = (alpha * y).astype(a.dtype) if alpha != 1 else y
    return y if c is None else (y + beta * c).astype(a.dtype)


def matmul(a, b):
    return np.matmul(a, b).astype(a.dtype)  # numpy returns 32 bits for bfloat16


def einsum(*inputs, equation):
    kind = inputs[0].dtype
    wide = [x.astype(np.float32) for x in inputs] if kind.name == "bfloat16" else inputs
    return np.einsum(equation.replace(" ", ""), *wide).astype(kind)


def matmul_integers(a, b, zero_a=None, zero_b=None):
    """Returns the int32 product of integers less their zero points."""
    return shifted(a, zero_a if zero_a is None else of_rows(zero_a)) @ shifted(b, zero_b)


def shifted(x, zero):
    """Returns x - zero as 32-bit integers."""
    x = x.astype(np.int32)
    return x if zero is None else x - zero.astype(np.int32)


def of_rows(values):
    """Returns one value, or one per row of a matrix, shaped to broadcast over the matrix."""
    return values[:, None] if values.ndim == 1 and values.size > 1 else values


PRODUCTS = {
    "Det": np.linalg.det,
    "Einsum": einsum,
    "Gemm": gemm,
    "MatMul": matmul,
    "MatMulInteger": matmul_integers,
}
