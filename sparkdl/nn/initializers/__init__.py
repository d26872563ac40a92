"""Initializers: the initial values of parameters."""

from sparkdl.nn.initializers.base import Initializer
from sparkdl.nn.initializers.constant import Constant, Ones, Zeros
from sparkdl.nn.initializers.fan_scaling import (
    HeNormal,
    HeUniform,
    LecunNormal,
    LecunUniform,
    SigmoidUniform,
    XavierNormal,
    XavierUniform,
)
from sparkdl.nn.initializers.filler import Bilinear, PositiveUnitball
from sparkdl.nn.initializers.matrix import IdentityMatrix, Orthogonal
from sparkdl.nn.initializers.plain import Binomial, LogNormal, Normal, TruncatedNormal, Uniform
from sparkdl.nn.initializers.variance_scaling import VarianceScaling

__all__ = [
    "Bilinear",
    "Binomial",
    "Constant",
    "HeNormal",
    "HeUniform",
    "IdentityMatrix",
    "Initializer",
    "LecunNormal",
    "LecunUniform",
    "LogNormal",
    "Normal",
    "Ones",
    "Orthogonal",
    "PositiveUnitball",
    "SigmoidUniform",
    "TruncatedNormal",
    "Uniform",
    "VarianceScaling",
    "XavierNormal",
    "XavierUniform",
    "Zeros",
]
