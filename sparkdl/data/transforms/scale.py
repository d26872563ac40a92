"""Scaling of features by given numbers."""

from dataclasses import replace
from typing import Any

import numpy as np

from sparkdl.config import Number, Sequence, dataclass, is_integer, option
from sparkdl.config.field_types import OneOrMore
from sparkdl.data.transforms.base import Chance, PixelTransform
from sparkdl.data.transforms.pixels import Pixels
from sparkdl.errors import ShapeError


@dataclass(frozen=True, kw_only=True)
class NotZero(Number):
    """A number other than 0."""

    phrase, plural = "a number, not 0", "numbers, not 0"

    def holds(self, number: float) -> bool:
        return number != 0


@dataclass(frozen=True, kw_only=True)
class PerChannel(Sequence):
    """A sequence or array of numbers, or a single number, which becomes a sequence of one."""

    def check(self, value, where):
        value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        if isinstance(value, float) or is_integer(value):
            return (self.of.check(value, where),)
        return super().check(value, where)


@dataclass(frozen=True, kw_only=True)
class Scale(PixelTransform):
    """Scales features: they become float32 (x - mean) * factor.

    References
    ----------
    Caffe's transform_param with mean_value and scale gives the same numbers.
    """

    factor: float = option(NotZero(), "1/255 brings bytes into [0, 1].", default=1.0)
    mean: OneOrMore[float] = option(
        PerChannel(of=Number()),
        "One number for all, or one per channel (the first axis of an example).",
        default=(),
    )

    def describe(self, pixels: Pixels, chance: Chance | None) -> Pixels:
        if self.mean:
            pixels = pixels.with_mean(channels(self, "mean", pixels.shape[1:]))
        if self.factor != 1:
            pixels = pixels.times(np.float32(self.factor))
        return replace(pixels, wide=True)

    def in_shape(self, shape: Any) -> Any:
        if self.mean:
            channels(self, "mean", shape)
        return shape


@dataclass(frozen=True, kw_only=True)
class Normalize(PixelTransform):
    """Normalizes features: they become float32 (x * scale - mean) / std.

    References
    ----------
    torchvision's Normalize, after ToTensor where scale is 1/255.
    """

    mean: OneOrMore[float] = option(
        PerChannel(of=Number(), minimum=1),
        "One number for all, or one per channel.",
        default=(0.0,),
    )
    std: OneOrMore[float] = option(
        PerChannel(of=NotZero(), minimum=1),
        "One number for all, or one per channel.",
        default=(1.0,),
    )
    scale: float = option(
        NotZero(), "1/255 where mean and std are those of images in [0, 1].", default=1.0
    )

    def describe(self, pixels: Pixels, chance: Chance | None) -> Pixels:
        scale, shape = np.float32(self.scale), pixels.shape[1:]
        mean, std = channels(self, "mean", shape), channels(self, "std", shape)
        return pixels.with_mean(mean / scale).times(scale / std)

    def in_shape(self, shape: Any) -> Any:
        for field in ("mean", "std"):
            channels(self, field, shape)
        return shape


def channels(owner, field, shape):
    """Returns the field's numbers as float32 that broadcast to an example of `shape`.

    Raises ShapeError.
    """
    numbers = getattr(owner, field)
    count = shape[0] if shape else 1  # a record of shape () is one number
    if len(numbers) not in (1, count):
        raise ShapeError(
            f"{type(owner).__name__}.{field} needs 1 number or {count}, one a channel, "
            f"got {len(numbers)}"
        )
    return np.asarray(numbers, np.float32).reshape(-1, *(1 for _ in shape[1:]))
