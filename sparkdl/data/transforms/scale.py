"""Scaling of features by numbers that the user gives."""

from dataclasses import dataclass

import numpy as np

from sparkdl.data.transforms.affine import affine
from sparkdl.data.transforms.base import Transform
from sparkdl.errors import ShapeError, require


@dataclass(frozen=True, kw_only=True)
class Scale(Transform):
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

    def change(self, x, chance):
        mean = channels(self, "mean", x.shape[1:]) if self.mean else None
        return affine(x, mean, None if self.factor == 1 else np.float32(self.factor))

    def in_shape(self, shape):
        if self.mean:
            channels(self, "mean", shape)
        return shape


@dataclass(frozen=True, kw_only=True)
class Normalize(Transform):
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

    def change(self, x, chance):
        shape = x.shape[1:]
        mean, std = channels(self, "mean", shape), channels(self, "std", shape)
        return affine(x, mean / np.float32(self.scale), np.float32(self.scale) / std)

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
