"""RMSProp, gradient descent scaled by the size of recent gradients."""

from sparkdl.config import Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.optimizers.root_of_squares import RootOfSquares
from sparkdl.nn.schedules.base import Schedule


@dataclass(frozen=True, kw_only=True)
class RmsProp(RootOfSquares):
    """s <- decay s + (1 - decay) g^2; step = -rate g / (sqrt(s) + epsilon).

    Caffe's, PyTorch's and Deeplearning4j's numbers; `epsilon_in_root` gives Keras's and optax's.

    References
    ----------
    Tieleman and Hinton, Neural networks for machine learning, lecture 6.5 (2012).
    """

    learning_rate: float | Schedule = 0.001
    decay: float = option(
        Number(minimum=0, below=1),
        "Share of the running mean kept from one update to the next.",
        default=0.9,
    )

    def update(self, grad: Value, slots: Values, rate: Value, t: Value) -> tuple[Value, Values]:
        square = self.decay * slots["square"] + (1 - self.decay) * ops.square(grad)
        return self.step(grad, square, rate), {"square": square}
