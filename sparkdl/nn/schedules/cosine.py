"""A rate that falls to its final value along half a cosine."""

from dataclasses import dataclass
from math import cos, pi

from sparkdl.errors import require
from sparkdl.nn.checks import is_integer, is_not_negative
from sparkdl.nn.schedules.base import Decay


@dataclass(frozen=True, kw_only=True)
class Cosine(Decay):
    """rate = final + (initial - final) (1 + cos(pi t / steps)) / 2, and final after that.

    Parameters
    ----------
    steps : int
        Iterations (or epochs) until the rate is final, at least 1.
    final : float
        At least 0.

    References
    ----------
    Loshchilov and Hutter, SGDR: stochastic gradient descent with warm restarts (2017), eq. 5,
    without restarts.
    """

    steps: int
    final: float = 0.0

    def __post_init__(self):
        super().__post_init__()
        require(self, "steps", is_integer(self.steps, 1), "an integer >= 1")
        require(self, "final", is_not_negative(self.final), "a number >= 0")

    def at(self, t):
        share = (1 + cos(pi * min(t, self.steps) / self.steps)) / 2
        return self.final + (self.initial - self.final) * share
