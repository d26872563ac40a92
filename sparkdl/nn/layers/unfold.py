"""The windows of images laid out beside each other."""

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from sparkdl.engine import ops
from sparkdl.errors import require
from sparkdl.nn.layers.spatial import Spatial
from sparkdl.nn.layers.window import PADDINGS, each, is_padding, window_padding, windows


@dataclass(frozen=True, kw_only=True)
class Unfold2D(Spatial):
    """The numbers that each window sees, as channels. Caffe layer Im2col.

    Parameters
    ----------
    kernel, stride, dilation, padding
        See Convolution.

    Shapes
    ------
    x (batch, C, H, W), y (batch, C rows columns, H', W'), with H' as of Conv2D
    """

    axes: ClassVar = 2

    kernel: int | tuple[int, int]
    stride: int | tuple[int, int] = 1
    padding: int | tuple | str = 0
    dilation: int | tuple[int, int] = 1

    def __post_init__(self):
        super().__post_init__()
        self.require_sizes("kernel", "stride", "dilation")
        require(self, "padding", is_padding(self.padding, 2), PADDINGS[2])

    def padding_of(self, space):
        return window_padding(space, self.kernel, self.stride, self.padding, self.dilation)

    def out_shape(self, in_shape):
        channels, space = self.parts(in_shape)
        places = windows(space, self.kernel, self.stride, self.padding_of(space), self.dilation)
        return (channels * prod(each(self.kernel, 2)), *places)

    def forward(self, params, x, run):
        sizes = [each(value, 2) for value in (self.kernel, self.stride, self.dilation)]
        kernel, stride, dilation = sizes
        return ops.unfold(x, kernel, stride, self.padding_of(tuple(x.shape[2:])), dilation)
