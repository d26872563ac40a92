"""A rate that shrinks by the same factor each time."""

from dataclasses import dataclass

from sparkdl.errors import require
from sparkdl.nn.checks import is_positive
from sparkdl.nn.schedules.base import Decay


@dataclass(frozen=True, kw_only=True)
class Exponential(Decay):
    """rate = initial gamma^t. Caffe lr_policy "exp".

    Parameters
    ----------
    gamma : float
        Factor per iteration (or epoch), in (0, 1].
    """

    gamma: float

    def __post_init__(self):
        super().__post_init__()
        holds = is_positive(self.gamma) and self.gamma <= 1
        require(self, "gamma", holds, "a number in (0, 1]")

    def at(self, t):
        return self.initial * self.gamma**t
