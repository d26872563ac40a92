"""Position encodings, without which attention ignores the order of steps."""

from typing import ClassVar

import numpy as np

from sparkdl.config import Number, Of, Size, dataclass, option
from sparkdl.config.field_types import AnyOf
from sparkdl.engine import ops
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape, Shapes, Value, Values
from sparkdl.nn.initializers import Initializer
from sparkdl.nn.initializers.plain import Normal
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.parameters import TrainableLayer
from sparkdl.nn.layers.core.run import Run


@dataclass(frozen=True, kw_only=True)
class PositionalEncoding(Layer):
    """x + sines of the step: at step t feature 2 i gets sin(t / period^(2 i / F)), 2 i + 1 its cos.

    Shapes
    ------
    x, y (batch, T, F)

    References
    ----------
    Vaswani et al., Attention is all you need (2017), section 3.5.
    """

    low_precision: ClassVar = True
    sees_other_steps: ClassVar = True

    period: float = option(
        Number(above=1), "Waves are 2 pi steps to almost 2 pi times this long.", default=10_000.0
    )

    def out_shape(self, in_shape: Shape) -> Shape:
        return self.sequence(in_shape)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        return ops.add(x, self.waves(*x.shape[1:]).astype(x.dtype))

    def waves(self, steps: int, features: int) -> np.ndarray:
        """Returns (steps, features) float64"""
        pairs = np.arange((features + 1) // 2)
        angles = np.arange(steps)[:, None] / self.period ** (2 * pairs / features)
        waves = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
        return waves.reshape(steps, -1)[:, :features]


@dataclass(frozen=True, kw_only=True)
class PositionEmbedding(TrainableLayer):
    """x + a learned row for each step.

    Shapes
    ------
    x, y (batch, T, F), W (steps, F)

    References
    ----------
    Gehring et al., Convolutional sequence to sequence learning (2017), section 3.1.
    """

    low_precision: ClassVar = True
    sees_other_steps: ClassVar = True
    biases: ClassVar[tuple[str, ...]] = ()

    steps: int | None = option(
        Size(minimum=1),
        "Number of rows: the longest sequence. None: that of the network's input.",
        default=None,
    )
    initializer: AnyOf[Initializer] = option(
        Of(family=Initializer), "Initializer of W.", default=Normal(std=0.02)
    )

    def out_shape(self, in_shape: Shape) -> Shape:
        steps, _ = self.sequence(in_shape)
        if self.steps is not None and steps > self.steps:
            raise ShapeError(f"PositionEmbedding.steps must be at least {steps}, got {self.steps}")
        return in_shape

    def param_shapes(self, in_shape: Shape) -> Shapes:
        return {"W": (self.steps or in_shape[0], in_shape[1])}

    def initial(self, name: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
        return self.initializer.draw(shape, shape, rng)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        rows = ops.slice(params["W"], (0, 0), x.shape[1:])
        return ops.add(x, ops.cast(rows, x.dtype))
