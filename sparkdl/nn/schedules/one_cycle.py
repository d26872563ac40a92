"""A rate that rises to its peak and falls far below its initial value."""

from math import cos, pi

from sparkdl.config import Integer, Number, dataclass, option
from sparkdl.nn.schedules.base import Schedule


@dataclass(frozen=True, kw_only=True)
class OneCycleSchedule(Schedule):
    """From peak / div_factor up to `peak`, then down to peak / (div_factor final_div_factor).

    Both ways along half a cosine; the peak is at t = rise steps, the end at t = steps, and the
    rate stays there. The defaults and numbers are those of optax's cosine_onecycle_schedule, which
    rounds rise steps down, so that others differ where this is no whole number; PyTorch's
    OneCycleLR is at its peak and end one iteration earlier. CycleSchedule goes in straight lines.

    References
    ----------
    Smith and Topin, Super-convergence: very fast training of neural networks using large learning
    rates (2018), section 3.
    """

    peak: float = option(Number(above=0), "The highest rate.")
    steps: int = option(Integer(minimum=2), "Iterations (or epochs) of the whole cycle.")
    rise: float = option(Number(above=0, below=1), "Share of `steps` that leads up.", default=0.3)
    div_factor: float = option(
        Number(above=0), "Ratio of the peak to the first rate.", default=25.0
    )
    final_div_factor: float = option(
        Number(above=0), "Ratio of the first rate to the last one.", default=1e4
    )

    def at(self, t: float) -> float:
        first, top = self.peak / self.div_factor, self.rise * self.steps
        if t < top:
            return interpolate(first, self.peak, t / top)
        share = min(1.0, (t - top) / (self.steps - top))
        return interpolate(self.peak, first / self.final_div_factor, share)


def interpolate(start: float, end: float, share: float) -> float:
    """Interpolates between `start` (share 0) and `end` (share 1) along half a cosine."""
    return end + (start - end) * (1 + cos(pi * share)) / 2
