"""Gradient descent scaled by the size of recent gradients."""

from dataclasses import dataclass, field
from typing import ClassVar

from sparkdl.config import of
from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.checks import is_positive, is_share
from sparkdl.nn.schedules.base import Schedule
from sparkdl.nn.updaters.base import Updater


@dataclass(frozen=True, kw_only=True)
class RmsProp(Updater):
    """s <- decay s + (1 - decay) g^2; step = -rate g / (sqrt(s) + epsilon).

    Epsilon is outside the root, as in Caffe and PyTorch; optax has it inside by default.

    Parameters
    ----------
    decay : float
        Share of the running mean kept from one update to the next, in [0, 1).
    epsilon : float
        Above 0.

    References
    ----------
    Tieleman and Hinton, Neural networks for machine learning, lecture 6.5 (2012).
    """

    slot_names: ClassVar = ("square",)

    rate: float | Schedule = field(default=0.001, metadata=of(Schedule, number=True))
    decay: float = 0.9
    epsilon: float = 1e-8

    def __post_init__(self):
        super().__post_init__()
        require(self, "decay", is_share(self.decay), "in [0, 1)")
        require(self, "epsilon", is_positive(self.epsilon), "a number above 0")

    def update(self, grad, slots, rate, t):
        square = self.decay * slots["square"] + (1 - self.decay) * ops.square(grad)
        return -rate * grad / (ops.sqrt(square) + self.epsilon), {"square": square}
