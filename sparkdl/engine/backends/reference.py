"""numpy on the CPU: every operation in any float type, the reference for other backends."""

from functools import partial

import numpy as np

from sparkdl.engine.backends.base import PROCESSOR, Kernel
from sparkdl.engine.backends.memory import FlatVector, empty
from sparkdl.engine.chains import ChainOp, chain_kernel, into_chains
from sparkdl.engine.dtypes import is_narrow, widen
from sparkdl.engine.fusion import RULES, BiasActivationOp, fuse
from sparkdl.engine.ops.elementwise import ElementwiseOp
from sparkdl.engine.ops.matmul import MatMulOp
from sparkdl.engine.program import Program


class Reference:
    """Kernels that call numpy with a destination if possible, else compute and copy."""

    name, device_name, decodes = "reference", PROCESSOR, ()
    rewrites = (partial(fuse, rules=RULES), into_chains)

    def __init__(self, note=""):
        self.note = note

    def fresh(self):
        return self

    def empty(self, size):
        return empty(size)

    def array(self, part, shape):
        return part.reshape(shape)

    def constant(self, value):
        return value

    def hold(self, arrays):
        pass  # numpy reads arrays in any layout

    def copy(self, source, to):
        return Kernel(partial(np.copyto, to, source), "memcpy")

    def vector(self, values):
        return FlatVector(values)

    def link(self, vectors):
        return None

    def lend(self, vectors):
        return None

    def program(self, graph, bindings=None, strict=False, tf32=False, constant_bindings=False):
        return Program(graph, self, bindings, strict, constant_bindings)

    def choose_threads(self, *sequences):
        pass  # numpy's kernels choose themselves

    def in_sequence(self, calls):
        return calls

    def leave_sequence(self):
        pass

    def lower(self, node, inputs, outputs):
        op = node.op
        if any(is_narrow(array.dtype) for array in (*inputs, *outputs)):
            return Kernel(copying(op, inputs, outputs), "numpy in float32, then copy")
        if isinstance(op, ChainOp):
            return Kernel(chain_kernel(op, inputs, outputs), "numpy, blocked")
        if isinstance(op, MatMulOp):
            x, y = op.operands(*inputs)
            return Kernel(lambda: np.matmul(x, y, out=outputs[0]), "numpy gemm")
        if isinstance(op, BiasActivationOp):
            return Kernel(bias_activation(op, inputs, outputs[0]), "numpy, in place")
        if isinstance(op, ElementwiseOp) and op.ufunc is not None:
            ufunc = op.ufunc
            return Kernel(lambda: ufunc(*inputs, out=outputs[0]), f"numpy {ufunc.__name__}")
        if hasattr(op, "into"):
            return Kernel(partial(op.into, *outputs, *inputs), "numpy, in place")
        return Kernel(copying(op, inputs, outputs), "numpy, then copy")


def copying(op, inputs, outputs):
    """Returns a call that copies the results of `reference` to the outputs."""

    def call():
        results = op.reference(*map(widen, inputs))
        results = results if isinstance(results, tuple) else (results,)
        for out, result in zip(outputs, results, strict=True):
            np.copyto(out, result, casting="unsafe")

    return call


def bias_activation(op, inputs, out):
    """Returns a call: the product into the output, then bias and activation in place."""
    x, w, b = inputs
    wide = b.reshape(op.bias.along(out))
    rectify = op.activation is not None and op.activation.kind == "Relu"

    def call():
        if isinstance(op.product, MatMulOp):
            np.matmul(*op.product.operands(x, w), out=out)
        else:
            np.copyto(out, op.product.reference(x, w))
        np.add(out, wide, out=out)
        if rectify:
            np.maximum(out, 0, out=out)
        elif op.activation is not None:
            np.copyto(out, op.activation.reference(out))

    return call


BACKEND = Reference()
