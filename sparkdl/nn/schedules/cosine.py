"""A rate that decays to its final value along half a cosine."""

from math import cos, pi

from sparkdl.config import Integer, Number, dataclass, option
from sparkdl.nn.schedules.base import DecaySchedule


@dataclass(frozen=True, kw_only=True)
class CosineSchedule(DecaySchedule):
    """rate = final + (initial - final) (1 + cos(pi t / steps)) / 2, and final after that.

    References
    ----------
    Loshchilov and Hutter, SGDR: stochastic gradient descent with warm restarts (2017), eq. 5,
    without restarts.
    """

    steps: int = option(Integer(minimum=1), "Iterations (or epochs) until the rate is final.")
    final: float = option(Number(minimum=0), "The rate in the end.", default=0.0)

    def at(self, t: float) -> float:
        share = (1 + cos(pi * min(t, self.steps) / self.steps)) / 2
        return self.final + (self.initial - self.final) * share
