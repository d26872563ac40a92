"""Scaling of features by numbers that the user gives."""

from dataclasses import dataclass, replace

import numpy as np

from sparkdl.data.transforms.base import PixelTransform
from sparkdl.errors import ShapeError, require


@dataclass(frozen=True, kw_only=True)
class Scale(PixelTransform):
    """Features as float32, (x - mean) * factor.

    Parameters
    ----------
    factor : float
        Not 0; 1/255 brings bytes into [0, 1].
    mean : tuple of float
        One number for all, or one a channel (the first axis of an example).

    References
    ----------
    Caffe's transform_param with mean_value and scale gives the same numbers.
    """

    factor: float = 1.0
    mean: tuple[float, ...] = ()

    def __post_init__(self):
        as_tuple(self, "mean")
        require(self, "factor", np.isfinite(self.factor) and self.factor != 0, "a number, not 0")
        require(self, "mean", all(np.isfinite(m) for m in self.mean), "finite numbers")

    def describe(self, pixels, chance):
        if self.mean:
            pixels = pixels.with_mean(channels(self, "mean", pixels.shape[1:]))
        if self.factor != 1:
            pixels = pixels.times(np.float32(self.factor))
        return replace(pixels, wide=True)

    def in_shape(self, shape):
        if self.mean:
            channels(self, "mean", shape)
        return shape


@dataclass(frozen=True, kw_only=True)
class Normalize(PixelTransform):
    """Features as float32, (x * scale - mean) / std.

    Parameters
    ----------
    mean, std : tuple of float
        One number for all, or one a channel; std not 0.
    scale : float
        1/255 where mean and std are those of images in [0, 1].

    References
    ----------
    torchvision's Normalize, after ToTensor where scale is 1/255.
    """

    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    scale: float = 1.0

    def __post_init__(self):
        for field in ("mean", "std"):
            as_tuple(self, field)
            sound = getattr(self, field) and all(np.isfinite(n) for n in getattr(self, field))
            require(self, field, sound, "finite numbers")
        require(self, "std", 0 not in self.std, "numbers, not 0")
        require(self, "scale", np.isfinite(self.scale) and self.scale != 0, "a number, not 0")

    def describe(self, pixels, chance):
        scale, shape = np.float32(self.scale), pixels.shape[1:]
        mean, std = channels(self, "mean", shape), channels(self, "std", shape)
        return pixels.with_mean(mean / scale).times(scale / std)

    def in_shape(self, shape):
        for field in ("mean", "std"):
            channels(self, field, shape)
        return shape


def as_tuple(owner, field):
    """Make a field that was given as one number or a list a tuple."""
    value = getattr(owner, field)
    object.__setattr__(owner, field, (value,) if np.isscalar(value) else tuple(value))


def channels(owner, field, shape):
    """The field's numbers as float32 that broadcast to an example of `shape`. Raises ShapeError."""
    numbers, count = getattr(owner, field), shape[0]
    if len(numbers) not in (1, count):
        raise ShapeError(
            f"{type(owner).__name__}.{field} needs 1 number or {count}, one a channel, "
            f"got {len(numbers)}"
        )
    return np.asarray(numbers, np.float32).reshape(-1, *(1 for _ in shape[1:]))
