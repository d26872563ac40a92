"""Crops of images."""

from dataclasses import replace
from typing import Any

import numpy as np

from sparkdl.config import Boolean, Sizes, dataclass, option
from sparkdl.config.field_types import TwoSizes
from sparkdl.data.transforms.base import (
    Chance,
    PixelTransform,
    image_shape,
    require_result,
)
from sparkdl.data.transforms.pixels import Pixels
from sparkdl.data.transforms.targets import GeometricTransform
from sparkdl.errors import ShapeError


@dataclass(frozen=True, kw_only=True)
class Crop(GeometricTransform, PixelTransform):
    """Crops a window from each image: at random in training, in the center at inference.

    Labels of pixels stay as they are unless `targets` names their column: then the same window is
    cropped from them.

    References
    ----------
    Caffe's transform_param with crop_size. Where the center lies between two pixels both take the
    upper left one.
    """

    size: TwoSizes = option(Sizes(axes=2, spread=True), "Height and width.")
    random: bool = option(
        Boolean(),
        "Whether training crops at random; otherwise it crops the center too.",
        default=True,
    )

    def describe(self, pixels: Pixels, chance: Chance | None) -> Pixels:
        self.out_shape(pixels.shape[1:])
        pixels = pixels if pixels.in_place else pixels.compute()
        free = np.subtract(pixels.shape[2:], self.size)
        corners = np.tile(free // 2, (len(pixels), 1))
        if chance is not None and self.random:
            corners = np.floor(chance.uniform(2) * (free + 1))
        return replace(pixels, size=self.size, corners=corners.astype(np.int32))

    def move(self, x: np.ndarray, chance: Chance | None) -> np.ndarray:
        return self.describe(Pixels(images=x), chance).numbers()

    def out_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        channels, *sizes = image_shape(self, shape)
        if any(have < want for have, want in zip(sizes, self.size, strict=True)):
            raise ShapeError(
                f"Crop of {self.size} needs images of at least that, got {tuple(shape)}"
            )
        return (channels, *self.size)

    def in_shape(self, shape: Any) -> Any:
        channels, *_ = image_shape(self, shape)
        require_result(self, (channels, *self.size), shape)
        return (channels, None, None)
