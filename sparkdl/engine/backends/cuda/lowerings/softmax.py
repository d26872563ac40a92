"""Softmax and its logarithm along the last axis, their gradients, and the cross entropy."""

from dataclasses import dataclass
from math import prod

from sparkdl.engine.backends.cuda.kernels.walks import walks
from sparkdl.engine.ops.base import Op
from sparkdl.engine.ops.softmax import LogSoftmaxGradOp, LogSoftmaxOp


def forward(session, op, x, y):
    return along_rows(session, op, "softmax", x, y)


def backward(session, op, gy, y, gx):
    return along_rows(session, op, "softmax_grad", gy, y, gx)


def along_rows(session, op, name, *arrays):
    logarithm = isinstance(op, LogSoftmaxOp | LogSoftmaxGradOp)
    length, rows = arrays[0].shape[-1], prod(arrays[0].shape[:-1])
    function = kernel(session, name, arrays[0], LOGARITHM=int(logarithm))
    walked = walks(*(a[..., 0] for a in arrays))
    values = *walked, *(a.strides[-1] for a in arrays), length, *arrays
    calls = [session.launch(function, rows, threads(length), *values)] if rows else []
    return calls, name


def cross_entropy(session, op, logits, labels, losses):
    rows, length = logits.shape
    function = kernel(session, "cross_entropy", logits, L=labels.dtype.name)
    steps = *logits.strides, *labels.strides, *losses.strides
    values = *steps, length, logits, labels, losses
    calls = [session.launch(function, rows, threads(length), *values)] if rows else []
    return calls, "cross_entropy"


@dataclass(frozen=True)
class CrossEntropyGradOp(Op):
    """gy (rows, 1) by (softmax of logits (rows, classes) - 1 at the labels (rows,))."""

    def shape(self, logits, labels, gy):
        return logits


def cross_entropy_backward(session, op, logits, labels, gy, gx):
    rows, length = logits.shape
    function = kernel(session, "cross_entropy_grad", logits, L=labels.dtype.name)
    steps = *logits.strides, *labels.strides, gy.strides[0], *gx.strides
    values = *steps, length, logits, labels, gy, gx
    calls = [session.launch(function, rows, threads(length), *values)] if rows else []
    return calls, "cross_entropy_grad"


def kernel(session, name, x, L="int32", LOGARITHM=0):
    return session.family("softmax.cu", name, T=x.dtype.name, L=L, LOGARITHM=LOGARITHM)


def threads(length):
    """Returns the threads of a block for a row of so many numbers, in whole warps."""
    return min(1024, max(32, 1 << max(length // 4 - 1, 0).bit_length()))
