"""A constant rate."""

from sparkdl.config import dataclass
from sparkdl.nn.schedules.base import DecaySchedule


@dataclass(frozen=True, kw_only=True)
class FixedSchedule(DecaySchedule):
    """rate = initial. Caffe lr_policy "fixed"."""

    def at(self, t: float) -> float:
        return self.initial
