"""An activation function as a layer of its own."""

from dataclasses import dataclass, field
from typing import ClassVar

from sparkdl.config import of
from sparkdl.nn.activations import ActivationFunction
from sparkdl.nn.layers.base import Layer


@dataclass(frozen=True, kw_only=True)
class Activation(Layer):
    """y = function(x), of the shape of x.

    Parameters
    ----------
    function : str, dict or ActivationFunction
        "relu", or {"type": "leaky_relu", "alpha": 0.1}.
    """

    narrow: ClassVar = True

    function: ActivationFunction = field(metadata=of(ActivationFunction))

    def out_shape(self, in_shape):
        return in_shape

    def forward(self, params, x, run):
        return self.function.apply(x)
