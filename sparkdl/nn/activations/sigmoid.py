"""Activation functions that saturate on both sides."""

from sparkdl.config import Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.activations.base import ActivationFunction
from sparkdl.nn.hints import Value


@dataclass(frozen=True, kw_only=True)
class Erf(ActivationFunction, name="erf"):
    """The error function, 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x."""

    def apply(self, x: Value) -> Value:
        return ops.erf(x)


@dataclass(frozen=True, kw_only=True)
class HardSigmoid(ActivationFunction, name="hard_sigmoid"):
    """slope x + 0.5, kept within 0 and 1."""

    slope: float = option(
        Number(above=0),
        "Slope of the line in the middle: 1/6 in PyTorch, JAX and Keras 3; 0.2 in DL4J, Keras 2 "
        "and ONNX.",
        default=1 / 6,
    )

    def apply(self, x: Value) -> Value:
        return ops.minimum(ops.maximum(ops.add(ops.mul(x, self.slope), 0.5), 0.0), 1.0)


@dataclass(frozen=True, kw_only=True)
class HardTanh(ActivationFunction, name="hard_tanh"):
    """x, kept within -1 and 1."""

    def apply(self, x: Value) -> Value:
        return ops.minimum(ops.maximum(x, -1.0), 1.0)


@dataclass(frozen=True, kw_only=True)
class RationalTanh(ActivationFunction, name="rational_tanh"):
    """1.7159 tanh(2 x / 3), with tanh(y) as sign(y) (1 - 1 / (1 + |y| + y^2 + 1.41645 y^4)).

    DL4J RATIONALTANH. Written as u (r^2 + 1.41645 |u|^3) / (r^2 (r + u^2) + 1.41645 u^4), the same
    number, with u = y / (1 + |y|) and r = 1 / (1 + |y|): the gradient at 0 is right as well, and
    nothing overflows.

    References
    ----------
    LeCun, Bottou, Orr and Mueller, Efficient backprop (1998), section 4.4, for the two constants.
    """

    def apply(self, x: Value) -> Value:
        y = ops.mul(x, 2 / 3)
        r = 1.0 / (ops.abs(y) + 1.0)
        u = y * r
        r2, u2 = ops.square(r), ops.square(u)
        above = r2 + ops.abs(u) * u2 * 1.41645
        return u * 1.7159 * above / (r2 * (r + u2) + ops.square(u2) * 1.41645)


@dataclass(frozen=True, kw_only=True)
class RectifiedTanh(ActivationFunction, name="rectified_tanh"):
    """max(tanh(x), 0); DL4J RECTIFIEDTANH."""

    def apply(self, x: Value) -> Value:
        return ops.relu(ops.tanh(x))


@dataclass(frozen=True, kw_only=True)
class Sigmoid(ActivationFunction, name="sigmoid"):
    """1 / (1 + e^-x)."""

    def apply(self, x: Value) -> Value:
        return ops.sigmoid(x)


@dataclass(frozen=True, kw_only=True)
class Softsign(ActivationFunction, name="softsign"):
    """x / (1 + |x|)."""

    def apply(self, x: Value) -> Value:
        return ops.div(x, ops.add(ops.abs(x), 1.0))


@dataclass(frozen=True, kw_only=True)
class Tanh(ActivationFunction, name="tanh"):
    """The hyperbolic tangent."""

    def apply(self, x: Value) -> Value:
        return ops.tanh(x)
