"""The plain recurrent layer."""

from sparkdl.config import dataclass
from sparkdl.engine.ops.base import register
from sparkdl.engine.ops.recurrent.base import RecurrentOp, apply_with_masks
from sparkdl.engine.ops.recurrent.slopes import relu_slope, tanh_slope
from sparkdl.errors import ShapeError

SLOPES = {"tanh": tanh_slope, "relu": relu_slope}


@register
@dataclass(frozen=True)
class SimpleRnnOp(RecurrentOp):
    """h' = activation(x wx + b + h wh).

    Parameters
    ----------
    activation : str
        "tanh" or "relu".

    Shapes
    ------
    See RecurrentOp; the state is h.

    References
    ----------
    Elman, Finding structure in time (1990).
    """

    gates, biases, saved_count = 1, 1, 1

    activation: str = "tanh"

    def __post_init__(self):
        if self.activation not in SLOPES:
            raise ShapeError(f"simple_rnn has {[*SLOPES]}, got {self.activation!r}")

    def step(self, m, z, states, inputs):
        h = getattr(m, self.activation)(z + m.product(states[0], inputs.wh))
        return (h,), (h,)

    def back(self, product, gstates, saved, before, inputs):
        gz = gstates[0] * SLOPES[self.activation](saved[0])
        return gz, gz, (product(gz, inputs.wh.T),)


def simple_rnn(x, wx, wh, b, h, *, keep=None, mask=None, backwards=False, activation="tanh"):
    """Returns (y (N, T, H), last h) of sequences x (N, T, F); see SimpleRnnOp and RecurrentOp."""
    op = SimpleRnnOp(backwards=backwards, activation=activation)
    return apply_with_masks(op, x, wx, wh, b, h, keep=keep, mask=mask)
