"""An activation function as a layer of its own."""

from dataclasses import dataclass
from typing import ClassVar

from sparkdl.config import Of, option
from sparkdl.nn.activations import ActivationFunction
from sparkdl.nn.layers.core.base import Layer


@dataclass(frozen=True, kw_only=True)
class Activation(Layer):
    """y = function(x), of the shape of x."""

    narrow: ClassVar = True

    function: ActivationFunction = option(
        Of(family=ActivationFunction),
        '"relu", or {"type": "leaky_relu", "alpha": 0.1}.',
        positional=True,
    )

    def out_shape(self, in_shape):
        return in_shape

    def forward(self, params, x, run):
        return self.function.apply(x)
