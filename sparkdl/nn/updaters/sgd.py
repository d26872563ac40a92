"""Plain gradient descent."""

from dataclasses import dataclass

from sparkdl.nn.updaters.base import Updater


@dataclass(frozen=True, kw_only=True)
class Sgd(Updater):
    """step = -rate g."""

    def update(self, grad, slots, rate, t):
        return -rate * grad, {}
