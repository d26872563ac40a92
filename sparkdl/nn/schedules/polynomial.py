"""A rate that falls to its final value along a power of the time left."""

from dataclasses import dataclass

from sparkdl.errors import require
from sparkdl.nn.checks import is_integer, is_not_negative, is_positive
from sparkdl.nn.schedules.base import Decay


@dataclass(frozen=True, kw_only=True)
class Polynomial(Decay):
    """rate = final + (initial - final) (1 - t / steps)^power, and final after that.

    With final = 0 this is Caffe's lr_policy "poly", where `steps` is max_iter; optax's
    polynomial_schedule.

    Parameters
    ----------
    steps : int
        Iterations (or epochs) until the rate is final, at least 1.
    power : float
        Above 0; 1 is a straight line.
    final : float
        At least 0.
    """

    steps: int
    power: float = 1.0
    final: float = 0.0

    def __post_init__(self):
        super().__post_init__()
        require(self, "steps", is_integer(self.steps, 1), "an integer >= 1")
        require(self, "power", is_positive(self.power), "a number above 0")
        require(self, "final", is_not_negative(self.final), "a number >= 0")

    def at(self, t):
        left = max(0.0, 1 - t / self.steps)
        return self.final + (self.initial - self.final) * left**self.power
