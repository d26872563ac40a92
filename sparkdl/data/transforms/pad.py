"""Padding of images."""

from typing import Any

import numpy as np

from sparkdl.config import Choice, Number, Size, Sizes, dataclass, option
from sparkdl.config.field_types import TwoSizes
from sparkdl.data.transforms.base import Chance, image_shape
from sparkdl.data.transforms.interpolate import round_to
from sparkdl.data.transforms.targets import GeometricTransform
from sparkdl.errors import require

MODES = "constant", "edge", "reflect"


@dataclass(frozen=True, kw_only=True)
class Pad(GeometricTransform):
    """Adds a border to images. Followed by a Crop of the old size, it shifts them at random.

    Labels of pixels stay as they are unless `targets` names their column: then they get a border of
    the same mode.
    """

    size: TwoSizes = option(
        Sizes(axes=2, of=Size(minimum=0), spread=True),
        "Pixels above and below, and to the left and right.",
    )
    mode: str = option(
        Choice(of=tuple(MODES)),
        "Content of the border: `value`, the outermost pixel again, or the pixels inside it in "
        "reverse.",
        default="constant",
    )
    value: float = option(
        Number(), 'Value that "constant" fills in; integers take the nearest one.', default=0.0
    )

    target_fill: float = option(
        Number(),
        'Value that "constant" fills into targets, such as the label that the loss ignores.',
        default=0.0,
    )

    def change(self, x: np.ndarray, chance: Chance | None) -> np.ndarray:
        return self._pad(x, self.value)

    def move(self, x: np.ndarray, chance: Chance | None) -> np.ndarray:
        return self._pad(x, self.target_fill)

    def _pad(self, x, value):
        image_shape(self, x.shape[1:])
        border = [(0, 0), (0, 0), *((n, n) for n in self.size)]
        if self.mode != "constant":
            return np.pad(x, border, self.mode)
        nearest = round_to(np.array([value], np.float64), x.dtype)
        return np.pad(x, border, constant_values=nearest)

    def out_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        channels, *sizes = image_shape(self, shape)
        return (channels, *(have + 2 * n for have, n in zip(sizes, self.size, strict=True)))

    def in_shape(self, shape: Any) -> Any:
        channels, *sizes = image_shape(self, shape)
        return (channels, *map(self._before, sizes, self.size))

    def _before(self, size, n):
        if size is None:
            return None
        require(self, "size", size > 2 * n, f"less than half of the {size} pixels that follow it")
        return size - 2 * n
