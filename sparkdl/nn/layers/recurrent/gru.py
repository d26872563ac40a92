"""Gated recurrent units."""

from typing import Any

from sparkdl.config import Boolean, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.layers.recurrent.base import GatedRecurrent


@dataclass(frozen=True, kw_only=True)
class GRU(GatedRecurrent):
    """h <- u h + (1 - u) o, with the gates u, r and o = tanh(x W_o + r (h RW_o + b_4) + b_o).

    Shapes
    ------
    W (F, 3 units), RW (units, 3 units) in the order u, r, o, which is Keras'; b (4 units,) in the
    order u, r, o, b_4, or (3 units,) without `reset_after`

    References
    ----------
    Cho et al., Learning phrase representations using RNN encoder-decoder for statistical machine
    translation (2014).
    """

    gates = 3

    reset_after: bool = option(
        Boolean(),
        "Whether r is applied after the product with h, as in Keras, PyTorch and cuDNN; else o = "
        "tanh(x W_o + (r h) RW_o + b_o), as in the paper.",
        default=True,
    )

    def outputs(self) -> int:
        return (4 if self.reset_after else 3) * self.units

    def walk(self, params: Values, x: Value, *states: Value, **options: Any) -> tuple[Value, ...]:
        options |= {"reset_after": self.reset_after, "slope": self.slope}
        return ops.gru(x, *self.weights_of(params), *states, **options)
