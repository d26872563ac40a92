"""Adam whose scale never decreases."""

from typing import ClassVar

from sparkdl.config import dataclass
from sparkdl.engine import ops
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.optimizers.adam import Adam, one_minus_power


@dataclass(frozen=True, kw_only=True)
class AMSGrad(Adam):
    """w <- max(w, v'); step = -rate m' / (sqrt(w) + epsilon), with Adam's m' and v'.

    The numbers are optax's. PyTorch keeps the largest v and corrects its bias afterwards, which
    differs while the correction does; the paper corrects nothing.

    References
    ----------
    Reddi, Kale and Kumar, On the convergence of Adam and beyond (2018), algorithm 2.
    """

    slot_names: ClassVar[tuple[str, ...]] = ("mean", "square", "largest")

    def update(self, grad: Value, slots: Values, rate: Value, t: Value) -> tuple[Value, Values]:
        mean = self.beta1 * slots["mean"] + (1 - self.beta1) * grad
        square = self.beta2 * slots["square"] + (1 - self.beta2) * ops.square(grad)
        largest = ops.maximum(slots["largest"], square / one_minus_power(self.beta2, t))
        step = -(rate / one_minus_power(self.beta1, t)) * mean / (ops.sqrt(largest) + self.epsilon)
        return step, {"mean": mean, "square": square, "largest": largest}
