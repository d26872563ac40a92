"""Adam scaled by the deviation of gradients from their running mean."""

from sparkdl.config import dataclass
from sparkdl.engine import ops
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.optimizers.adam import Adam, one_minus_power


@dataclass(frozen=True, kw_only=True)
class AdaBelief(Adam):
    """s <- beta2 s + (1 - beta2) (g - m)^2 + epsilon; step = -rate m' / (sqrt(s') + epsilon).

    m, with which s is made new, and the corrections m' and s' are Adam's. optax computes the same
    (its eps_root is the epsilon in s); the default is DL4J's, where optax has 1e-16.

    References
    ----------
    Zhuang et al., AdaBelief optimizer: adapting stepsizes by the belief in observed gradients
    (2020), algorithm 2.
    """

    epsilon: float = 1e-14

    def update(self, grad: Value, slots: Values, rate: Value, t: Value) -> tuple[Value, Values]:
        mean = self.beta1 * slots["mean"] + (1 - self.beta1) * grad
        surprise = (1 - self.beta2) * ops.square(grad - mean) + self.epsilon
        square = self.beta2 * slots["square"] + surprise
        root = ops.sqrt(square / one_minus_power(self.beta2, t))
        step = -(rate / one_minus_power(self.beta1, t)) * mean / (root + self.epsilon)
        return step, {"mean": mean, "square": square}
