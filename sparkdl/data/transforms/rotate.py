"""Random rotation of images."""

from functools import lru_cache

import numpy as np

from sparkdl.config import Number, dataclass, option
from sparkdl.data.transforms.base import Chance, Transform, image_shape
from sparkdl.data.transforms.interpolate import round_to


@dataclass(frozen=True, kw_only=True)
class Rotate(Transform):
    """Rotates images about their center by a random angle in [-degrees, degrees], only in training.

    Bilinear; integers stay integers, rounded.

    References
    ----------
    torchvision RandomRotation with bilinear interpolation; positive angles are counter-clockwise.
    """

    degrees: float = option(Number(above=0, maximum=180), "The largest angle.")
    fill: float = option(Number(), "Value of the corners.", default=0.0)

    def change(self, x: np.ndarray, chance: Chance | None) -> np.ndarray:
        image_shape(self, x.shape[1:])
        if chance is None:
            return x
        y = np.empty_like(x)
        for i, angle in enumerate(np.radians(self.degrees * (2 * chance.uniform(1)[:, 0] - 1))):
            y[i] = round_to(rotate_image(x[i], float(angle), self.fill), x.dtype)
        return y

    def out_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return image_shape(self, shape)

    in_shape = out_shape


def rotate_image(x, angle, fill):
    """Rotates an image (C, H, W) counter-clockwise by `angle` radians; returns float32."""
    channels, height, width = x.shape
    down, right = centered_coordinates(height, width)
    cos, sin = np.float32(np.cos(angle)), np.float32(np.sin(angle))
    # Coordinates in the image with a border of one pixel, hence one more.
    rows = np.clip(cos * down + sin * right + (height + 1) / 2, 0, height + 1)
    columns = np.clip(cos * right - sin * down + (width + 1) / 2, 0, width + 1)
    top = np.minimum(rows.astype(np.int64), height)
    left = np.minimum(columns.astype(np.int64), width)
    dy, dx = rows - top.astype(np.float32), columns - left.astype(np.float32)
    framed = np.full((channels, height + 2, width + 2), fill, np.float32)
    framed[:, 1:-1, 1:-1] = x
    flat, at = framed.reshape(channels, -1), top * (width + 2) + left
    upper = interpolate(flat.take(at, 1), flat.take(at + 1, 1), dx)
    at += width + 2
    return interpolate(upper, interpolate(flat.take(at, 1), flat.take(at + 1, 1), dx), dy)


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
