"""Random perturbation of weights in training: DropConnect and related methods.

All examples of a batch share the weights, so the random numbers depend on the seed, layer,
parameter, epoch, element and the first example of the batch. Unlike in Dropout, an example
therefore gets other numbers in another batch. The stored and updated weights are free of noise, and
inference uses those.
"""

from typing import Any

from sparkdl.config import Boolean, Member, Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.layers.core.run import Run


@dataclass(frozen=True, kw_only=True)
class WeightNoise(Member):
    """Base of all."""

    biases: bool = option(Boolean(), "Whether biases change as well.", default=False)

    def perturb(self, weights: Value, name: str, run: Run) -> Value:
        """Returns `weights`, the parameter `name`, as the batch of `run` shall see them."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class DropConnect(WeightNoise, name="drop_connect"):
    """Each weight becomes 0 with probability `rate`, else w / (1 - rate).

    References
    ----------
    Wan, Zeiler, Zhang, LeCun and Fergus, Regularization of neural networks using DropConnect
    (2013), with one mask for a batch, and the mean in use rather than samples.
    """

    rate: float = option(
        Number(minimum=0, below=1),
        "Dropout rate. DL4J's number is the share that stays, and it does not scale what stays.",
        default=0.5,
    )

    def perturb(self, weights: Value, name: str, run: Run) -> Value:
        dropped = ops.greater(self.rate, run.shared_uniform(name, weights.shape))
        return ops.where(dropped, 0.0, ops.mul(weights, 1 / (1 - self.rate)))


@dataclass(frozen=True, kw_only=True)
class GaussianWeightNoise(WeightNoise, name="gaussian_weight_noise"):
    """Normal numbers that are added to the weights or multiplied with them."""

    std: float = option(Number(above=0), "Standard deviation of the noise.", default=0.01)
    additive: bool = option(
        Boolean(),
        "w + noise of mean 0; else w times noise of mean 1. DL4J WeightNoise.",
        default=True,
    )

    def perturb(self, weights: Value, name: str, run: Run) -> Value:
        noise = ops.mul(run.shared_normal(name, weights.shape), self.std)
        return ops.add(weights, noise if self.additive else ops.mul(weights, noise))


def add_weight_noise(layer: Any, params: Values, run: Run) -> Values:
    """Returns the parameters {name: array} of a layer as perturbed for a batch."""
    noise = getattr(layer, "weight_noise", None) if run.training else None
    if noise is None:
        return params
    names = {*layer.penalized, *(layer.biases if noise.biases else ())}
    return {n: noise.perturb(p, n, run) if n in names else p for n, p in params.items()}
