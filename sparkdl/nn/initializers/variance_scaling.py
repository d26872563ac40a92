"""Initial values with a variance scaled by the fans, the general form of `fan_scaling`."""

import numpy as np

from sparkdl.config import Choice, Number, dataclass, option
from sparkdl.nn.hints import Shape
from sparkdl.nn.initializers.base import Initializer
from sparkdl.nn.initializers.plain import TruncatedNormal

COUNTS = {
    "fan_in": lambda fan_in, fan_out: fan_in,
    "fan_out": lambda fan_in, fan_out: fan_out,
    "fan_avg": lambda fan_in, fan_out: (fan_in + fan_out) / 2,
}
DISTRIBUTIONS = ("normal", "truncated_normal", "uniform")
STD_WITHIN_2 = 0.8796256610342398  # the std of a standard normal cut at 2


@dataclass(frozen=True, kw_only=True)
class VarianceScaling(Initializer, name="variance_scaling"):
    """Mean 0 and variance scale / n, n being inputs, outputs, or the mean of the two.

    Keras's VarianceScaling. In others' words, with their numbers:

    | name there | scale, mode, distribution |
    |---|---|
    | Caffe msra with variance_norm FAN_OUT, AVERAGE | 2, fan_out or fan_avg, normal |
    | Caffe xavier with variance_norm FAN_OUT, AVERAGE | 1, fan_out or fan_avg, uniform |
    | DL4J VAR_SCALING_NORMAL_FAN_IN, _OUT, _AVG | 1, the mode, normal |
    | DL4J VAR_SCALING_UNIFORM_FAN_IN, _OUT, _AVG | 3, the mode, uniform (Keras: 1) |
    | DL4J XAVIER_FAN_IN, NORMAL | 1, fan_in, normal |
    | DL4J XAVIER_LEGACY of dense layers | 0.5, fan_avg, normal |
    | DL4J UNIFORM | 1/3, fan_in, uniform |
    """

    scale: float = option(Number(above=0), "The variance is so many times 1 / n.", default=1.0)
    mode: str = option(
        Choice(of=tuple(COUNTS)),
        "n: the number of inputs, of outputs, or the mean of the two.",
        default="fan_in",
    )
    distribution: str = option(
        Choice(of=DISTRIBUTIONS),
        "Distribution to draw from. The truncated normal is cut at twice its deviation, then "
        "widened to the same variance.",
        default="truncated_normal",
    )

    def draw(self, shape: Shape, fans: Shape, rng: np.random.Generator) -> np.ndarray:
        variance = self.scale / COUNTS[self.mode](*fans)
        if self.distribution == "uniform":
            limit = (3 * variance) ** 0.5
            return rng.uniform(-limit, limit, shape)
        std = variance**0.5
        if self.distribution == "normal":
            return rng.normal(0.0, std, shape)
        return TruncatedNormal(std=std / STD_WITHIN_2).draw(shape, fans, rng)
