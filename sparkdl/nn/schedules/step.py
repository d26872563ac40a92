"""A rate that drops by a factor at regular intervals."""

from sparkdl.config import Integer, Number, dataclass, option
from sparkdl.nn.schedules.base import DecaySchedule


@dataclass(frozen=True, kw_only=True)
class StepSchedule(DecaySchedule):
    """rate = initial gamma^floor(t / step). Caffe lr_policy "step"."""

    gamma: float = option(Number(above=0), "Factor of each drop.", default=0.1)
    step: int = option(Integer(minimum=1), "Iterations (or epochs) between two drops.")

    def at(self, t: float) -> float:
        return self.initial * self.gamma ** (t // self.step)
