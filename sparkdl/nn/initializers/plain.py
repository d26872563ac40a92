"""First values drawn from a distribution that is given outright."""

from dataclasses import dataclass

from sparkdl.errors import require
from sparkdl.nn.checks import is_number, is_positive
from sparkdl.nn.initializers.base import Initializer


@dataclass(frozen=True, kw_only=True)
class Normal(Initializer, name="normal"):
    """Normal with standard deviation `std` (above 0) around `mean`. Caffe filler "gaussian"."""

    std: float = 0.01
    mean: float = 0.0

    def __post_init__(self):
        super().__post_init__()
        require(self, "std", is_positive(self.std), "a number above 0")
        require(self, "mean", is_number(self.mean), "a finite number")

    def draw(self, shape, fans, rng):
        return rng.normal(self.mean, self.std, shape)


@dataclass(frozen=True, kw_only=True)
class TruncatedNormal(Initializer, name="truncated_normal"):
    """Normal, with draws further than 2 `std` from `mean` drawn again.

    `std` is that of the normal; what is left has 0.8796 of it.
    """

    std: float = 0.01
    mean: float = 0.0

    def __post_init__(self):
        super().__post_init__()
        require(self, "std", is_positive(self.std), "a number above 0")
        require(self, "mean", is_number(self.mean), "a finite number")

    def draw(self, shape, fans, rng):
        values = rng.standard_normal(shape)
        far = abs(values) > 2
        while far.any():
            values[far] = rng.standard_normal(far.sum())
            far = abs(values) > 2
        return self.mean + self.std * values


@dataclass(frozen=True, kw_only=True)
class Uniform(Initializer, name="uniform"):
    """Uniform in [low, high). Caffe filler "uniform" (whose defaults are 0 and 1)."""

    low: float = -0.05
    high: float = 0.05

    def __post_init__(self):
        super().__post_init__()
        require(self, "low", is_number(self.low), "a finite number")
        above = is_number(self.high) and self.high > self.low
        require(self, "high", above, f"a number above low ({self.low})")

    def draw(self, shape, fans, rng):
        return rng.uniform(self.low, self.high, shape)
