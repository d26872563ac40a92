"""Long short-term memory, with and without peepholes."""

from typing import Any, ClassVar

import numpy as np

from sparkdl.config import Number, Of, dataclass, option
from sparkdl.config.field_types import AnyOf
from sparkdl.engine import ops
from sparkdl.nn.hints import Shape, Shapes, Value, Values
from sparkdl.nn.initializers import Initializer
from sparkdl.nn.layers.recurrent.base import GatedRecurrent


@dataclass(frozen=True, kw_only=True)
class LSTM(GatedRecurrent):
    """An LSTM: c <- f c + i tanh(g), h <- o tanh(c), with i, f, g, o from x W + h RW + b; y is h.

    Shapes
    ------
    W (F, 4 units), RW (units, 4 units), b (4 units,) in the order i, f, g, o, which is Keras' and
    PyTorch's

    References
    ----------
    Hochreiter and Schmidhuber, Long short-term memory (1997); the forget gate: Gers, Schmidhuber
    and Cummins (2000); its bias: Jozefowicz, Zaremba and Sutskever (2015). DL4J LSTM, Caffe LSTM.
    """

    gates, carried = 4, ("h", "c")

    forget_bias: float = option(
        Number(),
        "Number added to the initial bias of the forget gate: with 1 the layer remembers at first.",
        default=1.0,
    )

    def initial(self, name: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
        values = super().initial(name, shape, rng)
        if name == "b":
            values[self.units : 2 * self.units] += self.forget_bias
        return values

    def walk(self, params: Values, x: Value, *states: Value, **options: Any) -> tuple[Value, ...]:
        peepholes = params.get("P")
        weights = self.weights_of(params)
        return ops.lstm(x, *weights, *states, peepholes=peepholes, slope=self.slope, **options)


@dataclass(frozen=True, kw_only=True)
class GravesLSTM(LSTM):
    """An LSTM with peepholes: the gates i and f see the cell before the step, o the one after it.

    Shapes
    ------
    As LSTM; P (3 units,) in the order i, f, o

    References
    ----------
    Gers, Schraudolph and Schmidhuber, Learning precise timing with LSTM recurrent networks (2002);
    Graves, Supervised sequence labelling with recurrent neural networks (2012). DL4J GravesLSTM.
    """

    penalized: ClassVar[tuple[str, ...]] = ("W", "RW", "P")

    peephole_initializer: AnyOf[Initializer] = option(
        Of(family=Initializer), "Initializer of P.", default="zeros"
    )

    def param_shapes(self, in_shape: Any) -> Shapes:
        return super().param_shapes(in_shape) | {"P": (3 * self.units,)}

    def initial(self, name: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
        if name == "P":
            return self.peephole_initializer.draw(shape, (self.units, self.units), rng)
        return super().initial(name, shape, rng)
