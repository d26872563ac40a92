"""Softmax and its logarithm along the last axis, their gradients, and cross entropy."""

from math import prod

from sparkdl.engine.backends.cuda.kernels.walks import walks
from sparkdl.engine.ops.softmax import LogSoftmaxGradOp, LogSoftmaxOp


def forward(session, op, x, y):
    return along_rows(session, op, "softmax", x, y)


def backward(session, op, gy, y, gx):
    return along_rows(session, op, "softmax_grad", gy, y, gx)


def along_rows(session, op, name, *arrays):
    logarithm = isinstance(op, LogSoftmaxOp | LogSoftmaxGradOp)
    length, rows = arrays[0].shape[-1], prod(arrays[0].shape[:-1])
    walked = walks(*(a[..., 0] for a in arrays))
    steps = *walked, *(a.strides[-1] for a in arrays)
    return launch_rows(session, name, rows, length, steps, arrays, LOGARITHM=int(logarithm))


def cross_entropy(session, op, logits, labels, losses):
    steps = *logits.strides, *labels.strides, *losses.strides
    arrays, kind = (logits, labels, losses), labels.dtype.name
    return launch_rows(session, "cross_entropy", *logits.shape, steps, arrays, L=kind)


def cross_entropy_backward(session, op, gy, logits, labels, gx):
    steps = *logits.strides, *labels.strides, gy.strides[0], *gx.strides
    arrays, kind = (logits, labels, gy, gx), labels.dtype.name
    return launch_rows(session, "cross_entropy_grad", *logits.shape, steps, arrays, L=kind)


def launch_rows(session, name, rows, length, steps, arrays, L="int32", LOGARITHM=0):
    """Returns calls of a kernel with a block for each of `rows` rows of `length` numbers."""
    kinds = {"T": arrays[0].dtype.name, "L": L, "LOGARITHM": LOGARITHM}
    function = session.family("softmax.cu", name, **kinds)
    values = *steps, length, *arrays
    return [session.launch(function, rows, threads(length), *values)] if rows else [], name


def threads(length):
    """Returns the threads per block for a row of `length` numbers, in whole warps."""
    return min(1024, max(32, 1 << max(length // 4 - 1, 0).bit_length()))
