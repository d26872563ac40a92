"""Mirroring of images."""

from dataclasses import replace

import numpy as np

from sparkdl.config import Choice, Number, dataclass, option
from sparkdl.data.transforms.base import Chance, PixelTransform, image_shape
from sparkdl.data.transforms.pixels import AXES, Pixels


@dataclass(frozen=True, kw_only=True)
class Mirror(PixelTransform):
    """Mirrors a random share of the images in training, and none at inference.

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

    def describe(self, pixels: Pixels, chance: Chance | None) -> Pixels:
        image_shape(self, pixels.shape[1:])
        if chance is None:
            return pixels
        before = pixels.turned
        turned = np.zeros((len(pixels), 2), bool) if before is None else before.copy()
        turned[:, AXES.index(self.axis)] ^= chance.uniform(1)[:, 0] < self.share
        return replace(pixels, turned=turned)

    def out_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return image_shape(self, shape)

    in_shape = out_shape
