"""A rate that decays to 0 along a sigmoid."""

from math import tanh

from sparkdl.config import Integer, Number, dataclass, option
from sparkdl.nn.schedules.base import DecaySchedule


@dataclass(frozen=True, kw_only=True)
class SigmoidSchedule(DecaySchedule):
    """rate = initial / (1 + e^(gamma (t - step))): half of initial at t = step.

    Caffe's lr_policy "sigmoid" writes the same with a negative gamma.
    """

    gamma: float = option(Number(above=0), "Steepness.")
    step: int = option(Integer(minimum=1), "Time at which the rate has halved.")

    def at(self, t: float) -> float:
        # 1 / (1 + e^x) with tanh, which does not overflow
        return self.initial * 0.5 * (1 - tanh(self.gamma * (t - self.step) / 2))
