"""A rate that falls like a power of 1 / t."""

from dataclasses import dataclass

from sparkdl.errors import require
from sparkdl.nn.checks import is_not_negative
from sparkdl.nn.schedules.base import Decay


@dataclass(frozen=True, kw_only=True)
class Inverse(Decay):
    """rate = initial (1 + gamma t)^-power. Caffe lr_policy "inv".

    Parameters
    ----------
    gamma, power : float
        At least 0.
    """

    gamma: float
    power: float = 1.0

    def __post_init__(self):
        super().__post_init__()
        for name in ("gamma", "power"):
            require(self, name, is_not_negative(getattr(self, name)), "a number >= 0")

    def at(self, t):
        return self.initial * (1 + self.gamma * t) ** -self.power
