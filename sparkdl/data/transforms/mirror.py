"""Mirroring of images."""

from dataclasses import replace

import numpy as np

from sparkdl.config import Choice, Number, Sequence, Text, dataclass, option
from sparkdl.config.field_types import Several
from sparkdl.data.batches.batch import Batch
from sparkdl.data.transforms.base import Chance, PixelTransform, column_of, image_shape
from sparkdl.data.transforms.pixels import AXES, Pixels
from sparkdl.errors import ShapeError


@dataclass(frozen=True, kw_only=True)
class Mirror(PixelTransform):
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

    targets: Several[str] = option(
        Sequence(of=Text(what="a name")),
        'Other columns to mirror with the images, such as "labels" where each pixel has a label.',
        default=(),
    )

    def apply(self, batch: Batch, chance: Chance | None) -> Batch:
        if chance is None:
            return super().apply(batch, None)  # records to predict have no labels
        moved = {name: self._mirror_target(batch, name, chance) for name in self.targets}
        return super().apply(batch, chance).replace(**moved)

    def describe(self, pixels: Pixels, chance: Chance | None) -> Pixels:
        image_shape(self, pixels.shape[1:])
        if chance is None:
            return pixels
        before = pixels.turned
        turned = np.zeros((len(pixels), 2), bool) if before is None else before.copy()
        turned[:, AXES.index(self.axis)] ^= self._draw(chance)
        return replace(pixels, turned=turned)

    def _draw(self, chance):
        """Returns which records are mirrored, (n,) bool."""
        return chance.uniform(1)[:, 0] < self.share

    def _mirror_target(self, batch, name, chance):
        """Returns a column (n, H, W) or (n, C, H, W) mirrored as the images are."""
        x = np.asarray(column_of(self, "targets", name, batch))
        if x.ndim not in (3, 4):
            needed = f"Mirror.targets must have a value for each pixel, (H, W) or (C, H, W): {name}"
            raise ShapeError(f"{needed} has {x.shape[1:]}")
        drawn = self._draw(chance).reshape(-1, *(1 for _ in x.shape[1:]))
        return np.where(drawn, np.flip(x, AXES.index(self.axis) - 2), x)

    def out_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return image_shape(self, shape)

    in_shape = out_shape
