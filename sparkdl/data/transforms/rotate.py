"""Random rotation of images."""

from functools import lru_cache

import numpy as np

from sparkdl.config import Number, dataclass, option
from sparkdl.data.transforms.base import Chance, image_shape
from sparkdl.data.transforms.interpolate import round_to
from sparkdl.data.transforms.targets import GeometricTransform


@dataclass(frozen=True, kw_only=True)
class Rotate(GeometricTransform):
    """Rotates images about their center by a random angle in [-degrees, degrees], only in training.

    Bilinear; integers stay integers, rounded. Labels of pixels stay as they are unless `targets`
    names their column: then they are rotated with their image, to the nearest pixel.

    References
    ----------
    torchvision RandomRotation with bilinear interpolation; positive angles are counter-clockwise.
    """

    degrees: float = option(Number(above=0, maximum=180), "The largest angle.")
    fill: float = option(Number(), "Value of the corners.", default=0.0)

    target_fill: float = option(
        Number(),
        "Value of the corners of targets, such as the label that the loss ignores.",
        default=0.0,
    )

    @property
    def interpolates(self) -> bool:
        return True

    def change(self, x: np.ndarray, chance: Chance | None) -> np.ndarray:
        return self._rotate(x, chance, rotate_image, self.fill)

    def move(self, x: np.ndarray, chance: Chance | None) -> np.ndarray:
        fill = round_to(np.array([self.target_fill], np.float64), x.dtype)[0]
        return self._rotate(x, chance, rotate_to_nearest, fill)

    def _rotate(self, x, chance, rotate, fill):
        image_shape(self, x.shape[1:])
        if chance is None:
            return x
        y = np.empty_like(x)
        for i, angle in enumerate(np.radians(self.degrees * (2 * chance.uniform(1)[:, 0] - 1))):
            y[i] = round_to(rotate(x[i], float(angle), fill), x.dtype)
        return y

    def out_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return image_shape(self, shape)

    in_shape = out_shape


def rotate_image(x, angle, fill):
    """Rotates an image (C, H, W) counter-clockwise by `angle` radians; returns float32."""
    channels, height, width = x.shape
    rows, columns = places_before(angle, height, width)
    top = np.minimum(rows.astype(np.int64), height)
    left = np.minimum(columns.astype(np.int64), width)
    dy, dx = rows - top.astype(np.float32), columns - left.astype(np.float32)
    framed = framed_image(x, fill, np.float32)
    flat, at = framed.reshape(channels, -1), top * (width + 2) + left
    upper = interpolate(flat.take(at, 1), flat.take(at + 1, 1), dx)
    at += width + 2
    return interpolate(upper, interpolate(flat.take(at, 1), flat.take(at + 1, 1), dx), dy)


def rotate_to_nearest(x, angle, fill):
    """Rotates an image (C, H, W) as `rotate_image` does; each pixel takes the nearest one."""
    rows, columns = places_before(angle, *x.shape[1:])
    nearest = (np.floor(places + np.float32(0.5)).astype(np.int64) for places in (rows, columns))
    return framed_image(x, fill, x.dtype)[:, *nearest]


def places_before(angle, height, width):
    """Returns the row and the column that each pixel of a rotated image comes from, float32 (H, W).

    They count in the image with a border of one pixel.
    """
    down, right = centered_coordinates(height, width)
    cos, sin = np.float32(np.cos(angle)), np.float32(np.sin(angle))
    rows = np.clip(cos * down + sin * right + (height + 1) / 2, 0, height + 1)
    columns = np.clip(cos * right - sin * down + (width + 1) / 2, 0, width + 1)
    return rows, columns


def framed_image(x, fill, dtype):
    """Returns an image (C, H, W) with a border of one pixel."""
    channels, height, width = x.shape
    y = np.full((channels, height + 2, width + 2), fill, dtype)
    y[:, 1:-1, 1:-1] = x
    return y


@lru_cache(maxsize=8)
def centered_coordinates(height, width):
    """Returns the offsets of pixels from the center, float32 (height, 1) and (1, width)."""
    down = np.arange(height, dtype=np.float32) - np.float32((height - 1) / 2)
    right = np.arange(width, dtype=np.float32) - np.float32((width - 1) / 2)
    return down[:, np.newaxis], right[np.newaxis]


def interpolate(first, second, share):
    """Returns the weighted mean of both, overwriting `second`."""
    second -= first
    second *= share
    second += first
    return second
