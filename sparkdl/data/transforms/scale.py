"""Scaling of features by numbers that the user gives."""

from dataclasses import dataclass, replace

import numpy as np

from sparkdl.config import Number, Sequence, option
from sparkdl.data.transforms.base import PixelTransform
from sparkdl.errors import ShapeError, require


@dataclass(frozen=True, kw_only=True)
class Scale(PixelTransform):
    """Features as float32, (x - mean) * factor.

    References
    ----------
    Caffe's transform_param with mean_value and scale gives the same numbers.
    """

    factor: float = option(Number(), "Not 0; 1/255 brings bytes into [0, 1].", default=1.0)
    mean: tuple[float, ...] = option(
        Sequence(of=Number()),
        "One number for all, or one a channel (the first axis of an example).",
        default=(),
    )

    def __post_init__(self):
        as_tuple(self, "mean")
        super().__post_init__()

    def validate(self):
        super().validate()
        require(self, "factor", self.factor != 0, "a number, not 0")

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

    References
    ----------
    torchvision's Normalize, after ToTensor where scale is 1/255.
    """

    mean: tuple[float, ...] = option(
        Sequence(of=Number(), minimum=1), "One number for all, or one a channel.", default=(0.0,)
    )
    std: tuple[float, ...] = option(
        Sequence(of=Number(), minimum=1),
        "One number for all, or one a channel; not 0.",
        default=(1.0,),
    )
    scale: float = option(
        Number(), "Not 0; 1/255 where mean and std are those of images in [0, 1].", default=1.0
    )

    def __post_init__(self):
        as_tuple(self, "mean")
        as_tuple(self, "std")
        super().__post_init__()

    def validate(self):
        super().validate()
        require(self, "std", 0 not in self.std, "numbers, not 0")
        require(self, "scale", self.scale != 0, "a number, not 0")

    def describe(self, pixels, chance):
        scale, shape = np.float32(self.scale), pixels.shape[1:]
        mean, std = channels(self, "mean", shape), channels(self, "std", shape)
        return pixels.with_mean(mean / scale).times(scale / std)

    def in_shape(self, shape):
        for field in ("mean", "std"):
            channels(self, field, shape)
        return shape


def as_tuple(owner, field):
    """Make a field that was given as one number, or as an array, a sequence of numbers."""
    value = getattr(owner, field)
    value = value.tolist() if isinstance(value, np.ndarray) else value
    alone = isinstance(value, int | float | np.generic) and not isinstance(value, bool)
    object.__setattr__(owner, field, (value,) if alone else value)


def channels(owner, field, shape):
    """The field's numbers as float32 that broadcast to an example of `shape`. Raises ShapeError."""
    numbers, count = getattr(owner, field), shape[0]
    if len(numbers) not in (1, count):
        raise ShapeError(
            f"{type(owner).__name__}.{field} needs 1 number or {count}, one a channel, "
            f"got {len(numbers)}"
        )
    return np.asarray(numbers, np.float32).reshape(-1, *(1 for _ in shape[1:]))
