"""Activation functions: what follows the weighted sum of a layer. In order of the alphabet.

A layer names one ("relu"), or gives its options ({"type": "leaky_relu", "alpha": 0.1}).
"""

from dataclasses import dataclass

from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.checks import is_number, is_positive
from sparkdl.nn.config import Member


@dataclass(frozen=True, kw_only=True)
class ActivationFunction(Member):
    """Base of all activation functions: `apply` maps an array or Tensor to one of its shape."""

    def apply(self, x):
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Cube(ActivationFunction, name="cube"):
    """x cubed."""

    def apply(self, x):
        return ops.mul(ops.square(x), x)


@dataclass(frozen=True, kw_only=True)
class Elu(ActivationFunction, name="elu"):
    """x above 0, else alpha (e^x - 1); Clevert, Unterthiner and Hochreiter (2015), eq. 15."""

    alpha: float = 1.0

    def __post_init__(self):
        super().__post_init__()
        require(self, "alpha", is_positive(self.alpha), "a number above 0")

    def apply(self, x):
        return ops.elu(x, self.alpha)


@dataclass(frozen=True, kw_only=True)
class Gelu(ActivationFunction, name="gelu"):
    """x times the normal distribution function of x, by erf; Hendrycks and Gimpel (2016)."""

    def apply(self, x):
        return ops.mul(ops.mul(x, 0.5), ops.add(ops.erf(ops.mul(x, 0.5**0.5)), 1.0))


@dataclass(frozen=True, kw_only=True)
class HardSigmoid(ActivationFunction, name="hard_sigmoid"):
    """slope x + 0.5, kept within 0 and 1.

    Parameters
    ----------
    slope : float
        Above 0. 1/6 is what PyTorch, JAX and Keras 3 have; 0.2 what DL4J, Keras 2 and ONNX have.
    """

    slope: float = 1 / 6

    def __post_init__(self):
        super().__post_init__()
        require(self, "slope", is_positive(self.slope), "a number above 0")

    def apply(self, x):
        return ops.minimum(ops.maximum(ops.add(ops.mul(x, self.slope), 0.5), 0.0), 1.0)


@dataclass(frozen=True, kw_only=True)
class HardTanh(ActivationFunction, name="hard_tanh"):
    """x, kept within -1 and 1."""

    def apply(self, x):
        return ops.minimum(ops.maximum(x, -1.0), 1.0)


@dataclass(frozen=True, kw_only=True)
class Identity(ActivationFunction, name="identity"):
    """x itself."""

    def apply(self, x):
        return x


@dataclass(frozen=True, kw_only=True)
class LeakyRelu(ActivationFunction, name="leaky_relu"):
    """x above 0, else alpha x; Maas, Hannun and Ng (2013), eq. 4."""

    alpha: float = 0.01

    def __post_init__(self):
        super().__post_init__()
        require(self, "alpha", is_number(self.alpha), "a finite number")

    def apply(self, x):
        return ops.leaky_relu(x, self.alpha)


@dataclass(frozen=True, kw_only=True)
class Relu(ActivationFunction, name="relu"):
    """max(x, 0)."""

    def apply(self, x):
        return ops.relu(x)


@dataclass(frozen=True, kw_only=True)
class Relu6(ActivationFunction, name="relu6"):
    """x, kept within 0 and 6; Howard et al., MobileNets (2017)."""

    def apply(self, x):
        return ops.minimum(ops.relu(x), 6.0)


@dataclass(frozen=True, kw_only=True)
class Selu(ActivationFunction, name="selu"):
    """scale times elu(x, alpha), with the two constants that keep mean 0 and variance 1.

    References
    ----------
    Klambauer, Unterthiner, Mayr and Hochreiter, Self-normalizing neural networks (2017), eq. 14.
    """

    def apply(self, x):
        return ops.mul(ops.elu(x, 1.6732632423543772), 1.0507009873554805)


@dataclass(frozen=True, kw_only=True)
class Sigmoid(ActivationFunction, name="sigmoid"):
    """1 / (1 + e^-x)."""

    def apply(self, x):
        return ops.sigmoid(x)


@dataclass(frozen=True, kw_only=True)
class Softmax(ActivationFunction, name="softmax"):
    """e^x over its sum: over the features of rows, over the channels of images (N, C, H, W)."""

    def apply(self, x):
        if len(x.shape) != 4:
            return ops.softmax(x)
        return ops.transpose(ops.softmax(ops.transpose(x, (0, 2, 3, 1))), (0, 3, 1, 2))


@dataclass(frozen=True, kw_only=True)
class Softplus(ActivationFunction, name="softplus"):
    """log(1 + e^x)."""

    def apply(self, x):
        return ops.softplus(x)


@dataclass(frozen=True, kw_only=True)
class Softsign(ActivationFunction, name="softsign"):
    """x / (1 + |x|)."""

    def apply(self, x):
        return ops.div(x, ops.add(ops.abs(x), 1.0))


@dataclass(frozen=True, kw_only=True)
class Swish(ActivationFunction, name="swish"):
    """x sigmoid(x), also called SiLU; Ramachandran, Zoph and Le (2017)."""

    def apply(self, x):
        return ops.mul(x, ops.sigmoid(x))


@dataclass(frozen=True, kw_only=True)
class Tanh(ActivationFunction, name="tanh"):
    """The hyperbolic tangent."""

    def apply(self, x):
        return ops.tanh(x)
