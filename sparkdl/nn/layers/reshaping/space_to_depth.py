"""Blocks of pixels as channels of one pixel, and the inverse."""

from typing import ClassVar

from sparkdl.config import Size, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.windows.spatial_layer import SpatialLayer


@dataclass(frozen=True, kw_only=True)
class BlockRearrangement(SpatialLayer, abstract=True):
    """A layer that works on square blocks of an image."""

    axes: ClassVar = 2
    low_precision: ClassVar = True

    block: int = option(Size(minimum=1), "Rows and columns of a block.", default=2)


@dataclass(frozen=True, kw_only=True)
class SpaceToDepth(BlockRearrangement):
    """Turns each block of an image into one pixel: its first pixel's channels, then its second's
    ...

    Shapes
    ------
    x (batch, C, H, W), y (batch, block^2 C, H / block, W / block);
    y[(i block + j) C + c, h, w] = x[c, h block + i, w block + j]

    References
    ----------
    TensorFlow's space_to_depth and DL4J's SpaceToDepth; PyTorch's pixel_unshuffle puts the channel
    first.
    """

    def out_shape(self, in_shape: Shape) -> Shape:
        channels, (rows, columns) = self.parts(in_shape)
        if rows % self.block or columns % self.block:
            raise ShapeError(f"SpaceToDepth needs whole blocks of {self.block}, got {in_shape}")
        return channels * self.block**2, rows // self.block, columns // self.block

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        n, c, rows, columns = x.shape
        size = self.block
        x = ops.reshape(x, (n, c, rows // size, size, columns // size, size))
        x = ops.transpose(x, (0, 3, 5, 1, 2, 4))
        return ops.reshape(x, (n, size**2 * c, rows // size, columns // size))


@dataclass(frozen=True, kw_only=True)
class DepthToSpace(BlockRearrangement):
    """Turns each pixel into a block: the inverse of SpaceToDepth.

    Shapes
    ------
    x (batch, C, H, W), y (batch, C / block^2, H block, W block)

    References
    ----------
    TensorFlow's depth_to_space, ONNX's DepthToSpace with mode DCR.
    """

    def out_shape(self, in_shape: Shape) -> Shape:
        channels, (rows, columns) = self.parts(in_shape)
        if channels % self.block**2:
            raise ShapeError(
                f"DepthToSpace needs channels for blocks of {self.block}, got {in_shape}"
            )
        return channels // self.block**2, rows * self.block, columns * self.block

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        n, c, rows, columns = x.shape
        size, channels = self.block, c // self.block**2
        x = ops.reshape(x, (n, size, size, channels, rows, columns))
        x = ops.transpose(x, (0, 3, 4, 1, 5, 2))
        return ops.reshape(x, (n, channels, rows * size, columns * size))
