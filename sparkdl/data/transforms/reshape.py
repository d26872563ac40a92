"""Another shape of the same numbers."""

import math
from dataclasses import dataclass

from sparkdl.data.transforms.base import Transform, require_result, whole
from sparkdl.errors import ShapeError, require


@dataclass(frozen=True, kw_only=True)
class Reshape(Transform):
    """Records in the shape that the transforms behind it take, where storage knows rows only.

    Parameters
    ----------
    shape : tuple of int
        Of a record, such as (3, 256, 256) before a Crop.
    """

    shape: tuple[int, ...]

    def __post_init__(self):
        object.__setattr__(self, "shape", tuple(self.shape))
        require(self, "shape", self.shape and whole(self.shape, 1), "integers >= 1")

    def change(self, x, chance):
        self.out_shape(x.shape[1:])
        return x.reshape(len(x), *self.shape)

    def out_shape(self, shape):
        if math.prod(shape) != math.prod(self.shape):
            raise ShapeError(f"Reshape to {self.shape} needs as many numbers, got {tuple(shape)}")
        return self.shape

    def in_shape(self, shape):
        require_result(self, self.shape, shape)
        return self.shape  # which takes rows of as many numbers too
