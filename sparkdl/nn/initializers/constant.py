"""Constant initial values."""

import numpy as np

from sparkdl.config import Number, dataclass, option
from sparkdl.nn.hints import Shape
from sparkdl.nn.initializers.base import Initializer


@dataclass(frozen=True, kw_only=True)
class Zeros(Initializer, name="zeros"):
    """0."""

    def draw(self, shape: Shape, fans: Shape, rng: np.random.Generator) -> np.ndarray:
        return np.zeros(shape)


@dataclass(frozen=True, kw_only=True)
class Ones(Initializer, name="ones"):
    """1."""

    def draw(self, shape: Shape, fans: Shape, rng: np.random.Generator) -> np.ndarray:
        return np.ones(shape)


@dataclass(frozen=True, kw_only=True)
class Constant(Initializer, name="constant"):
    """The number `value`. Caffe filler "constant"."""

    value: float = option(Number(), "The number.")

    def draw(self, shape: Shape, fans: Shape, rng: np.random.Generator) -> np.ndarray:
        return np.full(shape, float(self.value))
