"""One-hot encoding of class numbers."""

from typing import Any

import numpy as np

from sparkdl.config import Size, dataclass, option
from sparkdl.data.transforms.base import Chance, Transform, require_result
from sparkdl.errors import DataError


@dataclass(frozen=True, kw_only=True)
class OneHot(Transform):
    """Encodes integers (...) in [0, classes) as one-hot float32 vectors (..., classes).

    Stored data stays small: a byte per character, not a vector.
    """

    classes: int = option(Size(minimum=1), "Number of classes.")

    def change(self, x: np.ndarray, chance: Chance | None) -> np.ndarray:
        inside = (x >= 0) & (x < self.classes)  # before the cast, which wraps and truncates
        if x.size and not inside.all():
            raise DataError(
                f"OneHot needs numbers in [0, {self.classes}), got {x.min()} to {x.max()}"
            )
        codes = x.astype(np.int64, copy=False)
        if (fractions := codes != x).any():
            raise DataError(f"OneHot needs whole numbers, got {x[fractions][0]}")
        y = np.zeros((codes.size, self.classes), np.float32)
        y[np.arange(codes.size), codes.reshape(-1)] = 1
        return y.reshape(*codes.shape, self.classes)

    def out_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape, self.classes)

    def in_shape(self, shape: Any) -> Any:
        require_result(self, (*shape[:-1], self.classes), shape)
        return tuple(shape[:-1])
