"""Initial values drawn from a given distribution."""

import numpy as np

from sparkdl.config import Integer, Number, dataclass, option
from sparkdl.errors import require
from sparkdl.nn.hints import Shape
from sparkdl.nn.initializers.base import Initializer


@dataclass(frozen=True, kw_only=True)
class Normal(Initializer, name="normal"):
    """Normal with standard deviation `std` around `mean`. Caffe filler "gaussian".

    With `sparse`, each weight is kept with probability sparse / outputs and 0 otherwise. An output
    is a column of a matrix (inputs, outputs), or a filter (O, ...).
    """

    std: float = option(Number(above=0), "Standard deviation.", default=0.01)
    mean: float = option(Number(), "Mean.", default=0.0)
    sparse: int | None = option(
        Integer(minimum=1),
        "Number of weights of an output that are kept on average; None for all.",
        default=None,
    )

    def draw(self, shape: Shape, fans: Shape, rng: np.random.Generator) -> np.ndarray:
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

    std: float = option(Number(above=0), "Standard deviation of the normal.", default=0.01)
    mean: float = option(Number(), "Mean of the normal.", default=0.0)

    def draw(self, shape: Shape, fans: Shape, rng: np.random.Generator) -> np.ndarray:
        values = rng.standard_normal(shape)
        far = abs(values) > 2
        while far.any():
            values[far] = rng.standard_normal(far.sum())
            far = abs(values) > 2
        return self.mean + self.std * values


@dataclass(frozen=True, kw_only=True)
class Uniform(Initializer, name="uniform"):
    """Uniform in [low, high). Caffe filler "uniform" (whose defaults are 0 and 1)."""

    low: float = option(Number(), "Smallest value.", default=-0.05)
    high: float = option(
        Number(), "Upper bound, which is never reached; above `low`.", default=0.05
    )

    def validate(self) -> None:
        super().validate()
        require(self, "high", self.high > self.low, f"a number above low ({self.low})")

    def draw(self, shape: Shape, fans: Shape, rng: np.random.Generator) -> np.ndarray:
        return rng.uniform(self.low, self.high, shape)


@dataclass(frozen=True, kw_only=True)
class LogNormal(Initializer, name="log_normal"):
    """e to a normal with standard deviation `std` around `mean`.

    DL4J LogNormalDistribution. The draws have mean e^(mean + std^2 / 2).
    """

    std: float = option(Number(above=0), "Standard deviation of the logarithm.", default=1.0)
    mean: float = option(Number(), "Mean of the logarithm.", default=0.0)

    def draw(self, shape: Shape, fans: Shape, rng: np.random.Generator) -> np.ndarray:
        return rng.lognormal(self.mean, self.std, shape)


@dataclass(frozen=True, kw_only=True)
class Binomial(Initializer, name="binomial"):
    """The number of successes in `trials` tries, each with `probability`.

    DL4J BinomialDistribution.
    """

    trials: int = option(Integer(minimum=1), "Number of trials.", default=1)
    probability: float = option(
        Number(minimum=0, maximum=1), "Probability that one trial succeeds.", default=0.5
    )

    def draw(self, shape: Shape, fans: Shape, rng: np.random.Generator) -> np.ndarray:
        return rng.binomial(self.trials, self.probability, shape).astype(float)
