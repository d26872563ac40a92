"""A rate that repeatedly decays along half a cosine."""

from math import cos, expm1, log1p, pi

from sparkdl.config import Integer, Number, dataclass, option
from sparkdl.nn.schedules.base import DecaySchedule

FEW = 64  # rounds that are added up one by one: sums of whole steps are exact


@dataclass(frozen=True, kw_only=True)
class CosineRestartsSchedule(DecaySchedule):
    """Cosine decay with warm restarts, each longer and from a lower rate.

    Round i takes steps steps_factor^i, and begins at final + (initial - final) rate_factor^i.
    Keras's CosineDecayRestarts, whose alpha is final / initial; with rate_factor 1 PyTorch's
    CosineAnnealingWarmRestarts.

    References
    ----------
    Loshchilov and Hutter, SGDR: stochastic gradient descent with warm restarts (2017), eq. 5.
    """

    steps: int = option(Integer(minimum=1), "Iterations (or epochs) of the first round.")
    steps_factor: float = option(
        Number(minimum=1), "Factor of the length of each round over the one before.", default=1.0
    )
    rate_factor: float = option(
        Number(above=0, maximum=1),
        "Factor of the initial rate of each round over the one before.",
        default=1.0,
    )
    final: float = option(Number(minimum=0), "The rate at the end of each round.", default=0.0)

    def at(self, t: float) -> float:
        number, share = self._place(t)
        height = self.rate_factor**number * (1 + cos(pi * share)) / 2
        return self.final + (self.initial - self.final) * height

    def _place(self, t: float) -> tuple[int, float]:
        """Returns the number of the round that t falls in, from 0, and the share of it until t."""
        if self.steps_factor == 1:
            return int(t // self.steps), t % self.steps / self.steps
        number = max(0, self._rounds_before(t) - FEW)
        t -= self._start(number)
        length = self.steps * self.steps_factor**number
        while t >= length:
            number, t, length = number + 1, t - length, length * self.steps_factor
        return number, t / length

    def _rounds_before(self, t: float) -> int:
        """Returns about how many rounds end before t."""
        growth = self.steps_factor - 1
        return int(log1p(t / self.steps * growth) / log1p(growth))

    def _start(self, number: int) -> float:
        """Returns where a round begins: the sum of the lengths of those before it."""
        growth = self.steps_factor - 1
        return self.steps * expm1(number * log1p(growth)) / growth
