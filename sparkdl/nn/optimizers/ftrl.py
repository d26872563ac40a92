"""Follow the regularized leader, for sparse weights of linear models."""

from typing import ClassVar

from sparkdl.config import Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Value, Values
from sparkdl.nn.layout import Layout
from sparkdl.nn.optimizers.base import Optimizer

TINY = 1e-30  # avoids 0 / 0 before the first gradient; lower rates count as 0


@dataclass(frozen=True, kw_only=True)
class Ftrl(Optimizer):
    """FTRL-Proximal: n <- n + g^2; z <- z + g - (change of sqrt(n)) w / rate; the weight is 0
    where |z| <= l1, else (sign(z) l1 - z) / ((beta + sqrt(n)) / rate + l2).

    A weight depends only on z and n: its initial value is ignored, and it is exactly 0 until its
    gradients add up to l1. So Ftrl suits linear models whose weights start at 0, such as the wide
    part of a wide and deep network, but not hidden layers.

    Where the rate is 0, a weight and its z and n stay as they are.

    With a beta of 0 and an initial n of 0.1 it matches Keras's and TensorFlow's Ftrl, whose l2 is
    half of this one.

    References
    ----------
    McMahan et al., Ad click prediction: a view from the trenches (2013), algorithm 1.
    """

    slot_names: ClassVar[tuple[str, ...]] = ("linear", "square")

    l1: float = option(
        Number(minimum=0), "Threshold of z: as it grows, more weights are 0.", default=0.0
    )
    l2: float = option(Number(minimum=0), "Pulls weights towards 0.", default=0.0)
    beta: float = option(Number(minimum=0), "Number added to sqrt(n).", default=1.0)
    initial_accumulator: float = option(
        Number(minimum=0), "First value of n; above 0 where beta is 0.", default=0.0
    )

    @property
    def slot_start(self) -> dict[str, float]:
        return {"square": self.initial_accumulator}

    def move(
        self,
        params: Value,
        grad: Value,
        slots: Values,
        rate: Value,
        t: Value,
        layout: Layout | None,
        decay: Value = None,
    ) -> tuple[Value, Values]:
        moving = ops.greater(rate, TINY)
        safe = ops.where(moving, rate, 1.0)
        squared = ops.square(grad)
        square = slots["square"] + squared
        root = ops.sqrt(square)
        growth = squared / (root + ops.sqrt(slots["square"]) + TINY)  # = root - sqrt(n), but exact
        linear = slots["linear"] + grad - growth * params / safe
        excess = ops.maximum(ops.abs(linear) - self.l1, 0.0)
        weights = -ops.sign(linear) * excess / ((self.beta + root) / safe + self.l2 + TINY)
        step = weights - params
        step = step if decay is None else ops.sub(step, ops.mul(rate, ops.mul(decay, params)))
        new = {"linear": linear, "square": square}
        kept = {name: ops.where(moving, value, slots[name]) for name, value in new.items()}
        return ops.where(moving, step, 0.0), kept
