"""What layers with weights have in common."""

from dataclasses import dataclass, field
from typing import ClassVar

from sparkdl.config import of
from sparkdl.errors import require
from sparkdl.nn.activations import ActivationFunction
from sparkdl.nn.checks import is_not_negative
from sparkdl.nn.initializers import Initializer, XavierNormal
from sparkdl.nn.layers.trained import Trained
from sparkdl.nn.weight_noise import WeightNoise


@dataclass(frozen=True, kw_only=True)
class Weighted(Trained, abstract=True):
    """A layer with weights W and, unless `bias` is False, a bias b.

    Parameters
    ----------
    bias : bool
        Whether there is a b.
    initializer : str, dict or Initializer, optional
        First values of W; the network's unless given.
    bias_initializer : str, dict or Initializer
        First values of b.
    l1, l2 : float, optional
        l1 |W| + l2 W^2 / 2, summed over W, is added to what is minimised; at least 0; the network's
        unless given.
    bias_l1, bias_l2 : float
        The same for b, which the network's do not touch.
    weight_noise : WeightNoise, optional
        How the weights change at random while training.
    """

    inherited: ClassVar = ("initializer", "l1", "l2")
    penalized: ClassVar = ("W",)

    bias: bool = True
    initializer: Initializer | None = field(default=None, metadata=of(Initializer))
    bias_initializer: Initializer = field(default="zeros", metadata=of(Initializer))
    l1: float | None = None
    l2: float | None = None
    bias_l1: float = 0.0
    bias_l2: float = 0.0
    weight_noise: WeightNoise | None = field(default=None, metadata=of(WeightNoise))

    def __post_init__(self):
        super().__post_init__()
        require(self, "bias", isinstance(self.bias, bool), "True or False")
        for name in ("l1", "l2"):
            value = getattr(self, name)
            require(self, name, value is None or is_not_negative(value), "a number >= 0")
        for name in ("bias_l1", "bias_l2"):
            require(self, name, is_not_negative(getattr(self, name)), "a number >= 0")

    def weight_shape(self, in_shape):
        raise NotImplementedError

    def fans(self, shape):
        """Inputs that reach one output, and outputs that one input reaches, of W with `shape`."""
        raise NotImplementedError

    def outputs(self):
        """Length of b."""
        raise NotImplementedError

    def param_shapes(self, in_shape):
        weight = {"W": self.weight_shape(in_shape)}
        return weight | {"b": (self.outputs(),)} if self.bias else weight

    def initial(self, name, shape, rng):
        if name == "b":
            return self.bias_initializer.draw(shape, (shape[0], shape[0]), rng)
        return self.weights(shape, self.fans(shape), rng)

    def weights(self, shape, fans, rng):
        """First values of weights that join so many inputs and outputs."""
        return (self.initializer or XavierNormal()).draw(shape, fans, rng)


@dataclass(frozen=True, kw_only=True)
class Activated(Weighted, abstract=True):
    """A layer with weights that an activation function follows.

    Parameters
    ----------
    activation : str, dict or ActivationFunction, optional
        "relu", or {"type": "leaky_relu", "alpha": 0.1}; the network's unless given.
    """

    inherited: ClassVar = ("activation", "initializer", "l1", "l2")

    activation: ActivationFunction | None = field(default=None, metadata=of(ActivationFunction))

    def activate(self, y):
        return y if self.activation is None else self.activation.apply(y)
