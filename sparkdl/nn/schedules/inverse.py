"""A rate that decays like a power of 1 / t."""

from sparkdl.config import Number, dataclass, option
from sparkdl.nn.schedules.base import DecaySchedule


@dataclass(frozen=True, kw_only=True)
class InverseSchedule(DecaySchedule):
    """rate = initial (1 + gamma t)^-power. Caffe lr_policy "inv"."""

    gamma: float = option(Number(minimum=0), "Speed at which the rate falls at first.")
    power: float = option(Number(minimum=0), "Power of 1 / t like which it falls.", default=1.0)

    def at(self, t: float) -> float:
        return self.initial * (1 + self.gamma * t) ** -self.power
