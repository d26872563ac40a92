"""Zero padding and cropping."""

from typing import Any, ClassVar

from sparkdl.config import dataclass, option
from sparkdl.config.field_types import Amount
from sparkdl.engine import ops
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.windows.geometry import sides
from sparkdl.nn.layers.windows.padding import Amounts
from sparkdl.nn.layers.windows.spatial_layer import SpatialLayer


@dataclass(frozen=True, kw_only=True)
class SpatialBorder(SpatialLayer, abstract=True):
    """A layer that lengthens or shortens each spatial axis."""

    low_precision: ClassVar = True

    amount: Amount = option(
        Amounts(),
        "Amount to add or take off: a number, one for each axis, or (before, after) for each; "
        "for sequences one pair (before, after).",
    )

    @property
    def sees_other_steps(self) -> bool:  # type: ignore[override]
        return self.axes == 1

    def margins(self) -> Any:
        """Returns (before, after) per axis of an array (batch, *in_shape)."""
        amounts, none = sides(self.amount, self.axes), (0, 0)
        return ((0, 0), *amounts, none) if self.axes == 1 else (none, none, *amounts)


@dataclass(frozen=True, kw_only=True)
class ZeroPadding(SpatialBorder, abstract=True):
    """Zeros around each example."""

    def out_shape(self, in_shape: Shape) -> Shape:
        channels, space = self.parts(in_shape)
        wider = zip(space, sides(self.amount, self.axes), strict=True)
        return self.join(channels, tuple(n + sum(p) for n, p in wider))

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        return ops.pad(x, *zip(*self.margins(), strict=True))

    def out_mask(self, mask: Value, in_shape: Shape) -> Value:
        """Returns the mask: padding exists if the step next to it does."""
        if self.axes != 1 or mask is None:
            return super().out_mask(mask, in_shape)
        ((before, after),), (n, steps) = sides(self.amount, 1), mask.shape
        ends = ops.slice(mask, (0, 0), (n, 1)), ops.slice(mask, (0, steps - 1), (n, steps))
        first, last = (
            ops.broadcast_to(end, (n, count))
            for end, count in zip(ends, (before, after), strict=True)
        )
        return ops.concat([first, mask, last], axis=1)


@dataclass(frozen=True, kw_only=True)
class Cropping(SpatialBorder, abstract=True):
    """Each example without its border."""

    def out_shape(self, in_shape: Shape) -> Shape:
        channels, space = self.parts(in_shape)
        narrower = zip(space, sides(self.amount, self.axes), strict=True)
        remaining = tuple(n - sum(p) for n, p in narrower)
        if min(remaining) < 1:
            kind = type(self).__name__
            raise ShapeError(f"{kind} of {in_shape} by {self.amount} leaves nothing")
        return self.join(channels, remaining)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        return crop_margins(x, self.margins())

    def out_mask(self, mask: Value, in_shape: Shape) -> Value:
        if self.axes != 1 or mask is None:
            return super().out_mask(mask, in_shape)
        return crop_margins(mask, self.margins()[:2])


def crop_margins(x: Value, margins: Any) -> Value:
    """Crops the margins of x."""
    starts = [before for before, _ in margins]
    stops = [n - after for n, (_, after) in zip(x.shape, margins, strict=True)]
    return ops.slice(x, starts, stops)


@dataclass(frozen=True, kw_only=True)
class ZeroPadding1D(ZeroPadding):
    """Pads sequences (T, F) with steps of zeros before and after.

    Shapes
    ------
    x (batch, T, F), y (batch, before + T + after, F)
    """

    axes: ClassVar = 1


@dataclass(frozen=True, kw_only=True)
class ZeroPadding2D(ZeroPadding):
    """Pads images (C, H, W) with zeros.

    Shapes
    ------
    x (batch, C, H, W), y (batch, C, top + H + bottom, left + W + right)
    """

    axes: ClassVar = 2


@dataclass(frozen=True, kw_only=True)
class ZeroPadding3D(ZeroPadding):
    """Pads volumes (C, D, H, W) with zeros.

    Shapes
    ------
    x (batch, C, D, H, W), y (batch, C, before + D + after, ...), and so for H and W
    """

    axes: ClassVar = 3


@dataclass(frozen=True, kw_only=True)
class Cropping1D(Cropping):
    """Removes the first and last steps of sequences (T, F).

    Shapes
    ------
    x (batch, T, F), y (batch, T - before - after, F)
    """

    axes: ClassVar = 1


@dataclass(frozen=True, kw_only=True)
class Cropping2D(Cropping):
    """Removes the border of images (C, H, W).

    Shapes
    ------
    x (batch, C, H, W), y (batch, C, H - top - bottom, W - left - right)
    """

    axes: ClassVar = 2


@dataclass(frozen=True, kw_only=True)
class Cropping3D(Cropping):
    """Removes the border of volumes (C, D, H, W).

    Shapes
    ------
    x (batch, C, D, H, W), y (batch, C, D - before - after, ...), and so for H and W
    """

    axes: ClassVar = 3
