"""Gradient descent scaled by the size of all gradients so far."""

from dataclasses import dataclass
from typing import ClassVar

from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.checks import is_not_negative, is_positive
from sparkdl.nn.updaters.base import Updater


@dataclass(frozen=True, kw_only=True)
class AdaGrad(Updater):
    """s <- s + g^2; step = -rate g / (sqrt(s) + epsilon).

    Caffe's and PyTorch's numbers; optax has epsilon inside the root.

    Parameters
    ----------
    initial_accumulator : float
        What s starts at, at least 0.
    epsilon : float
        Above 0.

    References
    ----------
    Duchi, Hazan and Singer, Adaptive subgradient methods for online learning and stochastic
    optimization (2011).
    """

    slot_names: ClassVar = ("square",)

    initial_accumulator: float = 0.0
    epsilon: float = 1e-8

    def __post_init__(self):
        super().__post_init__()
        start = self.initial_accumulator
        require(self, "initial_accumulator", is_not_negative(start), "a number >= 0")
        require(self, "epsilon", is_positive(self.epsilon), "a number above 0")

    @property
    def slot_start(self):
        return {"square": self.initial_accumulator}

    def update(self, grad, slots, rate, t):
        square = slots["square"] + ops.square(grad)
        return -rate * grad / (ops.sqrt(square) + self.epsilon), {"square": square}
