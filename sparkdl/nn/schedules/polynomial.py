"""A rate that decays to its final value along a power of the remaining time."""

from sparkdl.config import Integer, Number, dataclass, option
from sparkdl.nn.schedules.base import DecaySchedule


@dataclass(frozen=True, kw_only=True)
class PolynomialSchedule(DecaySchedule):
    """rate = final + (initial - final) (1 - t / steps)^power, and final after that.

    With final = 0 this is Caffe's lr_policy "poly", where `steps` is max_iter; optax's
    polynomial_schedule.
    """

    steps: int = option(Integer(minimum=1), "Iterations (or epochs) until the rate is final.")
    power: float = option(Number(above=0), "1 is a straight line.", default=1.0)
    final: float = option(Number(minimum=0), "The rate in the end.", default=0.0)

    def at(self, t: float) -> float:
        remaining = max(0.0, 1 - t / self.steps)
        return self.final + (self.initial - self.final) * remaining**self.power
