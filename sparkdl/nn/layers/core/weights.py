"""Bases of layers with weights, with or without an activation function."""

from typing import ClassVar

import numpy as np

from sparkdl.config import Boolean, Number, Of, dataclass, option
from sparkdl.config.field_types import AnyOf, OptionalAnyOf
from sparkdl.nn.activations import ActivationFunction
from sparkdl.nn.hints import Shape, Shapes, Value
from sparkdl.nn.initializers import Initializer, XavierNormal
from sparkdl.nn.layers.core.parameters import TrainableLayer
from sparkdl.nn.weight_noise import WeightNoise


@dataclass(frozen=True, kw_only=True)
class WeightedLayer(TrainableLayer, abstract=True):
    """A layer with weights W and, unless `bias` is False, a bias b."""

    inherited: ClassVar[tuple[str, ...]] = ("initializer", "l1", "l2")
    penalized: ClassVar[tuple[str, ...]] = ("W",)

    bias: bool = option(Boolean(), "Whether to add a bias b.", default=True)
    initializer: OptionalAnyOf[Initializer] = option(
        Of(family=Initializer), "Initializer of W. None: the network's.", default=None
    )
    bias_initializer: AnyOf[Initializer] = option(
        Of(family=Initializer), "Initializer of b.", default="zeros"
    )
    l1: float | None = option(
        Number(minimum=0),
        "l1 |W|, summed over W, is added to the loss. None: the network's.",
        default=None,
    )
    l2: float | None = option(
        Number(minimum=0),
        "l2 W^2 / 2, summed over W, is added to the loss. None: the network's.",
        default=None,
    )
    bias_l1: float = option(
        Number(minimum=0), "L1 penalty of b; the network's l1 does not apply to it.", default=0.0
    )
    bias_l2: float = option(
        Number(minimum=0), "L2 penalty of b; the network's l2 does not apply to it.", default=0.0
    )
    weight_noise: OptionalAnyOf[WeightNoise] = option(
        Of(family=WeightNoise), "Noise on the weights in training.", default=None
    )

    def weight_shape(self, in_shape: Shape) -> Shape:
        raise NotImplementedError

    def fans(self, shape: Shape) -> Shape:
        """Returns fan-in and fan-out, the inputs per output and outputs per input, of W."""
        raise NotImplementedError

    def outputs(self) -> int:
        """Returns the length of b."""
        raise NotImplementedError

    def param_shapes(self, in_shape: Shape) -> Shapes:
        weight = {"W": self.weight_shape(in_shape)}
        return weight | {"b": (self.outputs(),)} if self.bias else weight

    def initial(self, name: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
        if name == "b":
            return self.bias_initializer.draw(shape, (shape[0], shape[0]), rng)
        return self.weights(shape, self.fans(shape), rng)

    def weights(self, shape: Shape, fans: Shape, rng: np.random.Generator) -> np.ndarray:
        """Returns initial weights for fans (fan-in, fan-out)."""
        return (self.initializer or XavierNormal()).draw(shape, fans, rng)


@dataclass(frozen=True, kw_only=True)
class ActivatedLayer(WeightedLayer, abstract=True):
    """A layer with weights and an activation function."""

    inherited: ClassVar[tuple[str, ...]] = ("activation", "initializer", "l1", "l2")

    activation: OptionalAnyOf[ActivationFunction] = option(
        Of(family=ActivationFunction),
        'Activation function: "relu", or {"type": "leaky_relu", "alpha": 0.1}. None: '
        "the network's.",
        default=None,
    )

    def activate(self, y: Value) -> Value:
        return y if self.activation is None else self.activation.apply(y)
