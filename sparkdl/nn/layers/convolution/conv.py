"""Convolution over sequences, images and volumes."""

from math import prod
from typing import ClassVar

from sparkdl.config import dataclass
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.convolution.base import Convolution, GroupedFilters
from sparkdl.nn.layers.core.run import Run


@dataclass(frozen=True, kw_only=True)
class Conv(Convolution, GroupedFilters, abstract=True):
    """y = activation(x * W + b); * is cross-correlation, as in every deep learning library."""

    def weight_shape(self, in_shape: Shape) -> Shape:
        return (
            self.filters,
            self.split_groups(in_shape) // self.groups,
            *self.sizes("kernel_size"),
        )

    def fans(self, shape: Shape) -> Shape:
        points = prod(shape[2:])
        return shape[1] * points, shape[0] // self.groups * points

    def out_shape(self, in_shape: Shape) -> Shape:
        self.weight_shape(in_shape)
        return self.join(self.filters, self.places(self.parts(in_shape)[1]))

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        return self.finish(
            self.convolve(self.prepare_input(x, run), params["W"], self.groups), params
        )


@dataclass(frozen=True, kw_only=True)
class Conv1D(Conv):
    """Convolution over the steps of sequences: y = activation(x * W + b).

    Shapes
    ------
    x (batch, T, F), y (batch, T', filters), W (filters, F / groups, kernel), b (filters,);
    T' = floor((T + before + after - dilation (kernel - 1) - 1) / stride) + 1
    """

    axes: ClassVar = 1


@dataclass(frozen=True, kw_only=True)
class Conv2D(Conv):
    """Convolution over images: y = activation(x * W + b).

    Shapes
    ------
    x (batch, C, H, W), y (batch, filters, H', W'), W (filters, C / groups, rows, columns),
    b (filters,); H' = floor((H + top + bottom - dilation (rows - 1) - 1) / stride) + 1
    """

    axes: ClassVar = 2


@dataclass(frozen=True, kw_only=True)
class Conv3D(Conv):
    """Convolution over volumes: y = activation(x * W + b).

    Shapes
    ------
    x (batch, C, D, H, W), y (batch, filters, D', H', W'),
    W (filters, C / groups, planes, rows, columns), b (filters,); D' as H' of Conv2D
    """

    axes: ClassVar = 3
