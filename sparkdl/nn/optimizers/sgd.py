"""Plain gradient descent."""

from sparkdl.config import dataclass
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.optimizers.base import Optimizer


@dataclass(frozen=True, kw_only=True)
class Sgd(Optimizer):
    """step = -rate g."""

    def update(self, grad: Value, slots: Values, rate: Value, t: Value) -> tuple[Value, Values]:
        return -rate * grad, {}
