"""Upsampling, which enlarges sequences, images and volumes."""

from typing import ClassVar

from sparkdl.config import Choice, Sizes, dataclass, option
from sparkdl.config.field_types import Axes
from sparkdl.engine import ops
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.masks import as_image, as_mask
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.windows.geometry import per_axis
from sparkdl.nn.layers.windows.spatial_layer import SpatialLayer


@dataclass(frozen=True, kw_only=True)
class UpSampling(SpatialLayer, abstract=True):
    """A layer that multiplies the length of every spatial axis by its size."""

    low_precision: ClassVar = True

    size: Axes = option(Sizes(), "Factor by which each axis grows.", default=2)

    def larger(self, space: Shape) -> Shape:
        return tuple(n * s for n, s in zip(space, per_axis(self.size, self.axes), strict=True))

    def out_shape(self, in_shape: Shape) -> Shape:
        channels, space = self.parts(in_shape)
        return self.join(channels, self.larger(space))

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        x = self.inward(x)
        space = self.larger(tuple(x.shape[-self.axes :]))
        return self.outward(ops.resize(x, self.wide(space), self.linear))

    @property
    def linear(self) -> bool:
        """Whether new numbers are interpolated linearly between their neighbors."""
        return False


@dataclass(frozen=True, kw_only=True)
class UpSampling1D(UpSampling):
    """Repeats each step of a sequence, and its mask, `size` times.

    Shapes
    ------
    x (batch, T, F), y (batch, T size, F)
    """

    axes: ClassVar = 1

    def out_mask(self, mask: Value, in_shape: Shape) -> Value:
        if mask is None:
            return None
        return as_mask(ops.resize(as_image(mask), (1, mask.shape[1] * self.size)))


@dataclass(frozen=True, kw_only=True)
class UpSampling2D(UpSampling):
    """Upsamples images to `size` times as many rows and columns.

    Shapes
    ------
    x (batch, C, H, W), y (batch, C, H size, W size)
    """

    axes: ClassVar = 2

    interpolation: str = option(
        Choice(of=("nearest", "bilinear")),
        '"nearest" repeats each number; "bilinear" draws lines between the centers of pixels '
        "(those beyond the outermost centers are as these), as Keras and PyTorch with "
        "align_corners=False.",
        default="nearest",
    )

    @property
    def linear(self) -> bool:
        return self.interpolation == "bilinear"


@dataclass(frozen=True, kw_only=True)
class UpSampling3D(UpSampling):
    """Upsamples volumes to `size` times as many planes, rows and columns.

    Shapes
    ------
    x (batch, C, D, H, W), y (batch, C, D size, H size, W size)
    """

    axes: ClassVar = 3
