"""Gradient descent in the units of the steps it takes."""

from dataclasses import dataclass, field
from typing import ClassVar

from sparkdl.config import of
from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.checks import is_positive, is_share
from sparkdl.nn.schedules.base import Schedule
from sparkdl.nn.updaters.base import Updater


@dataclass(frozen=True, kw_only=True)
class AdaDelta(Updater):
    """s and d are running means of g^2 and of u^2; u = g sqrt(d + epsilon) / sqrt(s + epsilon).

    s <- decay s + (1 - decay) g^2, then u with the old d, then d <- decay d + (1 - decay) u^2;
    step = -rate u. Caffe, PyTorch and optax compute the same. The defaults are DL4J's, which has
    no learning rate (1 here).

    Parameters
    ----------
    decay : float
        Share of the running means kept from one update to the next, in [0, 1).
    epsilon : float
        Above 0.

    References
    ----------
    Zeiler, ADADELTA: an adaptive learning rate method (2012), algorithm 1.
    """

    slot_names: ClassVar = ("square", "step_square")

    rate: float | Schedule = field(default=1.0, metadata=of(Schedule, number=True))
    decay: float = 0.95
    epsilon: float = 1e-6

    def __post_init__(self):
        super().__post_init__()
        require(self, "decay", is_share(self.decay), "in [0, 1)")
        require(self, "epsilon", is_positive(self.epsilon), "a number above 0")

    def update(self, grad, slots, rate, t):
        square = self.kept(slots["square"], grad)
        change = grad * ops.sqrt((slots["step_square"] + self.epsilon) / (square + self.epsilon))
        return -rate * change, {
            "square": square,
            "step_square": self.kept(slots["step_square"], change),
        }

    def kept(self, mean, value):
        """The running mean of squares after one more value."""
        return self.decay * mean + (1 - self.decay) * ops.square(value)
