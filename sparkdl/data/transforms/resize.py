"""Resizing of images."""

from typing import Any, ClassVar

import numpy as np

from sparkdl.config import Choice, Sizes, dataclass, option
from sparkdl.config.field_types import TwoSizes
from sparkdl.data.transforms.base import Chance, ResizingTransform, require_result
from sparkdl.data.transforms.interpolate import bilinear, nearest, round_to
from sparkdl.data.transforms.targets import GeometricTransform

NEAREST = "nearest"


@dataclass(frozen=True, kw_only=True)
class Resize(GeometricTransform, ResizingTransform):
    """Resizes images; integers stay integers, rounded.

    Labels of pixels stay as they are unless `targets` names their column: then they are resized to
    the same size, each pixel to the nearest one. With `interpolation` "nearest" and `column`
    "labels", masks are resized alone, for a network whose output is smaller than its images.

    References
    ----------
    torch.nn.functional.interpolate: bilinear with align_corners=False and without antialias, or
    nearest-exact.
    """

    size: TwoSizes = option(Sizes(axes=2, spread=True), "Height and width.")
    interpolation: str = option(
        Choice(of=("bilinear", NEAREST)),
        '"nearest": each pixel is the nearest one of the image, or of a mask (H, W), since a mean '
        "of two classes would be another class.",
        default="bilinear",
    )

    needs_equal_sizes: ClassVar[bool] = False

    @property
    def interpolates(self) -> bool:
        return self.interpolation != NEAREST

    def out_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self.size if self._is_mask(shape) else super().out_shape(shape)

    def in_shape(self, shape: Any) -> Any:
        if not self._is_mask(shape):
            return super().in_shape(shape)
        require_result(self, self.size, shape)
        return (None, None)

    def change(self, x: np.ndarray, chance: Chance | None) -> np.ndarray:
        self.out_shape(x.shape[1:])
        if x.shape[-2:] == self.size:
            return x
        if self.interpolation == NEAREST:
            return nearest(x, (0, 0, *x.shape[-2:]), self.size)
        y = np.empty((*x.shape[:2], *self.size), x.dtype)
        for i, image in enumerate(x):  # one by one, to keep intermediate results in the cache
            y[i] = round_to(bilinear(image, (0, 0, *x.shape[2:]), self.size), x.dtype)
        return y

    def move(self, x: np.ndarray, chance: Chance | None) -> np.ndarray:
        return nearest(x, (0, 0, *x.shape[2:]), self.size)

    def _is_mask(self, shape):
        return self.interpolation == NEAREST and len(shape) == 2
