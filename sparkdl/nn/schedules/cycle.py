"""A rate that rises and falls in straight lines, again and again."""

from dataclasses import dataclass

from sparkdl.errors import require
from sparkdl.nn.checks import is_integer, is_positive
from sparkdl.nn.schedules.base import Decay


@dataclass(frozen=True, kw_only=True)
class Cycle(Decay):
    """From `initial` up to `peak`, down to `initial`, then far below, and from the start again.

    Up and down are (steps - annealing) // 2 steps each; in the rest of a cycle the rate is
    initial decay^(t - (steps - annealing)). The numbers of DL4J's CycleSchedule, whose short form
    is initial = peak / 10, annealing = steps / 10 and decay = 0.1. With annealing 0 it is the
    triangular rate.

    Parameters
    ----------
    initial, peak : float
        Above 0, and initial <= peak.
    steps : int
        Length of a cycle, at least 2 more than `annealing`.
    annealing : int
        Length of its end, at least 0.
    decay : float
        Above 0.

    References
    ----------
    Smith, Cyclical learning rates for training neural networks (2017), section 3.2; Smith, A
    disciplined approach to neural network hyper-parameters (2018), section 4.
    """

    peak: float
    steps: int
    annealing: int = 0
    decay: float = 0.1

    def __post_init__(self):
        super().__post_init__()
        holds = is_positive(self.peak) and self.peak >= self.initial
        require(self, "peak", holds, f"a number not below initial ({self.initial})")
        require(self, "annealing", is_integer(self.annealing, 0), "an integer >= 0")
        least = self.annealing + 2
        require(self, "steps", is_integer(self.steps, least), f"an integer >= {least}")
        require(self, "decay", is_positive(self.decay), "a number above 0")

    def at(self, t):
        t, half = t % self.steps, (self.steps - self.annealing) // 2
        if t >= 2 * half:
            return self.initial * self.decay ** (t - (self.steps - self.annealing))
        up = t if t < half else 2 * half - t
        return self.initial + (self.peak - self.initial) * up / half
