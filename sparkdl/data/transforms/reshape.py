"""Reshaping of records."""

import math
from typing import Any

import numpy as np

from sparkdl.config import Sequence, Size, dataclass, option
from sparkdl.config.field_types import Several
from sparkdl.data.transforms.base import Chance, Transform, require_result
from sparkdl.errors import ShapeError


@dataclass(frozen=True, kw_only=True)
class ReshapeRecords(Transform):
    """Reshapes records that are stored as rows, for the transforms that follow."""

    shape: Several[int] = option(
        Sequence(of=Size(minimum=1), minimum=1),
        "Shape of a record, such as (3, 256, 256) before a Crop.",
    )

    def change(self, x: np.ndarray, chance: Chance | None) -> np.ndarray:
        self.out_shape(x.shape[1:])
        return x.reshape(len(x), *self.shape)

    def out_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if math.prod(shape) != math.prod(self.shape):
            raise ShapeError(
                f"ReshapeRecords to {self.shape} needs as many numbers, got {tuple(shape)}"
            )
        return self.shape

    def in_shape(self, shape: Any) -> Any:
        require_result(self, self.shape, shape)
        return self.shape  # flat rows of that many numbers fit, too
