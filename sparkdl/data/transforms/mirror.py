"""Mirroring of images."""

from dataclasses import replace
from typing import ClassVar

import numpy as np

from sparkdl.config import Choice, Number, dataclass, option
from sparkdl.data.transforms.base import Chance, PixelTransform, image_shape
from sparkdl.data.transforms.pixels import AXES, Pixels
from sparkdl.data.transforms.targets import GeometricTransform


@dataclass(frozen=True, kw_only=True)
class Mirror(GeometricTransform, PixelTransform):
    """Mirrors a random share of the images in training, and none at inference.

    Labels of pixels stay as they are unless `targets` names their column: then they are mirrored
    with their image. A batch needs these columns in training only.

    References
    ----------
    Caffe's transform_param with mirror; torchvision RandomHorizontalFlip and RandomVerticalFlip.
    """

    share: float = option(Number(above=0, maximum=1), "Share of the images to mirror.", default=0.5)
    axis: str = option(
        Choice(of=("horizontal", "vertical")),
        '"horizontal" exchanges left and right, "vertical" top and bottom.',
        default="horizontal",
    )

    needs_equal_sizes: ClassVar[bool] = False

    def describe(self, pixels: Pixels, chance: Chance | None) -> Pixels:
        image_shape(self, pixels.shape[1:])
        if chance is None:
            return pixels
        before = pixels.turned
        turned = np.zeros((len(pixels), 2), bool) if before is None else before.copy()
        turned[:, AXES.index(self.axis)] ^= chance.uniform(1)[:, 0] < self.share
        return replace(pixels, turned=turned)

    def move(self, x: np.ndarray, chance: Chance | None) -> np.ndarray:
        return self.describe(Pixels(images=x), chance).numbers()

    def out_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return image_shape(self, shape)

    in_shape = out_shape
