"""Color transforms of images."""

from typing import Any

import numpy as np

from sparkdl.config import Integer, Number, Sequence, dataclass, option
from sparkdl.config.field_types import Several
from sparkdl.data.transforms.base import Chance, Transform, image_shape
from sparkdl.data.transforms.hue import shift_hue
from sparkdl.data.transforms.interpolate import round_to
from sparkdl.errors import ShapeError, require

LUMA = np.array([0.299, 0.587, 0.114], np.float32).reshape(3, 1, 1)


@dataclass(frozen=True, kw_only=True)
class ColorJitter(Transform):
    """Randomly changes brightness, contrast, saturation and hue of each image in training.

    Images are RGB (3, H, W). Integers stay integers, rounded once at the end.

    References
    ----------
    torchvision ColorJitter, which draws the order too. Gray is 0.299 R + 0.587 G + 0.114 B (ITU-R
    BT.601).
    """

    brightness: float = option(
        Number(minimum=0),
        "The factor is drawn from [max(0, 1 - brightness), 1 + brightness]; applied first.",
        default=0.0,
    )
    contrast: float = option(Number(minimum=0), "Like brightness, applied after it.", default=0.0)
    saturation: float = option(
        Number(minimum=0), "Like brightness, applied after contrast.", default=0.0
    )
    hue: float = option(
        Number(minimum=0, maximum=0.5),
        "The shift, a fraction of the color circle, is drawn from [-hue, hue].",
        default=0.0,
    )
    white: float = option(
        Number(above=0),
        "Largest pixel value; results are clipped to [0, white].",
        default=255.0,
    )

    def change(self, x: np.ndarray, chance: Chance | None) -> np.ndarray:
        self.out_shape(x.shape[1:])
        if chance is None:
            return x
        y = np.empty_like(x)
        draws = 2 * chance.uniform(4) - 1
        for i, (brightness, contrast, saturation, hue) in enumerate(draws):
            z = x[i].astype(np.float32)
            if self.brightness:
                z = self.cut(z * factor(self.brightness, brightness))
            if self.contrast:
                z = self.cut(blend(z, gray(z).mean(), factor(self.contrast, contrast)))
            if self.saturation:
                z = self.cut(blend(z, gray(z), factor(self.saturation, saturation)))
            if self.hue:
                z = shift_hue(z, self.hue * hue)
            y[i] = round_to(z, x.dtype)
        return y

    def cut(self, z: np.ndarray) -> np.ndarray:
        return np.clip(z, 0, np.float32(self.white), out=z)

    def out_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return image_shape(self, shape, 3)

    in_shape = out_shape


@dataclass(frozen=True, kw_only=True)
class Grayscale(Transform):
    """Converts RGB images (3, H, W) to gray (1, H, W); integers stay integers, rounded.

    References
    ----------
    ITU-R BT.601, as in ColorJitter.
    """

    def change(self, x: np.ndarray, chance: Chance | None) -> np.ndarray:
        self.out_shape(x.shape[1:])
        return round_to(gray(x.astype(np.float32)), x.dtype)

    def out_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (1, *image_shape(self, shape, 3)[1:])

    def in_shape(self, shape: Any) -> Any:
        channels, *sizes = image_shape(self, shape)
        if channels != 1:
            raise ShapeError(
                f"Grayscale gives images (1, H, W), but what follows takes {tuple(shape)}"
            )
        return (3, *sizes)


@dataclass(frozen=True, kw_only=True)
class ChannelSwap(Transform):
    """Reorders channels: by default RGB to BGR, which Caffe's networks take."""

    order: Several[int] = option(
        Sequence(of=Integer(minimum=0), minimum=1),
        "Index of the input's channel for each channel of the result.",
        default=(2, 1, 0),
    )

    def validate(self) -> None:
        super().validate()
        sound = sorted(self.order) == list(range(len(self.order)))
        require(self, "order", sound, "an order of 0 and up")

    def change(self, x: np.ndarray, chance: Chance | None) -> np.ndarray:
        self.out_shape(x.shape[1:])
        return x[:, list(self.order)]

    def out_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if tuple(shape[:1]) != (len(self.order),):
            raise ShapeError(f"ChannelSwap needs {len(self.order)} channels, got {tuple(shape)}")
        return tuple(shape)

    in_shape = out_shape


def gray(x):
    """Converts images (..., 3, H, W) float32 to gray (..., 1, H, W)."""
    return (x * LUMA).sum(axis=-3, keepdims=True)


def blend(x, y, share):
    """Returns share x + (1 - share) y."""
    return (x - y) * share + y


def factor(range_, uniform):
    """Maps a number drawn from [-1, 1) to one from [max(0, 1 - range), 1 + range)."""
    low, high = max(0.0, 1 - range_), 1 + range_
    return np.float32(low + (high - low) * (uniform + 1) / 2)
