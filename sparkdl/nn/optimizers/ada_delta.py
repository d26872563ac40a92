"""Adadelta, gradient descent in the units of its own steps."""

from typing import ClassVar

from sparkdl.config import Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.optimizers.base import Optimizer
from sparkdl.nn.schedules.base import Schedule


@dataclass(frozen=True, kw_only=True)
class AdaDelta(Optimizer):
    """s and d are running means of g^2 and of u^2; u = g sqrt(d + epsilon) / sqrt(s + epsilon).

    s <- decay s + (1 - decay) g^2, then u with the old d, then d <- decay d + (1 - decay) u^2;
    step = -rate u. Caffe, PyTorch and optax compute the same. The defaults are DL4J's, which has
    no learning rate (1 here).

    References
    ----------
    Zeiler, ADADELTA: an adaptive learning rate method (2012), algorithm 1.
    """

    slot_names: ClassVar[tuple[str, ...]] = ("square", "step_square")

    learning_rate: float | Schedule = 1.0
    decay: float = option(
        Number(minimum=0, below=1),
        "Share of the running means kept from one update to the next.",
        default=0.95,
    )
    epsilon: float = option(Number(above=0), "Number added to both means.", default=1e-6)

    def update(self, grad: Value, slots: Values, rate: Value, t: Value) -> tuple[Value, Values]:
        square = self.running_mean(slots["square"], grad)
        change = grad * ops.sqrt((slots["step_square"] + self.epsilon) / (square + self.epsilon))
        return -rate * change, {
            "square": square,
            "step_square": self.running_mean(slots["step_square"], change),
        }

    def running_mean(self, mean: Value, value: Value) -> Value:
        """Returns the running mean of squares after one more value."""
        return self.decay * mean + (1 - self.decay) * ops.square(value)
