"""Convolution over images."""

from dataclasses import dataclass
from math import prod

from sparkdl.engine import ops
from sparkdl.errors import ShapeError, require
from sparkdl.nn.checks import is_integer, is_size, pair
from sparkdl.nn.layers.weighted import Activated
from sparkdl.nn.layers.window import PADDING, is_padding, window_padding, windows


@dataclass(frozen=True, kw_only=True)
class Conv2D(Activated):
    """y = activation(x * W + b), where * is cross-correlation, as in every deep learning library.

    Parameters
    ----------
    filters : int
        Channels of the output, at least 1.
    kernel, stride, dilation : int or (rows, columns)
        Size of a filter, distance between two places where it is put, distance between its points;
        at least 1.
    padding : int, (rows, columns), ((top, bottom), (left, right)) or "same"
        Zeros around the image. "same" gives ceil(H / stride) rows, the odd zero at the bottom and
        right.
    groups : int
        The channels and the filters fall into so many groups that do not see each other.

    Shapes
    ------
    x (batch, C, H, W), y (batch, filters, H', W'), W (filters, C / groups, rows, columns),
    b (filters,); H' = floor((H + top + bottom - dilation (rows - 1) - 1) / stride) + 1
    """

    filters: int
    kernel: int | tuple[int, int]
    stride: int | tuple[int, int] = 1
    padding: int | tuple | str = 0
    dilation: int | tuple[int, int] = 1
    groups: int = 1

    def __post_init__(self):
        super().__post_init__()
        require(self, "filters", is_integer(self.filters, 1), "an integer >= 1")
        for name in ("kernel", "stride", "dilation"):
            holds = is_size(getattr(self, name), 1)
            require(self, name, holds, "an integer >= 1 or a pair of them")
        require(self, "padding", is_padding(self.padding), PADDING)
        whole = is_integer(self.groups, 1) and self.filters % self.groups == 0
        require(self, "groups", whole, f"an integer >= 1 that divides filters ({self.filters})")

    def weight_shape(self, in_shape):
        channels = self.images(in_shape)[0]
        if channels % self.groups:
            raise ShapeError(
                f"Conv2D in {self.groups} groups needs channels that fall into them, got {in_shape}"
            )
        return (self.filters, channels // self.groups, *pair(self.kernel))

    def fans(self, shape):
        points = prod(shape[2:])
        return shape[1] * points, shape[0] // self.groups * points

    def outputs(self):
        return self.filters

    def padding_of(self, in_shape):
        image = self.images(in_shape)[1:]
        return window_padding(image, self.kernel, self.stride, self.padding, self.dilation)

    def out_shape(self, in_shape):
        self.weight_shape(in_shape)
        padding = self.padding_of(in_shape)
        places = windows(in_shape[1:], self.kernel, self.stride, padding, self.dilation)
        return (self.filters, *places)

    def forward(self, params, x, run):
        padding = self.padding_of(x.shape[1:])
        stride, dilation = pair(self.stride), pair(self.dilation)
        y = ops.conv(x, params["W"], stride, padding, dilation, self.groups)
        return self.activate(ops.add_bias(y, params["b"], 1) if self.bias else y)
