"""Adagrad, gradient descent scaled by the size of all gradients so far."""

from sparkdl.config import Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.optimizers.root_of_squares import RootOfSquares


@dataclass(frozen=True, kw_only=True)
class AdaGrad(RootOfSquares):
    """s <- s + g^2; step = -rate g / (sqrt(s) + epsilon).

    Caffe's, PyTorch's and Deeplearning4j's numbers; `epsilon_in_root` gives Keras's and optax's.

    References
    ----------
    Duchi, Hazan and Singer, Adaptive subgradient methods for online learning and stochastic
    optimization (2011).
    """

    initial_accumulator: float = option(Number(minimum=0), "First value of s.", default=0.0)

    @property
    def slot_start(self) -> dict[str, float]:
        return {"square": self.initial_accumulator}

    def update(self, grad: Value, slots: Values, rate: Value, t: Value) -> tuple[Value, Values]:
        square = slots["square"] + ops.square(grad)
        return self.step(grad, square, rate), {"square": square}
