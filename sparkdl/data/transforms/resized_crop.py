"""Random crops resized to one size."""

from collections.abc import Iterator

import numpy as np

from sparkdl.config import Number, Sizes, dataclass, option
from sparkdl.config.field_types import TwoNumbers, TwoSizes
from sparkdl.data.transforms.base import Chance, ResizingTransform, image_shape
from sparkdl.data.transforms.interpolate import bilinear, nearest, round_to
from sparkdl.data.transforms.targets import GeometricTransform
from sparkdl.errors import require

TRIES = 10


@dataclass(frozen=True, kw_only=True)
class RandomResizedCrop(GeometricTransform, ResizingTransform):
    """Crops a window of random area, aspect ratio and place, and resizes it.

    At inference the window is the largest central one with the aspect ratio of the result. If none
    of ten drawn windows fits, it is the largest central one with an aspect ratio within `ratio`.
    Integers stay integers, rounded. Labels of pixels stay as they are unless `targets` names their
    column: then the same window is cropped and resized, each pixel to the nearest one.

    References
    ----------
    Szegedy et al., Going deeper with convolutions (2014), section 6; torchvision RandomResizedCrop.
    """

    size: TwoSizes = option(Sizes(axes=2, spread=True), "Height and width of the result.")
    area: TwoNumbers = option(
        Sizes(axes=2, of=Number(above=0, maximum=1), spread=True),
        "Smallest and largest share of the image's area.",
        default=(0.08, 1.0),
    )
    ratio: TwoNumbers = option(
        Sizes(axes=2, of=Number(above=0), spread=True),
        "Smallest and largest width / height; its logarithm is drawn uniformly.",
        default=(3 / 4, 4 / 3),
    )

    @property
    def interpolates(self) -> bool:
        return True

    def validate(self) -> None:
        super().validate()
        low, high = self.area
        require(self, "area", low <= high, "two shares, the least one first")
        low, high = self.ratio
        require(self, "ratio", low <= high, "two numbers above 0, the least one first")

    def change(self, x: np.ndarray, chance: Chance | None) -> np.ndarray:
        return self._resample(x, chance, bilinear)

    def move(self, x: np.ndarray, chance: Chance | None) -> np.ndarray:
        return self._resample(x, chance, nearest)

    def _resample(self, x, chance, resample):
        channels, height, width = image_shape(self, x.shape[1:])
        if chance is None:
            shape = self.size[1] / self.size[0]
            box = central_window(height, width, shape, shape)
            return round_to(resample(x, box, self.size), x.dtype)
        y = np.empty((len(x), channels, *self.size), x.dtype)
        for i, box in enumerate(self.boxes(chance, height, width)):
            y[i] = round_to(resample(x[i], box, self.size), x.dtype)
        return y

    def boxes(self, chance: Chance, height: int, width: int) -> Iterator[tuple[int, ...]]:
        """Yields each record's window (top, left, height, width) in whole pixels."""
        u = chance.uniform(2 * TRIES + 2)
        areas = height * width * interpolate(u[:, :TRIES], *self.area)
        ratios = np.exp(interpolate(u[:, TRIES : 2 * TRIES], *np.log(self.ratio)))
        high = np.rint(np.sqrt(areas / ratios)).astype(int)
        wide = np.rint(np.sqrt(areas * ratios)).astype(int)
        fits = (high >= 1) & (wide >= 1) & (high <= height) & (wide <= width)
        for i, first in enumerate(fits.argmax(axis=1)):
            if not fits[i, first]:
                yield central_window(height, width, *self.ratio)
                continue
            h, w = int(high[i, first]), int(wide[i, first])
            top, left = (int(u[i, k] * (n + 1)) for k, n in ((-2, height - h), (-1, width - w)))
            yield top, left, h, w


def interpolate(u, low, high):
    return low + u * (high - low)


def central_window(height, width, low, high):
    """Returns the largest central window with width / height in [low, high], in whole pixels."""
    ratio = min(max(width / height, low), high)
    h = min(height, max(1, round(width / ratio)))
    w = min(width, max(1, round(height * ratio)))
    return (height - h) // 2, (width - w) // 2, h, w
