"""A rate that drops by a factor at regular intervals."""

from dataclasses import dataclass

from sparkdl.errors import require
from sparkdl.nn.checks import is_integer, is_positive
from sparkdl.nn.schedules.base import Decay


@dataclass(frozen=True, kw_only=True)
class Step(Decay):
    """rate = initial gamma^floor(t / step). Caffe lr_policy "step".

    Parameters
    ----------
    gamma : float
        Factor of each drop, above 0.
    step : int
        Iterations (or epochs) between two drops, at least 1.
    """

    gamma: float = 0.1
    step: int

    def __post_init__(self):
        super().__post_init__()
        require(self, "gamma", is_positive(self.gamma), "a number above 0")
        require(self, "step", is_integer(self.step, 1), "an integer >= 1")

    def at(self, t):
        return self.initial * self.gamma ** (t // self.step)
