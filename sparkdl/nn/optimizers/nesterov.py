"""Gradient descent with Nesterov's momentum."""

from typing import ClassVar

from sparkdl.config import Number, dataclass, option
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.optimizers.base import Optimizer


@dataclass(frozen=True, kw_only=True)
class Nesterov(Optimizer):
    """v <- momentum v - rate g; step = momentum v - rate g, with the new v.

    Caffe's solver type Nesterov and DL4J's Nesterovs take the same steps; so do PyTorch and optax
    (nesterov=True) while the rate does not change.

    References
    ----------
    Sutskever, Martens, Dahl and Hinton, On the importance of initialization and momentum in deep
    learning (2013), eq. 3 and 4, in the variable theta + momentum v.
    """

    slot_names: ClassVar[tuple[str, ...]] = ("velocity",)

    momentum: float = option(
        Number(minimum=0, below=1),
        "Share of the velocity kept from one update to the next.",
        default=0.9,
    )

    def update(self, grad: Value, slots: Values, rate: Value, t: Value) -> tuple[Value, Values]:
        descent = rate * grad
        velocity = self.momentum * slots["velocity"] - descent
        return self.momentum * velocity - descent, {"velocity": velocity}
