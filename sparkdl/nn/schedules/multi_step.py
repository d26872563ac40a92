"""A rate that drops by a factor at given times."""

from bisect import bisect_right
from dataclasses import dataclass

from sparkdl.errors import require
from sparkdl.nn.checks import is_integers, is_positive
from sparkdl.nn.schedules.base import Decay


@dataclass(frozen=True, kw_only=True)
class MultiStep(Decay):
    """rate = initial gamma^(how many of `steps` are <= t). Caffe lr_policy "multistep".

    Parameters
    ----------
    gamma : float
        Factor of each drop, above 0.
    steps : tuple of int
        When the rate drops: at least one, growing, each at least 1.
    """

    gamma: float = 0.1
    steps: tuple[int, ...]

    def __post_init__(self):
        super().__post_init__()
        require(self, "gamma", is_positive(self.gamma), "a number above 0")
        grow = is_integers(self.steps, 1) and list(self.steps) == sorted(set(self.steps))
        require(self, "steps", grow and self.steps, "growing integers >= 1, at least one")

    def at(self, t):
        return self.initial * self.gamma ** bisect_right(self.steps, t)
