"""Matrix products: by cuBLASLt if available, else by our own kernel, which is slower."""

import numpy as np

from sparkdl.engine.backends.cuda.kernels.expressions import OPERATIONS, expression
from sparkdl.engine.backends.cuda.kernels.walks import require_few_numbers
from sparkdl.engine.backends.cuda.libraries.cublaslt import NO_EPILOGUE, Product
from sparkdl.engine.backends.cuda.libraries.cublaslt_api import Epilogue
from sparkdl.engine.backends.cuda.lowerings import chains, convolutions, reductions
from sparkdl.engine.dtypes import is_float
from sparkdl.engine.ops.activation import ReluOp
from sparkdl.engine.ops.elementwise import add
from sparkdl.engine.ops.gelu import GeluGradOp, GeluOp
from sparkdl.engine.ops.matmul import MatMulOp
from sparkdl.engine.ops.spatial.conv import ConvGradInputOp, ConvOp
from sparkdl.errors import UnsupportedError

EPILOGUES = {
    type(None): NO_EPILOGUE,
    ReluOp: Epilogue.RELU,
    GeluOp: Epilogue.GELU,
    GeluGradOp: Epilogue.GELU_GRADIENT,
}
TILE, THREADS, GRID = 64, 256, 65_535
MATRIX = np.dtype([(name, "i8") for name in ("row", "column", "outer", "inner")])


def matmul(session, op, x, w, y):
    return product(session, *op.operands(x, w), y)


def bias_activation(session, op, x, w, bias, y):
    if isinstance(op.product, MatMulOp):
        return gemm_calls(session, *op.product.operands(x, w), y, bias, op.activation)
    backward = isinstance(op.product, ConvGradInputOp)
    make = convolutions.backward_input if backward else convolutions.forward
    return make(session, op.product, x, w, y, bias, activation_source(op.activation))


def fuses(op):
    """Returns whether a BiasActivationOp is one launch."""
    known = isinstance(op.product, MatMulOp | ConvOp | ConvGradInputOp)
    return known and type(op.activation) in {type(None), *OPERATIONS}


def lower_epilogue_product(session, op, inputs, outputs):
    """Lowers an EpilogueProductOp to one call, or to one per part if the library refuses that."""
    x, w = op.product.operands(*inputs[:2])
    named = op.by_name(inputs, outputs)
    product = Product(x=x, w=w, activation=EPILOGUES[type(op.activation)], **named)
    try:
        return session.libraries.products.calls(session, product), "cuBLASLt"
    except UnsupportedError as why:
        calls, name = separate_calls(session, op, x, w, **named)
        return calls, name, f"cuBLASLt: {why}"


def separate_calls(session, op, x, w, y, bias=None, plus=None, kept=None, sums=None):
    """Returns the calls of an EpilogueProductOp with a pass over memory for each part."""
    slope = isinstance(op.activation, GeluGradOp)
    calls, name, *_ = product(session, x, w, y)
    for more in (m for m in (bias, plus) if m is not None):
        calls += chains.chain(session, add, [y, more], [y])[0]
    if op.before:
        calls += chains.copy_array(session, None, [y], [kept])[0]
    if op.activation is not None:
        calls += chains.decompose_calls(session, op.activation, [y, kept] if slope else [y], y)
    if op.sums:
        calls += reductions.reduction_calls(session, y if slope else w, sums, (0,))[0]
    return calls, name


def product(session, x, w, y, scale=1.0):
    """Returns calls of y = scale x w of matrices, stacks of them or stacks of stacks."""
    library = session.libraries.products
    if library is None or not y.size:
        return gemm_calls(session, x, w, y, scale=scale)
    try:
        return library.calls(session, Product(x=x, w=w, y=y, scale=scale)), "cuBLASLt"
    except UnsupportedError as why:
        return *gemm_calls(session, x, w, y, scale=scale), f"cuBLASLt: {why}"


def gemm_calls(session, x, w, y, bias=None, activation=None, scale=1.0):
    """Returns calls of y = activation(scale x w + bias) by our own kernel."""
    if {x.dtype, w.dtype} != {x.dtype} or not is_float(x.dtype) or x.dtype == np.float64:
        raise UnsupportedError(f"cuda has no product of {x.dtype} and {w.dtype}")
    require_few_numbers(x, w, y)
    x, w, y = (a[(None,) * (4 - a.ndim)] for a in (x, w, y))
    if y.shape[1] > GRID:
        x, w, y = (a.transpose(1, 0, 2, 3) for a in (x, w, y))
    outer, inner, m, n = y.shape
    if inner > GRID or n > GRID * TILE:
        limit = f"{GRID} stacks of {GRID} matrices of {GRID * TILE} columns"
        raise UnsupportedError(f"cuda's own product takes at most {limit}, got {y.shape}")
    if not y.size:
        return [], "gemm"
    kinds = {"T": x.dtype.name, "R": y.dtype.name, "SCALE": f"{float(scale)!r}f"}
    kinds["BIAS"] = kinds["T"] if bias is None else bias.dtype.name
    kinds["AFTER(a)"] = activation_source(activation)
    function = session.family("gemm.cu", "gemm", **kinds)
    numbers = m, n, x.shape[3], inner, *map(matrix, (x, w, y))
    calls, some = [], GRID // inner  # stacks that fit in a grid
    for i in range(0, outer, some):
        stacks = slice(i, i + some)
        grid = -(-m // TILE), -(-n // TILE), inner * len(range(outer)[stacks])
        values = x[stacks], w[stacks], bias, y[stacks]
        calls.append(session.launch(function, grid, THREADS, *numbers, *values))
    return calls, "gemm"


def activation_source(activation):
    """Returns the C code of an activation of `a`, or of none."""
    return "(a)" if activation is None else expression(activation, ["float32"], ["a"])


def matrix(array):
    outer, inner, row, column = (s // array.itemsize for s in array.strides)
    return np.array((row, column, outer, inner), MATRIX)
