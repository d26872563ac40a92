"""A rate that drops by a factor at given times."""

from bisect import bisect_right

from sparkdl.config import Integer, Number, Sequence, dataclass, option
from sparkdl.config.field_types import Several
from sparkdl.errors import require
from sparkdl.nn.schedules.base import DecaySchedule


@dataclass(frozen=True, kw_only=True)
class MultiStepSchedule(DecaySchedule):
    """rate = initial gamma^(how many of `steps` are <= t). Caffe lr_policy "multistep"."""

    gamma: float = option(Number(above=0), "Factor of each drop.", default=0.1)
    steps: Several[int] = option(
        Sequence(of=Integer(minimum=1), minimum=1),
        "Times at which the rate drops: numbers that grow.",
    )

    def validate(self) -> None:
        super().validate()
        grow = list(self.steps) == sorted(set(self.steps))
        require(self, "steps", grow, "growing integers >= 1, at least one")

    def at(self, t: float) -> float:
        return self.initial * self.gamma ** bisect_right(self.steps, t)
