"""First values drawn from a distribution that is given outright."""

from dataclasses import dataclass

import numpy as np

from sparkdl.errors import require
from sparkdl.nn.checks import is_integer, is_number, is_positive, is_share
from sparkdl.nn.initializers.base import Initializer


@dataclass(frozen=True, kw_only=True)
class Normal(Initializer, name="normal"):
    """Normal with standard deviation `std` (above 0) around `mean`. Caffe filler "gaussian".

    With `sparse`, each weight is kept with probability sparse / outputs and 0 otherwise. An output
    is a column of a matrix (inputs, outputs), or a filter (O, ...).
    """

    std: float = 0.01
    mean: float = 0.0
    sparse: int | None = None

    def __post_init__(self):
        super().__post_init__()
        require(self, "std", is_positive(self.std), "a number above 0")
        require(self, "mean", is_number(self.mean), "a finite number")
        holds = self.sparse is None or is_integer(self.sparse, 1)
        require(self, "sparse", holds, "an integer >= 1 or None")

    def draw(self, shape, fans, rng):
        values = rng.normal(self.mean, self.std, shape)
        if self.sparse is None:
            return values
        outputs = shape[-1] if len(shape) == 2 else shape[0]
        return np.where(rng.uniform(size=shape) < self.sparse / outputs, values, 0.0)


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


@dataclass(frozen=True, kw_only=True)
class LogNormal(Initializer, name="log_normal"):
    """e to a normal with standard deviation `std` (above 0) around `mean`.

    DL4J LogNormalDistribution. The draws have mean e^(mean + std^2 / 2).
    """

    std: float = 1.0
    mean: float = 0.0

    def __post_init__(self):
        super().__post_init__()
        require(self, "std", is_positive(self.std), "a number above 0")
        require(self, "mean", is_number(self.mean), "a finite number")

    def draw(self, shape, fans, rng):
        return rng.lognormal(self.mean, self.std, shape)


@dataclass(frozen=True, kw_only=True)
class Binomial(Initializer, name="binomial"):
    """How many of `trials` (at least 1) succeed, each with `probability`.

    DL4J BinomialDistribution.
    """

    trials: int = 1
    probability: float = 0.5

    def __post_init__(self):
        super().__post_init__()
        require(self, "trials", is_integer(self.trials, 1), "an integer >= 1")
        share = is_share(self.probability, most_included=True)
        require(self, "probability", share, "in [0, 1]")

    def draw(self, shape, fans, rng):
        return rng.binomial(self.trials, self.probability, shape).astype(float)
