"""A rate that grows from its first fraction, then follows another schedule."""

from dataclasses import dataclass, field

from sparkdl.config import of
from sparkdl.errors import require
from sparkdl.nn.checks import is_integer, is_positive
from sparkdl.nn.schedules.base import Schedule


@dataclass(frozen=True, kw_only=True)
class Ramp(Schedule):
    """The rate of `then`, times (t + 1) / steps until that is 1. DL4J's RampSchedule.

    The first update is made at 1 / steps of the rate, where WarmUp, which counts from t = 0,
    begins at its `start`. `then` counts from the beginning, and may count in other units (`per`).

    Parameters
    ----------
    steps : int
        Length of the ramp, at least 1; with 1 there is none.
    then : float or Schedule
        What the ramp leads up to.
    """

    steps: int
    then: float | Schedule = field(metadata=of(Schedule, number=True))

    def __post_init__(self):
        super().__post_init__()
        require(self, "steps", is_integer(self.steps, 1), "an integer >= 1")
        holds = isinstance(self.then, Schedule) or is_positive(self.then)
        require(self, "then", holds, "a number above 0 or a schedule")

    def rate(self, iteration, epoch):
        then = self.then.rate(iteration, epoch) if isinstance(self.then, Schedule) else self.then
        return super().rate(iteration, epoch) * then

    def at(self, t):
        return min(1.0, (t + 1) / self.steps)
