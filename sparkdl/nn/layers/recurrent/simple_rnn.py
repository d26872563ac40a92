"""The plain recurrent layer."""

from typing import Any

from sparkdl.config import Of, dataclass, option
from sparkdl.config.field_types import AnyOf
from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.activations import ActivationFunction, Relu, Tanh
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.layers.recurrent.base import Recurrent


@dataclass(frozen=True, kw_only=True)
class SimpleRnn(Recurrent):
    """A simple recurrent layer: h <- activation(x W + h RW + b); y is h.

    Shapes
    ------
    W (F, units), RW (units, units), b (units,)

    References
    ----------
    Elman, Finding structure in time (1990). DL4J SimpleRnn, Keras SimpleRNN.
    """

    gates = 1

    activation: AnyOf[ActivationFunction] = option(
        Of(family=ActivationFunction), '"tanh" or "relu".', default="tanh"
    )

    def validate(self) -> None:
        super().validate()
        known = isinstance(self.activation, Tanh | Relu)
        require(self, "activation", known, "tanh or relu")

    def walk(self, params: Values, x: Value, *states: Value, **options: Any) -> tuple[Value, ...]:
        options["activation"] = self.activation.type_name
        return ops.simple_rnn(x, *self.weights_of(params), *states, **options)
