"""Adam with the largest recent gradient instead of the root mean square."""

from typing import ClassVar

from sparkdl.config import dataclass
from sparkdl.engine import ops
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.optimizers.adam import Adam, one_minus_power


@dataclass(frozen=True, kw_only=True)
class AdaMax(Adam):
    """u <- max(beta2 u, |g| + epsilon); step = -rate m' / u, with Adam's m'.

    PyTorch and optax compute the same. The paper has no epsilon, and 0 / 0 where every gradient
    was 0.

    References
    ----------
    Kingma and Ba, Adam: a method for stochastic optimization (2015), algorithm 2.
    """

    slot_names: ClassVar[tuple[str, ...]] = ("mean", "largest")

    def update(self, grad: Value, slots: Values, rate: Value, t: Value) -> tuple[Value, Values]:
        mean = self.beta1 * slots["mean"] + (1 - self.beta1) * grad
        largest = ops.maximum(self.beta2 * slots["largest"], ops.abs(grad) + self.epsilon)
        step = -(rate / one_minus_power(self.beta1, t)) * mean / largest
        return step, {"mean": mean, "largest": largest}
