"""Initial values that depend on the position of a weight, as Caffe's fillers."""

import numpy as np

from sparkdl.config import dataclass
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape
from sparkdl.nn.initializers.base import Initializer


@dataclass(frozen=True, kw_only=True)
class PositiveUnitball(Initializer, name="positive_unitball"):
    """Uniform in [0, 1), then divided so that the weights of each output sum to 1.

    Caffe filler "positive_unitball". An output is a column of a matrix (inputs, outputs), or a
    filter of (O, I, kh, kw).
    """

    def draw(self, shape: Shape, fans: Shape, rng: np.random.Generator) -> np.ndarray:
        if len(shape) not in (2, 4):
            raise ShapeError(
                f"positive_unitball needs a matrix or filters (O, I, kh, kw), got {shape}"
            )
        values = rng.uniform(0.0, 1.0, shape)
        of_one_output = (0,) if len(shape) == 2 else (1, 2, 3)
        return values / values.sum(axis=of_one_output, keepdims=True)


@dataclass(frozen=True, kw_only=True)
class Bilinear(Initializer, name="bilinear"):
    """Every filter the tent that bilinear interpolation weighs its neighbors with.

    With f = ceil(k / 2) and c = (2 f - 1 - f mod 2) / (2 f), the weight at row i and column j is
    (1 - |i / f - c|) (1 - |j / f - c|): Caffe filler "bilinear", for filters (O, I, k, k).
    """

    def draw(self, shape: Shape, fans: Shape, rng: np.random.Generator) -> np.ndarray:
        if len(shape) != 4 or shape[2] != shape[3]:
            raise ShapeError(f"bilinear needs square filters (O, I, k, k), got {shape}")
        factor = (shape[3] + 1) // 2
        center = (2 * factor - 1 - factor % 2) / (2 * factor)
        tent = 1 - abs(np.arange(shape[3]) / factor - center)
        return np.broadcast_to(np.outer(tent, tent), shape).copy()
