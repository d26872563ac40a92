"""Activations, element-wise or along an axis."""

from math import pi

import numpy as np

from sparkdl.interop.onnx.forward.elementwise import error_function


def elu(x, *, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))).astype(x.dtype)


def celu(x, *, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(x / alpha)).astype(x.dtype)


def selu(x, *, alpha=1.67326319217681884765625, gamma=1.05070102214813232421875):
    return (gamma * elu(x, alpha=alpha)).astype(x.dtype)


def gelu(x, *, approximate="none"):
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh((2 / pi) ** 0.5 * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + error_function(x / 2**0.5))


def hard_sigmoid(x, *, alpha=0.2, beta=0.5):
    return np.clip(alpha * x + beta, 0, 1).astype(x.dtype)


def hard_swish(x):
    return x * hard_sigmoid(x, alpha=1 / 6)


def leaky_relu(x, *, alpha=0.01):
    return np.where(x < 0, alpha * x, x).astype(x.dtype)


def mish(x):
    return x * np.tanh(softplus(x))


def prelu(x, slope):
    return np.where(x < 0, slope * x, x).astype(x.dtype)


def relu(x):
    return np.maximum(x, np.zeros((), x.dtype))


def shrink(x, *, bias=0.0, lambd=0.5):
    return np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0)).astype(x.dtype)


def sigmoid(x):
    return (1 / (1 + np.exp(-x))).astype(x.dtype)


def softplus(x):
    return np.logaddexp(x, np.zeros((), x.dtype)).astype(x.dtype)


def softsign(x):
    return x / (1 + np.abs(x))


def swish(x, *, alpha=1.0):
    return x * sigmoid((alpha * x).astype(x.dtype))


def swi_glu(gate, x, *, alpha=1.0):
    return swish(gate, alpha=alpha) * x


def thresholded_relu(x, *, alpha=1.0):
    return np.where(x > alpha, x, 0).astype(x.dtype)


def softmax(x, *, axis=-1):
    y = np.exp(x - x.max(axis=axis, keepdims=True))
    return y / y.sum(axis=axis, keepdims=True)


def log_softmax(x, *, axis=-1):
    x = x - x.max(axis=axis, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=axis, keepdims=True))


def hardmax(x, *, axis=-1):
    """Returns 1 at the first maximum along the axis, 0 elsewhere."""
    y = np.zeros_like(x)
    first = np.expand_dims(x.argmax(axis=axis), axis)
    np.put_along_axis(y, first, np.ones((), x.dtype), axis=axis)
    return y


ACTIVATIONS = {
    "Celu": celu,
    "Elu": elu,
    "Gelu": gelu,
    "HardSigmoid": hard_sigmoid,
    "HardSwish": hard_swish,
    "Hardmax": hardmax,
    "LeakyRelu": leaky_relu,
    "LogSoftmax": log_softmax,
    "Mish": mish,
    "PRelu": prelu,
    "Relu": relu,
    "Selu": selu,
    "Shrink": shrink,
    "Sigmoid": sigmoid,
    "Softmax": softmax,
    "Softplus": softplus,
    "Softsign": softsign,
    "SwiGLU": swi_glu,
    "Swish": swish,
    "Tanh": np.tanh,
    "ThresholdedRelu": thresholded_relu,
}
