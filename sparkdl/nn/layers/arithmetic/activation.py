"""An activation function as a layer."""

from typing import ClassVar

from sparkdl.config import Of, dataclass, option
from sparkdl.config.field_types import AnyOf
from sparkdl.nn.activations import ActivationFunction, Identity
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.run import Run


@dataclass(frozen=True, kw_only=True)
class Activation(Layer):
    """y = function(x), of the shape of x.

    Shapes
    ------
    x, y (batch, ...), of one shape
    """

    low_precision: ClassVar = True

    function: AnyOf[ActivationFunction] = option(
        Of(family=ActivationFunction),
        '"relu", or {"type": "leaky_relu", "alpha": 0.1}.',
        kw_only=False,
    )

    @property
    def keeps_numbers(self) -> bool:  # type: ignore[override]
        return isinstance(self.function, Identity)

    def out_shape(self, in_shape: Shape) -> Shape:
        return in_shape

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        return self.function.apply(x)
