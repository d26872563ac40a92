"""Initial values that make a layer a rotation or the identity."""

from math import prod

import numpy as np

from sparkdl.config import Number, dataclass, option
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape
from sparkdl.nn.initializers.base import Initializer


@dataclass(frozen=True, kw_only=True)
class Orthogonal(Initializer, name="orthogonal"):
    """`gain` times a random matrix with orthonormal rows or columns, whichever are fewer.

    Filters (O, I, kh, kw) are a matrix of O rows.

    References
    ----------
    Saxe, McClelland and Ganguli, Exact solutions to the nonlinear dynamics of learning in deep
    linear neural networks (2014). Mezzadri (2007) for the signs, without which q is not uniform.
    """

    gain: float = option(Number(above=0), "Factor of the matrix.", default=1.0)

    def draw(self, shape: Shape, fans: Shape, rng: np.random.Generator) -> np.ndarray:
        rows, columns = shape[0], prod(shape[1:])
        wide = columns > rows
        q, r = np.linalg.qr(rng.standard_normal((max(rows, columns), min(rows, columns))))
        q = q * np.where(np.diag(r) < 0, -1.0, 1.0)
        return self.gain * (q.T if wide else q).reshape(shape)


@dataclass(frozen=True, kw_only=True)
class IdentityMatrix(Initializer, name="identity"):
    """y = x as far as the widths go: a unit matrix, or filters with a 1 in the middle."""

    def draw(self, shape: Shape, fans: Shape, rng: np.random.Generator) -> np.ndarray:
        if len(shape) == 2:
            return np.eye(*shape)
        if len(shape) != 4:
            raise ShapeError(f"identity needs a matrix or filters (O, I, kh, kw), got {shape}")
        weights = np.zeros(shape)
        i = np.arange(min(shape[:2]))
        weights[i, i, shape[2] // 2, shape[3] // 2] = 1
        return weights
