"""First values whose spread follows from how many inputs and outputs a layer has.

Variances, and whose numbers they are; a uniform distribution in [-r, r) has variance r^2 / 3:

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

from dataclasses import dataclass

from sparkdl.nn.initializers.base import Initializer


@dataclass(frozen=True, kw_only=True)
class Scaled(Initializer, abstract=True):
    """Mean 0 and a variance of the fans."""

    def variance(self, fan_in, fan_out):
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class ScaledNormal(Scaled, abstract=True):
    """Normal."""

    def draw(self, shape, fans, rng):
        return rng.normal(0.0, self.variance(*fans) ** 0.5, shape)


@dataclass(frozen=True, kw_only=True)
class ScaledUniform(Scaled, abstract=True):
    """Uniform in [-r, r) with r = sqrt(3 variance)."""

    def draw(self, shape, fans, rng):
        limit = (3 * self.variance(*fans)) ** 0.5
        return rng.uniform(-limit, limit, shape)


def xavier(self, fan_in, fan_out):
    return 2 / (fan_in + fan_out)


def he(self, fan_in, fan_out):
    return 2 / fan_in


def sigmoid(self, fan_in, fan_out):
    return 16 * 2 / (fan_in + fan_out)


def lecun(self, fan_in, fan_out):
    return 1 / fan_in


@dataclass(frozen=True, kw_only=True)
class XavierNormal(ScaledNormal, name="xavier"):
    """Normal with variance 2 / (in + out)."""

    variance = xavier


@dataclass(frozen=True, kw_only=True)
class XavierUniform(ScaledUniform, name="xavier_uniform"):
    """Uniform with variance 2 / (in + out)."""

    variance = xavier


@dataclass(frozen=True, kw_only=True)
class HeNormal(ScaledNormal, name="he"):
    """Normal with variance 2 / in; for layers with relu."""

    variance = he


@dataclass(frozen=True, kw_only=True)
class HeUniform(ScaledUniform, name="he_uniform"):
    """Uniform with variance 2 / in; for layers with relu."""

    variance = he


@dataclass(frozen=True, kw_only=True)
class LecunNormal(ScaledNormal, name="lecun"):
    """Normal with variance 1 / in; for layers with selu."""

    variance = lecun


@dataclass(frozen=True, kw_only=True)
class LecunUniform(ScaledUniform, name="lecun_uniform"):
    """Uniform with variance 1 / in."""

    variance = lecun


@dataclass(frozen=True, kw_only=True)
class SigmoidUniform(ScaledUniform, name="sigmoid_uniform"):
    """Uniform in [-r, r) with r = 4 sqrt(6 / (in + out)); for layers with sigmoid."""

    variance = sigmoid
