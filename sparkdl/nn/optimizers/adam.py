"""Adaptive moment estimation."""

from math import log
from typing import ClassVar

from sparkdl.config import Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.optimizers.base import Optimizer
from sparkdl.nn.schedules.base import Schedule


@dataclass(frozen=True, kw_only=True)
class Adam(Optimizer):
    """m and v are running means of g and g^2; step = -rate m' / (sqrt(v') + epsilon).

    m <- beta1 m + (1 - beta1) g, v <- beta2 v + (1 - beta2) g^2, and m' = m / (1 - beta1^t),
    v' = v / (1 - beta2^t) take away the bias of their start at 0. PyTorch and optax compute the
    same; Caffe and DL4J add epsilon before v is corrected: AdamHat.

    References
    ----------
    Kingma and Ba, Adam: a method for stochastic optimization (2015), algorithm 1.
    """

    slot_names: ClassVar[tuple[str, ...]] = ("mean", "square")

    learning_rate: float | Schedule = 0.001
    beta1: float = option(
        Number(minimum=0, below=1),
        "Share of the running mean of gradients kept from one update to the next.",
        default=0.9,
    )
    beta2: float = option(
        Number(minimum=0, below=1),
        "Share of the running size of gradients kept from one update to the next.",
        default=0.999,
    )
    epsilon: float = option(Number(above=0), "Number that keeps the divisor from 0.", default=1e-8)

    def update(self, grad: Value, slots: Values, rate: Value, t: Value) -> tuple[Value, Values]:
        mean = self.beta1 * slots["mean"] + (1 - self.beta1) * grad
        square = self.beta2 * slots["square"] + (1 - self.beta2) * ops.square(grad)
        root = ops.sqrt(square / one_minus_power(self.beta2, t))
        step = -(rate / one_minus_power(self.beta1, t)) * mean / (root + self.epsilon)
        return step, {"mean": mean, "square": square}


def one_minus_power(beta: float, t: Value) -> Value:
    """Returns 1 - beta^t to full precision.

    With h = tanh(x / 2), 1 - e^x = -2 h / (1 - h): in float32, 1 - exp(x) would lose four digits at
    beta = 0.999 and t = 1.
    """
    if beta == 0:
        return 1.0
    h = ops.tanh(t * (log(beta) / 2))
    return -2.0 * h / (1.0 - h)
