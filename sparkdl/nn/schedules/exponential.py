"""A rate that decays exponentially."""

from sparkdl.config import Number, dataclass, option
from sparkdl.nn.schedules.base import DecaySchedule


@dataclass(frozen=True, kw_only=True)
class ExponentialSchedule(DecaySchedule):
    """rate = initial gamma^t. Caffe lr_policy "exp"."""

    gamma: float = option(Number(above=0, maximum=1), "Factor per iteration (or epoch).")

    def at(self, t: float) -> float:
        return self.initial * self.gamma**t
