"""A rate that falls from one level to 0 in a smooth step."""

from dataclasses import dataclass
from math import tanh

from sparkdl.errors import require
from sparkdl.nn.checks import is_integer, is_positive
from sparkdl.nn.schedules.base import Decay


@dataclass(frozen=True, kw_only=True)
class Sigmoid(Decay):
    """rate = initial / (1 + e^(gamma (t - step))): half of initial at t = step.

    Caffe's lr_policy "sigmoid" writes the same with a negative gamma.

    Parameters
    ----------
    gamma : float
        Steepness, above 0.
    step : int
        When the rate has halved, at least 1.
    """

    gamma: float
    step: int

    def __post_init__(self):
        super().__post_init__()
        require(self, "gamma", is_positive(self.gamma), "a number above 0")
        require(self, "step", is_integer(self.step, 1), "an integer >= 1")

    def at(self, t):
        # 1 / (1 + e^x) by tanh, which does not overflow
        return self.initial * 0.5 * (1 - tanh(self.gamma * (t - self.step) / 2))
