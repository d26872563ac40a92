"""Smooth relatives of relu."""

from dataclasses import dataclass

from sparkdl.engine import ops
from sparkdl.nn.activations.base import ActivationFunction


@dataclass(frozen=True, kw_only=True)
class Gelu(ActivationFunction, name="gelu"):
    """x times the normal distribution function of x, by erf; Hendrycks and Gimpel (2016)."""

    def apply(self, x):
        return ops.mul(ops.mul(x, 0.5), ops.add(ops.erf(ops.mul(x, 0.5**0.5)), 1.0))


@dataclass(frozen=True, kw_only=True)
class Mish(ActivationFunction, name="mish"):
    """x tanh(log(1 + e^x)); Misra (2019). DL4J MISH."""

    def apply(self, x):
        return ops.mul(x, ops.tanh(ops.softplus(x)))


@dataclass(frozen=True, kw_only=True)
class Softplus(ActivationFunction, name="softplus"):
    """log(1 + e^x); Caffe layer BNLL."""

    def apply(self, x):
        return ops.softplus(x)


@dataclass(frozen=True, kw_only=True)
class Swish(ActivationFunction, name="swish"):
    """x sigmoid(x), also called SiLU; Ramachandran, Zoph and Le (2017)."""

    def apply(self, x):
        return ops.mul(x, ops.sigmoid(x))
