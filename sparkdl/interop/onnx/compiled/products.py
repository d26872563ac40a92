"""Products of matrices."""

from math import prod

import numpy as np

from sparkdl.engine import ops
from sparkdl.engine.graph import Tensor
from sparkdl.errors import UnsupportedError
from sparkdl.interop.onnx.compiled.arithmetic import floats
from sparkdl.interop.onnx.compiled.arrangements import reshape
from sparkdl.interop.onnx.compiled.one_hot import pick_rows


def matmul(a, b):
    a, b = floats(a, b)
    rows = pick_rows(a, b)
    if rows is not None:
        return rows
    if min(len(a.shape), len(b.shape)) < 2:
        raise UnsupportedError("a vector")
    if len(b.shape) == 2 and isinstance(a, Tensor):
        rows = ops.matmul(reshape(a, (prod(a.shape[:-1]), a.shape[-1])), b)
        return reshape(rows, (*a.shape[:-1], b.shape[-1]))
    if a.shape[:-2] != b.shape[:-2]:
        raise UnsupportedError("leading axes that differ")
    lead = a.shape[:-2]
    if len(lead) < 2:
        return ops.matmul(a, b)
    a, b = (stack(x, (prod(lead), *x.shape[-2:])) for x in (a, b))
    return reshape(ops.matmul(a, b), (*lead, a.shape[-2], b.shape[-1]))


def stack(x, shape):
    return reshape(x, shape) if isinstance(x, Tensor) else np.reshape(x, shape)


def gemm(a, b, c=None, *, alpha=1.0, beta=1.0, transA=0, transB=0):
    a, b = floats(a, b)
    y = ops.matmul(a, b, bool(transA), bool(transB))
    y = y if alpha == 1 else y * np.float32(alpha)
    if c is None:
        return y
    [c] = floats(c)
    if np.broadcast_shapes(c.shape, y.shape) != y.shape:
        raise UnsupportedError("a bias that is larger than the product")
    return y + (c if beta == 1 else c * np.float32(beta))


PRODUCTS = {"Gemm": gemm, "MatMul": matmul}
