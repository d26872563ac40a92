"""Gradient descent with momentum."""

from dataclasses import dataclass
from typing import ClassVar

from sparkdl.errors import require
from sparkdl.nn.checks import is_share
from sparkdl.nn.updaters.base import Updater


@dataclass(frozen=True, kw_only=True)
class Momentum(Updater):
    """v <- momentum v - rate g; step = v.

    The rate is inside v, as in Caffe (solver type SGD) and DL4J. PyTorch and optax multiply v by
    the rate outside, which differs only while the rate changes.

    Parameters
    ----------
    momentum : float
        Share of the velocity kept from one update to the next, in [0, 1).

    References
    ----------
    Polyak, Some methods of speeding up the convergence of iteration methods (1964).
    """

    slot_names: ClassVar = ("velocity",)

    momentum: float = 0.9

    def __post_init__(self):
        super().__post_init__()
        require(self, "momentum", is_share(self.momentum), "in [0, 1)")

    def update(self, grad, slots, rate, t):
        velocity = self.momentum * slots["velocity"] - rate * grad
        return velocity, {"velocity": velocity}
