"""Tells the steps of a sequence apart: attention alone does not see their order."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from sparkdl.config import of
from sparkdl.engine import ops
from sparkdl.errors import ShapeError, require
from sparkdl.nn.checks import is_integer, is_number
from sparkdl.nn.initializers import Initializer
from sparkdl.nn.initializers.plain import Normal
from sparkdl.nn.layers.base import Layer
from sparkdl.nn.layers.trained import Trained


@dataclass(frozen=True, kw_only=True)
class PositionalEncoding(Layer):
    """x + sines of the step: at step t feature 2 i gets sin(t / period^(2 i / F)), 2 i + 1 its cos.

    Parameters
    ----------
    period : float
        Above 1.

    Shapes
    ------
    x, y (batch, T, F)

    References
    ----------
    Vaswani et al., Attention is all you need (2017), section 3.5.
    """

    narrow: ClassVar = True

    period: float = 10_000.0

    def __post_init__(self):
        super().__post_init__()
        require(self, "period", is_number(self.period) and self.period > 1, "a number above 1")

    def out_shape(self, in_shape):
        return self.sequence(in_shape)

    def forward(self, params, x, run):
        return ops.add(x, self.waves(*x.shape[1:]).astype(x.dtype))

    def waves(self, steps, features):
        """(steps, features) float64"""
        pairs = np.arange((features + 1) // 2)
        angles = np.arange(steps)[:, None] / self.period ** (2 * pairs / features)
        waves = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
        return waves.reshape(steps, -1)[:, :features]


@dataclass(frozen=True, kw_only=True)
class PositionEmbedding(Trained):
    """x + a learned row for each step.

    Parameters
    ----------
    steps : int, optional
        Rows there are: the longest sequence; that of the network's input unless given.
    initializer : str, dict or Initializer

    Shapes
    ------
    x, y (batch, T, F), W (steps, F)

    References
    ----------
    Gehring et al., Convolutional sequence to sequence learning (2017), section 3.1.
    """

    narrow: ClassVar = True
    biases: ClassVar = ()

    steps: int | None = None
    initializer: Initializer = field(default=Normal(std=0.02), metadata=of(Initializer))

    def __post_init__(self):
        super().__post_init__()
        holds = self.steps is None or is_integer(self.steps, 1)
        require(self, "steps", holds, "an integer >= 1")

    def out_shape(self, in_shape):
        steps, _ = self.sequence(in_shape)
        if self.steps is not None and steps > self.steps:
            raise ShapeError(f"PositionEmbedding has {self.steps} rows, {in_shape} needs more")
        return in_shape

    def param_shapes(self, in_shape):
        return {"W": (self.steps or in_shape[0], in_shape[1])}

    def initial(self, name, shape, rng):
        return self.initializer.draw(shape, shape, rng)

    def forward(self, params, x, run):
        rows = ops.slice(params["W"], (0, 0), x.shape[1:])
        return ops.add(x, ops.cast(rows, x.dtype))
