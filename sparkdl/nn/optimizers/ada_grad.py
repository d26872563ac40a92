"""Adagrad, gradient descent scaled by the size of all gradients so far."""

from typing import ClassVar

from sparkdl.config import Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.optimizers.base import Optimizer


@dataclass(frozen=True, kw_only=True)
class AdaGrad(Optimizer):
    """s <- s + g^2; step = -rate g / (sqrt(s) + epsilon).

    Caffe's and PyTorch's numbers; optax has epsilon inside the root.

    References
    ----------
    Duchi, Hazan and Singer, Adaptive subgradient methods for online learning and stochastic
    optimization (2011).
    """

    slot_names: ClassVar[tuple[str, ...]] = ("square",)

    initial_accumulator: float = option(Number(minimum=0), "First value of s.", default=0.0)
    epsilon: float = option(Number(above=0), "Number added to the root.", default=1e-8)

    @property
    def slot_start(self) -> dict[str, float]:
        return {"square": self.initial_accumulator}

    def update(self, grad: Value, slots: Values, rate: Value, t: Value) -> tuple[Value, Values]:
        square = slots["square"] + ops.square(grad)
        return -rate * grad / (ops.sqrt(square) + self.epsilon), {"square": square}
