"""Activation functions, which layers apply to their weighted sums."""

from sparkdl.nn.activations.base import ActivationFunction
from sparkdl.nn.activations.formula import Cube, Exp, Identity, Log, Power
from sparkdl.nn.activations.gate import Gelu, HardSwish, Mish, Softplus, Swish
from sparkdl.nn.activations.rectifier import (
    AbsVal,
    Clip,
    Elu,
    Heaviside,
    LeakyRelu,
    Relu,
    Relu6,
    Selu,
    ThresholdedRelu,
)
from sparkdl.nn.activations.sigmoid import (
    Erf,
    HardSigmoid,
    HardTanh,
    RationalTanh,
    RectifiedTanh,
    Sigmoid,
    Softsign,
    Tanh,
)
from sparkdl.nn.activations.softmax import LogSoftmax, Softmax

__all__ = [
    "AbsVal",
    "ActivationFunction",
    "Clip",
    "Cube",
    "Elu",
    "Erf",
    "Exp",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "HardTanh",
    "Heaviside",
    "Identity",
    "LeakyRelu",
    "Log",
    "LogSoftmax",
    "Mish",
    "Power",
    "RationalTanh",
    "RectifiedTanh",
    "Relu",
    "Relu6",
    "Selu",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Softsign",
    "Swish",
    "Tanh",
    "ThresholdedRelu",
]
