"""A rate that ramps up from 1 / steps, then follows another schedule."""

from sparkdl.config import Integer, Number, Of, dataclass, option
from sparkdl.nn.schedules.base import Schedule, rate_at


@dataclass(frozen=True, kw_only=True)
class RampSchedule(Schedule):
    """The rate of `then`, times (t + 1) / steps until that is 1. DL4J's RampSchedule.

    The first update is made at 1 / steps of the rate, where WarmUpSchedule, which counts
    from t = 0, begins at its `start`. `then` counts from the beginning, and may count in other
    units (`per`).
    """

    steps: int = option(Integer(minimum=1), "Length of the ramp; with 1 there is none.")
    then: float | Schedule = option(
        Of(family=Schedule, number=Number(above=0)), "Schedule after the ramp."
    )

    def rate(self, iteration: float, epoch: float) -> float:
        return super().rate(iteration, epoch) * rate_at(self.then, iteration, epoch)

    def at(self, t: float) -> float:
        return min(1.0, (t + 1) / self.steps)
