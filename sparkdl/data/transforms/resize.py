"""Resizing of images."""

import numpy as np

from sparkdl.config import Sizes, dataclass, option
from sparkdl.config.field_types import TwoSizes
from sparkdl.data.transforms.base import Chance, ResizingTransform, image_shape
from sparkdl.data.transforms.interpolate import bilinear, round_to


@dataclass(frozen=True, kw_only=True)
class Resize(ResizingTransform):
    """Resizes images bilinearly; integers stay integers, rounded.

    References
    ----------
    torch.nn.functional.interpolate, bilinear with align_corners=False and without antialias.
    """

    size: TwoSizes = option(Sizes(axes=2, spread=True), "Height and width.")

    def change(self, x: np.ndarray, chance: Chance | None) -> np.ndarray:
        image_shape(self, x.shape[1:])
        if x.shape[2:] == self.size:
            return x
        y = np.empty((*x.shape[:2], *self.size), x.dtype)
        for i, image in enumerate(x):  # one by one, to keep intermediate results in the cache
            y[i] = round_to(bilinear(image, (0, 0, *x.shape[2:]), self.size), x.dtype)
        return y
