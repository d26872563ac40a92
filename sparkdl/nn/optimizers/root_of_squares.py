"""Base of the optimizers that divide gradients by the root of what their squares add up to."""

from typing import ClassVar

from sparkdl.config import Boolean, Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Value
from sparkdl.nn.optimizers.base import Optimizer


@dataclass(frozen=True, kw_only=True)
class RootOfSquares(Optimizer, abstract=True):
    """step = -rate g / (sqrt(s) + epsilon), with s of the squares of gradients."""

    slot_names: ClassVar[tuple[str, ...]] = ("square",)

    epsilon: float = option(Number(above=0), "Number added to the root.", default=1e-8)
    epsilon_in_root: bool = option(
        Boolean(),
        "sqrt(s + epsilon), as Keras and optax have it, rather than sqrt(s) + epsilon.",
        default=False,
    )

    def step(self, grad: Value, square: Value, rate: Value) -> Value:
        """Returns the step to add to the parameters."""
        if self.epsilon_in_root:
            return -rate * grad / ops.sqrt(square + self.epsilon)
        return -rate * grad / (ops.sqrt(square) + self.epsilon)
