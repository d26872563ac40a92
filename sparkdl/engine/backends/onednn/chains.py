"""Elementwise work beside oneDNN: compiled loops where they can be had, else numpy in blocks."""

from sparkdl.engine.backends import reference
from sparkdl.engine.backends.base import Kernel
from sparkdl.engine.backends.native.chains import chain_kernel
from sparkdl.engine.chains import Chain
from sparkdl.engine.chains import chain_kernel as numpy_kernel
from sparkdl.errors import UnsupportedError


def lower(op, inputs, outputs, compiler):
    """The kernel of a Chain; `compiler` is None where there is none, which the backend's note says.

    All go element by element in the order of memory.
    """
    kernel, why = compiled(op, inputs, outputs, compiler)
    if kernel is not None:
        return kernel
    shape = outputs[0].shape
    whole = [a for a in (*inputs, *outputs) if a.shape == shape]
    if len({a.strides for a in whole}) > 1:
        return Kernel(reference.copying(op, inputs, outputs), "numpy", why or "layouts differ")
    order = sorted(range(len(shape)), key=lambda axis: -outputs[0].strides[axis])
    inputs = [a.transpose(order) if a.shape == shape else a for a in inputs]
    call = numpy_kernel(op, inputs, [a.transpose(order) for a in outputs])
    return Kernel(call, "numpy, blocked", why)


def compiled(op, inputs, outputs, compiler):
    """(kernel, why there is none); the operation may be a Chain or alone."""
    if compiler is None:
        return None, ""
    chain = op if isinstance(op, Chain) else alone(op, len(inputs))
    try:
        return Kernel(chain_kernel(chain, inputs, outputs, compiler), "compiled loop"), ""
    except UnsupportedError as error:
        return None, str(error)


def alone(op, count):
    """A single elementwise operation on `count` arrays as a Chain."""
    return Chain(((op, tuple(range(count))),), (0,))
