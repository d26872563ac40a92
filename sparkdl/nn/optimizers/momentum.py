"""Gradient descent with momentum."""

from typing import ClassVar

from sparkdl.config import Number, dataclass, option
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.optimizers.base import Optimizer


@dataclass(frozen=True, kw_only=True)
class Momentum(Optimizer):
    """v <- momentum v - rate g; step = v.

    The rate is inside v, as in Caffe (solver type SGD) and DL4J. PyTorch and optax multiply v by
    the rate outside, which differs only while the rate changes.

    References
    ----------
    Polyak, Some methods of speeding up the convergence of iteration methods (1964).
    """

    slot_names: ClassVar[tuple[str, ...]] = ("velocity",)

    momentum: float = option(
        Number(minimum=0, below=1),
        "Share of the velocity kept from one update to the next.",
        default=0.9,
    )

    def update(self, grad: Value, slots: Values, rate: Value, t: Value) -> tuple[Value, Values]:
        velocity = self.momentum * slots["velocity"] - rate * grad
        return velocity, {"velocity": velocity}
