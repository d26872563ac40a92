"""Kernels besides oneDNN: compiled loops if available, else chains in numpy's blocks."""

import numpy as np

from sparkdl.engine.backends import reference
from sparkdl.engine.backends.base import Kernel
from sparkdl.engine.chains import ChainOp
from sparkdl.engine.chains import chain_kernel as numpy_kernel
from sparkdl.engine.dtypes import is_narrow
from sparkdl.engine.native.chains import chain_kernel
from sparkdl.engine.native.cross_entropy import cross_entropy_grad_kernel, cross_entropy_kernel
from sparkdl.engine.native.draws import uniform_kernel
from sparkdl.engine.native.short_softmax import is_short, short_softmax_kernel
from sparkdl.engine.native.sums import sum_kernel, sum_to_kernel
from sparkdl.engine.ops.elementwise import ElementwiseOp
from sparkdl.engine.ops.random import UniformOp
from sparkdl.engine.ops.reduce import EqualOp, SumOp, equal
from sparkdl.engine.ops.shape import BroadcastToOp, CastOp, CopyOp, SumToOp, copy
from sparkdl.engine.ops.softmax import (
    OneHotOp,
    SoftmaxCrossEntropyGradOp,
    SoftmaxCrossEntropyOp,
    SoftmaxOp,
)
from sparkdl.errors import UnsupportedError


def chain(op, inputs, outputs, compiler):
    """Returns the kernel of a ChainOp, compiled, or numpy's with a note that tells why.

    Both go element by element in memory order.
    """
    kernel, why = compile_kernel(op, inputs, outputs, compiler)
    if kernel is not None:
        return kernel
    shape = outputs[0].shape
    full_size = [a for a in (*inputs, *outputs) if a.shape == shape]
    plain = all(isinstance(step, ElementwiseOp) for step, _ in op.steps)
    plain = plain and all(a.shape in (shape, ()) and not is_narrow(a.dtype) for a in inputs)
    if not plain or len({a.strides for a in full_size}) > 1:
        return Kernel(reference.copying(op, inputs, outputs), "numpy", why or "layouts differ")
    order = sorted(range(len(shape)), key=lambda axis: -outputs[0].strides[axis])
    inputs = [a.transpose(order) if a.shape == shape else a for a in inputs]
    call = numpy_kernel(op, inputs, [a.transpose(order) for a in outputs])
    return Kernel(call, "numpy, blocked", why)


def compile_kernel(op, inputs, outputs, compiler):
    """Returns (kernel or None, why there is none); elementwise operations need not be ChainOps."""
    make = chain_or_alone if isinstance(op, ElementwiseOp) else KERNELS.get(type(op))
    if compiler is None or make is None:
        return None, ""
    try:
        return Kernel(make(op, inputs, outputs, compiler), "compiled loop"), ""
    except UnsupportedError as error:
        return None, str(error)


def is_preferred(op, inputs):
    """Returns whether a compiled loop is faster than oneDNN's kernel."""
    return isinstance(op, SoftmaxOp) and is_short(inputs[0])


def chain_or_alone(op, inputs, outputs, compiler):
    op = op if isinstance(op, ChainOp) else alone(op, len(inputs))
    return chain_kernel(op, inputs, outputs, compiler)


def alone(op, count):
    """Returns a single elementwise operation on `count` arrays as a ChainOp."""
    return ChainOp(((op, tuple(range(count))),), (0,))


def copy_kernel(op, inputs, outputs, compiler):
    return chain_kernel(alone(copy, 1), inputs, outputs, compiler)


def one_hot(op, inputs, outputs, compiler):
    """Returns a call that compares each label with all classes along a new last axis."""
    [labels] = inputs
    classes = np.arange(op.classes).astype(labels.dtype)
    return chain_kernel(alone(equal, 2), [labels[..., None], classes], outputs, compiler)


def spread_arrays(make):
    """Adapts a kernel that takes the node's arrays as separate arguments."""
    return lambda op, inputs, outputs, compiler: make(op, *inputs, *outputs, compiler)


KERNELS = {
    UniformOp: spread_arrays(uniform_kernel),
    SumOp: spread_arrays(sum_kernel),
    SumToOp: spread_arrays(sum_to_kernel),
    SoftmaxCrossEntropyOp: spread_arrays(cross_entropy_kernel),
    SoftmaxOp: spread_arrays(short_softmax_kernel),
    SoftmaxCrossEntropyGradOp: spread_arrays(cross_entropy_grad_kernel),
    OneHotOp: one_hot,
    EqualOp: chain_or_alone,
    BroadcastToOp: copy_kernel,
    CastOp: copy_kernel,
    CopyOp: copy_kernel,
}
