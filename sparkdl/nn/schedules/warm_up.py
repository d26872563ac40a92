"""A rate that grows from little at the start, then follows another schedule."""

from dataclasses import dataclass, field

from sparkdl.config import of
from sparkdl.errors import require
from sparkdl.nn.checks import is_integer, is_positive, is_share
from sparkdl.nn.schedules.base import Schedule


@dataclass(frozen=True, kw_only=True)
class WarmUp(Schedule):
    """The rate of `then`, times a factor that grows from `start` to 1 in a straight line.

    The factor is start + (1 - start) t / steps, and 1 from t = steps on. `then` counts from the
    beginning, the warm-up included, and may count in other units (`per`) than the warm-up.

    Parameters
    ----------
    steps : int
        Length of the warm-up, at least 1.
    then : float or Schedule
        What is warmed up to.
    start : float
        Share of the rate at t = 0, in [0, 1).

    References
    ----------
    Goyal et al., Accurate, large minibatch SGD (2017), section 2.2.
    """

    steps: int
    then: float | Schedule = field(metadata=of(Schedule, number=True))
    start: float = 0.0

    def __post_init__(self):
        super().__post_init__()
        require(self, "steps", is_integer(self.steps, 1), "an integer >= 1")
        holds = isinstance(self.then, Schedule) or is_positive(self.then)
        require(self, "then", holds, "a number above 0 or a schedule")
        require(self, "start", is_share(self.start), "in [0, 1)")

    def rate(self, iteration, epoch):
        then = self.then.rate(iteration, epoch) if isinstance(self.then, Schedule) else self.then
        return super().rate(iteration, epoch) * then

    def at(self, t):
        return self.start + (1 - self.start) * min(1.0, t / self.steps)
