"""Plain gradient descent."""

from dataclasses import dataclass

from sparkdl.nn.optimizers.base import Optimizer


@dataclass(frozen=True, kw_only=True)
class Sgd(Optimizer):
    """step = -rate g."""

    def update(self, grad, slots, rate, t):
        return -rate * grad, {}
