"""A rate that cycles linearly between two values."""

from sparkdl.config import Integer, Number, dataclass, option
from sparkdl.errors import require
from sparkdl.nn.schedules.base import DecaySchedule


@dataclass(frozen=True, kw_only=True)
class CycleSchedule(DecaySchedule):
    """Cyclical rate: from `initial` up to `peak`, back to `initial`, then far below, and again.

    Up and down are (steps - annealing) // 2 steps each; in the rest of a cycle the rate is
    initial decay^(t - (steps - annealing)). The numbers of DL4J's CycleSchedule, whose short form
    is initial = peak / 10, annealing = steps / 10 and decay = 0.1. With annealing 0 it is the
    triangular rate. Choose an even steps - annealing: an odd one leaves a step over after the fall,
    whose rate is initial / decay, in DL4J too.

    References
    ----------
    Smith, Cyclical learning rates for training neural networks (2017), section 3.2; Smith, A
    disciplined approach to neural network hyper-parameters (2018), section 4.
    """

    peak: float = option(Number(above=0), "The highest rate, not below `initial`.")
    steps: int = option(Integer(minimum=2), "Length of a cycle, at least 2 more than `annealing`.")
    annealing: int = option(Integer(minimum=0), "Length of the end of a cycle.", default=0)
    decay: float = option(
        Number(above=0), "Factor of each iteration (or epoch) of that end.", default=0.1
    )

    def validate(self) -> None:
        super().validate()
        require(
            self, "peak", self.peak >= self.initial, f"a number not below initial ({self.initial})"
        )
        minimum = self.annealing + 2
        require(self, "steps", self.steps >= minimum, f"an integer >= {minimum}")

    def at(self, t: float) -> float:
        t, half = t % self.steps, (self.steps - self.annealing) // 2
        if t >= 2 * half:
            return self.initial * self.decay ** (t - (self.steps - self.annealing))
        up = t if t < half else 2 * half - t
        return self.initial + (self.peak - self.initial) * up / half
