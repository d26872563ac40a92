"""Sliding windows of images, as channels."""

from math import prod
from typing import ClassVar

from sparkdl.config import dataclass
from sparkdl.engine import ops
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.windows.window_layer import WindowLayer


@dataclass(frozen=True, kw_only=True)
class Unfold2D(WindowLayer):
    """Unfolds the numbers that each window sees into channels. Caffe layer Im2col.

    Shapes
    ------
    x (batch, C, H, W), y (batch, C rows columns, H', W'), with H' as of Conv2D
    """

    axes: ClassVar = 2

    def out_shape(self, in_shape: Shape) -> Shape:
        channels, space = self.parts(in_shape)
        return (channels * prod(self.sizes("kernel_size")), *self.places(space))

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        kernel, stride, dilation = map(self.sizes, ("kernel_size", "stride", "dilation"))
        return ops.unfold(x, kernel, stride, self.padding_of(tuple(x.shape[2:])), dilation)
