"""A rate that rises to its peak and falls far below where it began."""

from dataclasses import dataclass
from math import cos, pi

from sparkdl.errors import require
from sparkdl.nn.checks import is_integer, is_number, is_positive
from sparkdl.nn.schedules.base import Schedule


@dataclass(frozen=True, kw_only=True)
class OneCycle(Schedule):
    """From peak / div_factor up to `peak`, then down to peak / (div_factor final_div_factor).

    Both ways along half a cosine; the peak is at t = rise steps, the end at t = steps, and the
    rate stays there. The defaults and numbers are those of optax's cosine_onecycle_schedule;
    PyTorch's OneCycleLR is at its peak and end one iteration earlier. Cycle goes in straight lines.

    Parameters
    ----------
    peak : float
        Highest rate, above 0.
    steps : int
        Iterations (or epochs) of the whole cycle, at least 2.
    rise : float
        Share of `steps` that leads up, in (0, 1).
    div_factor, final_div_factor : float
        Above 0.

    References
    ----------
    Smith and Topin, Super-convergence: very fast training of neural networks using large learning
    rates (2018), section 3.
    """

    peak: float
    steps: int
    rise: float = 0.3
    div_factor: float = 25.0
    final_div_factor: float = 1e4

    def __post_init__(self):
        super().__post_init__()
        require(self, "steps", is_integer(self.steps, 2), "an integer >= 2")
        require(self, "rise", is_number(self.rise) and 0 < self.rise < 1, "in (0, 1)")
        for name in ("peak", "div_factor", "final_div_factor"):
            require(self, name, is_positive(getattr(self, name)), "a number above 0")

    def at(self, t):
        first, top = self.peak / self.div_factor, self.rise * self.steps
        if t < top:
            return between(first, self.peak, t / top)
        share = min(1.0, (t - top) / (self.steps - top))
        return between(self.peak, first / self.final_div_factor, share)


def between(start, end, share):
    """From `start` (share 0) to `end` (share 1) along half a cosine."""
    return end + (start - end) * (1 + cos(pi * share)) / 2
