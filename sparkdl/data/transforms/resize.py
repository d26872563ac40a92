"""Resizing of images."""

from typing import ClassVar

import numpy as np

from sparkdl.config import Sizes, dataclass, option
from sparkdl.config.field_types import TwoSizes
from sparkdl.data.transforms.base import Chance, ResizingTransform, image_shape
from sparkdl.data.transforms.interpolate import bilinear, nearest, round_to
from sparkdl.data.transforms.targets import GeometricTransform


@dataclass(frozen=True, kw_only=True)
class Resize(GeometricTransform, ResizingTransform):
    """Resizes images bilinearly; integers stay integers, rounded.

    Labels of pixels stay as they are unless `targets` names their column: then they are resized to
    the same size, each pixel to the nearest one.

    References
    ----------
    torch.nn.functional.interpolate, bilinear with align_corners=False and without antialias.
    """

    size: TwoSizes = option(Sizes(axes=2, spread=True), "Height and width.")

    needs_equal_sizes: ClassVar[bool] = False

    def change(self, x: np.ndarray, chance: Chance | None) -> np.ndarray:
        image_shape(self, x.shape[1:])
        if x.shape[2:] == self.size:
            return x
        y = np.empty((*x.shape[:2], *self.size), x.dtype)
        for i, image in enumerate(x):  # one by one, to keep intermediate results in the cache
            y[i] = round_to(bilinear(image, (0, 0, *x.shape[2:]), self.size), x.dtype)
        return y

    def move(self, x: np.ndarray, chance: Chance | None) -> np.ndarray:
        return nearest(x, (0, 0, *x.shape[2:]), self.size)
