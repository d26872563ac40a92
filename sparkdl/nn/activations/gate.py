"""Smooth relatives of relu."""

from sparkdl.config import Boolean, Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.activations.base import ActivationFunction
from sparkdl.nn.activations.sigmoid import HardSigmoid
from sparkdl.nn.hints import Value


@dataclass(frozen=True, kw_only=True)
class Gelu(ActivationFunction, name="gelu"):
    """x times the normal distribution function of x; Hendrycks and Gimpel (2016)."""

    approximate: bool = option(
        Boolean(),
        "Whether the distribution function is taken by tanh, as BERT and GPT-2 have it, "
        "rather than by erf.",
        default=False,
    )

    def apply(self, x: Value) -> Value:
        return ops.gelu(x, self.approximate)


@dataclass(frozen=True, kw_only=True)
class HardSwish(ActivationFunction, name="hard_swish"):
    """x times x / 6 + 1/2, kept within 0 and 1; Howard et al., Searching for MobileNetV3 (2019).

    PyTorch's Hardswish, Keras's hard_silu, ONNX's HardSwish.
    """

    def apply(self, x: Value) -> Value:
        return ops.mul(x, HardSigmoid().apply(x))


@dataclass(frozen=True, kw_only=True)
class Mish(ActivationFunction, name="mish"):
    """x tanh(log(1 + e^x)); Misra (2019). DL4J MISH."""

    def apply(self, x: Value) -> Value:
        return ops.mul(x, ops.tanh(ops.softplus(x)))


@dataclass(frozen=True, kw_only=True)
class Softplus(ActivationFunction, name="softplus"):
    """log(1 + e^x); Caffe layer BNLL."""

    def apply(self, x: Value) -> Value:
        return ops.softplus(x)


@dataclass(frozen=True, kw_only=True)
class Swish(ActivationFunction, name="swish"):
    """x sigmoid(beta x), with beta 1 also called SiLU; Ramachandran, Zoph and Le (2017).

    Caffe layer Swish.
    """

    beta: float = option(
        Number(), "Factor of x in the sigmoid; the larger, the nearer to relu.", default=1.0
    )

    def apply(self, x: Value) -> Value:
        return ops.mul(x, ops.sigmoid(x if self.beta == 1 else ops.mul(x, self.beta)))
