"""Adam with Nesterov's momentum."""

from sparkdl.config import dataclass
from sparkdl.engine import ops
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.optimizers.adam import Adam, one_minus_power


@dataclass(frozen=True, kw_only=True)
class Nadam(Adam):
    """Adam that looks one update ahead: n in place of m', step = -rate n / (sqrt(v') + epsilon).

    n = beta1 m / (1 - beta1^(t+1)) + (1 - beta1) g / (1 - beta1^t). The numbers are optax's;
    PyTorch's NAdam lets beta1 grow with t.

    References
    ----------
    Dozat, Incorporating Nesterov momentum into Adam (2016), algorithm 2, with a constant mu.
    """

    def update(self, grad: Value, slots: Values, rate: Value, t: Value) -> tuple[Value, Values]:
        mean = self.beta1 * slots["mean"] + (1 - self.beta1) * grad
        square = self.beta2 * slots["square"] + (1 - self.beta2) * ops.square(grad)
        now = (1 - self.beta1) / one_minus_power(self.beta1, t)
        ahead = now * grad + self.beta1 / one_minus_power(self.beta1, t + 1) * mean
        root = ops.sqrt(square / one_minus_power(self.beta2, t))
        return -rate * ahead / (root + self.epsilon), {"mean": mean, "square": square}
