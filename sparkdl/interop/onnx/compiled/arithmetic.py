"""Arithmetic, activations, and operations along axes."""

from functools import reduce
from math import prod

import numpy as np

from sparkdl.engine import ops
from sparkdl.engine.graph import Tensor
from sparkdl.errors import UnsupportedError
from sparkdl.interop.onnx.compiled.arrangements import reshape
from sparkdl.interop.onnx.compiled.images import on_images
from sparkdl.interop.onnx.forward.shapes import whole_numbers


def floats(*inputs):
    """Returns the inputs; raises UnsupportedError unless all arrays are float32."""
    for x in inputs:
        if not isinstance(x, Tensor) and x.dtype != np.float32:
            raise UnsupportedError(f"numbers of {x.dtype} beside 32-bit floats")
    return inputs


def of_floats(operation):
    """Returns the rule for a binary operation applied to any number of inputs."""
    return lambda *inputs: reduce(operation, floats(*inputs))


def clip(x, low=None, high=None):
    if low is not None:
        x = ops.maximum(*floats(x, low))
    return x if high is None else ops.minimum(*floats(x, high))


def power(x, exponent):
    if isinstance(exponent, Tensor) or exponent.size != 1 or not isinstance(x, Tensor):
        raise UnsupportedError("exponents other than one number")
    if exponent.ndim > x.ndim:
        raise UnsupportedError("exponents with more axes")
    exponent = float(exponent.reshape(())[()])
    return ops.square(x) if exponent == 2 else ops.power(x, exponent)


def hard_sigmoid(x, *, alpha=0.2, beta=0.5):
    return ops.minimum(ops.maximum(x * np.float32(alpha) + np.float32(beta), 0.0), 1.0)


def swish(x, *, alpha=1.0):
    return x * ops.sigmoid(x if alpha == 1 else x * np.float32(alpha))


def along_rows(operation):
    """Returns the rule for an engine operation along the last axis."""

    def compute(x, *, axis=-1):
        if axis not in (-1, x.ndim - 1):
            raise UnsupportedError("another axis than the last")
        rows = reshape(x, (prod(x.shape[:-1]), x.shape[-1]))
        return reshape(operation(rows), x.shape)

    return compute


def layer_normalization(x, scale, b=None, *, axis=-1, epsilon=1e-5, stash_type=1):
    scale, b = floats(scale, np.zeros_like(scale) if b is None else b)
    if axis not in (-1, x.ndim - 1) or stash_type != 1 or scale.ndim > 1:
        raise UnsupportedError("other axes than the last")
    return ops.layer_norm(x, scale, b, epsilon=epsilon)


def reduction(operation):
    """Returns the rule for an engine reduction along axes; see forward.reductions."""

    def compute(x, axes=None, *, keepdims=1, noop_with_empty_axes=0):
        axes = whole_numbers(axes) if axes is not None else []
        if not axes and noop_with_empty_axes:
            raise UnsupportedError("no axes")
        return operation(x, axes or None, bool(keepdims))

    return compute


ELEMENTWISE = {
    "Abs": ops.abs,
    "Add": of_floats(ops.add),
    "Clip": clip,
    "Div": of_floats(ops.div),
    "Elu": lambda x, *, alpha=1.0: ops.elu(x, alpha),
    "Erf": ops.erf,
    "Exp": ops.exp,
    "Gelu": lambda x, *, approximate="none": ops.gelu(x, approximate == "tanh"),
    "HardSigmoid": hard_sigmoid,
    "HardSwish": lambda x: x * hard_sigmoid(x, alpha=1 / 6),
    "LeakyRelu": lambda x, *, alpha=0.01: ops.leaky_relu(x, alpha),
    "Log": ops.log,
    "Max": of_floats(ops.maximum),
    "Min": of_floats(ops.minimum),
    "Mul": of_floats(ops.mul),
    "Neg": ops.neg,
    "Pow": power,
    "Reciprocal": lambda x: ops.div(np.float32(1), x),
    "Relu": ops.relu,
    "Sigmoid": ops.sigmoid,
    "Softplus": ops.softplus,
    "Sqrt": ops.sqrt,
    "Sub": of_floats(ops.sub),
    "Sum": of_floats(ops.add),
    "Swish": swish,
    "Tanh": ops.tanh,
}
ARITHMETIC = {name: on_images(rule) for name, rule in ELEMENTWISE.items()} | {
    "LayerNormalization": layer_normalization,
    "LogSoftmax": along_rows(ops.log_softmax),
    "ReduceMax": reduction(ops.max),
    "ReduceMean": reduction(ops.mean),
    "ReduceSum": reduction(ops.sum),
    "Softmax": along_rows(ops.softmax),
}
