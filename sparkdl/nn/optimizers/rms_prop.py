"""RMSProp, gradient descent scaled by the size of recent gradients."""

from typing import ClassVar

from sparkdl.config import Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.optimizers.base import Optimizer
from sparkdl.nn.schedules.base import Schedule


@dataclass(frozen=True, kw_only=True)
class RmsProp(Optimizer):
    """s <- decay s + (1 - decay) g^2; step = -rate g / (sqrt(s) + epsilon).

    Epsilon is outside the root, as in Caffe and PyTorch; optax has it inside by default.

    References
    ----------
    Tieleman and Hinton, Neural networks for machine learning, lecture 6.5 (2012).
    """

    slot_names: ClassVar[tuple[str, ...]] = ("square",)

    learning_rate: float | Schedule = 0.001
    decay: float = option(
        Number(minimum=0, below=1),
        "Share of the running mean kept from one update to the next.",
        default=0.9,
    )
    epsilon: float = option(Number(above=0), "Number added to the root.", default=1e-8)

    def update(self, grad: Value, slots: Values, rate: Value, t: Value) -> tuple[Value, Values]:
        square = self.decay * slots["square"] + (1 - self.decay) * ops.square(grad)
        return -rate * grad / (ops.sqrt(square) + self.epsilon), {"square": square}
