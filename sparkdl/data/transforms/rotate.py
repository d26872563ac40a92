"""Images turned by an angle."""

from dataclasses import dataclass

import numpy as np

from sparkdl.data.transforms.base import Transform, image_shape
from sparkdl.data.transforms.interpolate import stored_as
from sparkdl.errors import require


@dataclass(frozen=True, kw_only=True)
class Rotate(Transform):
    """Images turned about their centre by an angle drawn from [-degrees, degrees]; none in use.

    Bilinear; bytes stay bytes, rounded.

    Parameters
    ----------
    degrees : float
        In (0, 180].
    fill : float
        What comes into the corners.

    References
    ----------
    torchvision RandomRotation with bilinear interpolation; positive angles are counter-clockwise.
    """

    degrees: float
    fill: float = 0.0

    def __post_init__(self):
        require(self, "degrees", 0 < self.degrees <= 180, "in (0, 180]")
        require(self, "fill", np.isfinite(self.fill), "a finite number")

    def change(self, x, chance):
        image_shape(self, x.shape[1:])
        if chance is None:
            return x
        y = np.empty_like(x)
        for i, angle in enumerate(np.radians(self.degrees * (2 * chance.uniform(1)[:, 0] - 1))):
            y[i] = stored_as(rotated(x[i], float(angle), self.fill), x.dtype)
        return y

    def out_shape(self, shape):
        return image_shape(self, shape)

    in_shape = out_shape


def rotated(x, angle, fill):
    """Image (C, H, W) turned counter-clockwise by `angle` radians, float32."""
    _, height, width = x.shape
    down, right = np.indices((height, width), np.float32)
    down, right = down - (height - 1) / 2, right - (width - 1) / 2
    cos, sin = np.cos(angle), np.sin(angle)
    rows = cos * down + sin * right + (height + 1) / 2  # one more, for the border
    columns = cos * right - sin * down + (width + 1) / 2
    framed = np.pad(x.astype(np.float32), ((0, 0), (1, 1), (1, 1)), constant_values=fill)
    rows, columns = np.clip(rows, 0, height + 1), np.clip(columns, 0, width + 1)
    top = np.minimum(rows.astype(int), height)
    left = np.minimum(columns.astype(int), width)
    dy, dx = (rows - top).astype(np.float32), (columns - left).astype(np.float32)
    upper = framed[:, top, left] * (1 - dx) + framed[:, top, left + 1] * dx
    lower = framed[:, top + 1, left] * (1 - dx) + framed[:, top + 1, left + 1] * dx
    return upper * (1 - dy) + lower * dy
