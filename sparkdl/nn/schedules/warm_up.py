"""A rate that warms up from a low start, then follows another schedule."""

from sparkdl.config import Integer, Number, Of, dataclass, option
from sparkdl.nn.schedules.base import Schedule, rate_at


@dataclass(frozen=True, kw_only=True)
class WarmUpSchedule(Schedule):
    """Linear warm-up: the rate of `then`, times a factor that grows from `start` to 1.

    The factor is start + (1 - start) t / steps, and 1 from t = steps on. `then` counts from the
    beginning, the warm-up included, and may count in other units (`per`) than the warm-up.

    References
    ----------
    Goyal et al., Accurate, large minibatch SGD (2017), section 2.2.
    """

    steps: int = option(Integer(minimum=1), "Length of the warm-up.")
    then: float | Schedule = option(
        Of(family=Schedule, number=Number(above=0)), "Schedule after the warm-up."
    )
    start: float = option(Number(minimum=0, below=1), "Share of the rate at t = 0.", default=0.0)

    def rate(self, iteration: float, epoch: float) -> float:
        return super().rate(iteration, epoch) * rate_at(self.then, iteration, epoch)

    def at(self, t: float) -> float:
        return self.start + (1 - self.start) * min(1.0, t / self.steps)
