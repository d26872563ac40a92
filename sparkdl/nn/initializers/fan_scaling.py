"""Initial values whose variance depends on the numbers of inputs and outputs of a layer.

Variances and their counterparts; a uniform distribution in [-r, r) has variance r^2 / 3:

| name | variance | the same as |
|---|---|---|
| xavier | 2 / (in + out), normal | DL4J XAVIER, PyTorch; Keras and JAX cut theirs at 2 std |
| xavier_uniform | 2 / (in + out) | DL4J XAVIER_UNIFORM, Keras and PyTorch |
| he | 2 / in, normal | DL4J RELU, Caffe msra, PyTorch kaiming_normal_ |
| he_uniform | 2 / in | DL4J RELU_UNIFORM, PyTorch kaiming_uniform_ |
| lecun | 1 / in, normal | DL4J LECUN_NORMAL |
| lecun_uniform | 1 / in | DL4J LECUN_UNIFORM; Caffe's "xavier" |
| sigmoid_uniform | 32 / (in + out) | DL4J SIGMOID_UNIFORM |

References
----------
Glorot and Bengio, Understanding the difficulty of training deep feedforward neural networks
(2010), eq. 12 and 16. He, Zhang, Ren and Sun, Delving deep into rectifiers (2015), eq. 10. LeCun,
Bottou, Orr and Mueller, Efficient backprop (1998), eq. 16.
"""

from typing import ClassVar

import numpy as np

from sparkdl.config import dataclass
from sparkdl.nn.hints import Shape
from sparkdl.nn.initializers.base import Initializer
from sparkdl.nn.initializers.variance_scaling import VarianceScaling


@dataclass(frozen=True, kw_only=True)
class ScaledInitializer(Initializer, abstract=True):
    """A VarianceScaling with fixed options under its own name."""

    same_as: ClassVar[VarianceScaling]

    def draw(self, shape: Shape, fans: Shape, rng: np.random.Generator) -> np.ndarray:
        return self.same_as.draw(shape, fans, rng)


@dataclass(frozen=True, kw_only=True)
class XavierNormal(ScaledInitializer, name="xavier"):
    """Normal with variance 2 / (in + out)."""

    same_as = VarianceScaling(scale=1.0, mode="fan_avg", distribution="normal")


@dataclass(frozen=True, kw_only=True)
class XavierUniform(ScaledInitializer, name="xavier_uniform"):
    """Uniform with variance 2 / (in + out)."""

    same_as = VarianceScaling(scale=1.0, mode="fan_avg", distribution="uniform")


@dataclass(frozen=True, kw_only=True)
class HeNormal(ScaledInitializer, name="he"):
    """Normal with variance 2 / in; for layers with relu."""

    same_as = VarianceScaling(scale=2.0, mode="fan_in", distribution="normal")


@dataclass(frozen=True, kw_only=True)
class HeUniform(ScaledInitializer, name="he_uniform"):
    """Uniform with variance 2 / in; for layers with relu."""

    same_as = VarianceScaling(scale=2.0, mode="fan_in", distribution="uniform")


@dataclass(frozen=True, kw_only=True)
class LecunNormal(ScaledInitializer, name="lecun"):
    """Normal with variance 1 / in; for layers with selu."""

    same_as = VarianceScaling(scale=1.0, mode="fan_in", distribution="normal")


@dataclass(frozen=True, kw_only=True)
class LecunUniform(ScaledInitializer, name="lecun_uniform"):
    """Uniform with variance 1 / in."""

    same_as = VarianceScaling(scale=1.0, mode="fan_in", distribution="uniform")


@dataclass(frozen=True, kw_only=True)
class SigmoidUniform(ScaledInitializer, name="sigmoid_uniform"):
    """Uniform in [-r, r) with r = 4 sqrt(6 / (in + out)); for layers with sigmoid."""

    same_as = VarianceScaling(scale=16.0, mode="fan_avg", distribution="uniform")
