"""Convolution with filters per channel, optionally mixed by 1x1 filters."""

from math import prod
from typing import ClassVar

import numpy as np

from sparkdl.config import Size, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Shape, Shapes, Value, Values
from sparkdl.nn.layers.convolution.base import Convolution, Filters
from sparkdl.nn.layers.core.run import Run


@dataclass(frozen=True, kw_only=True)
class Depthwise(Convolution, abstract=True):
    """Filters that each see one channel."""

    multiplier: int = option(
        Size(minimum=1),
        "Filters for each channel. The output's channels are those of the first input channel, "
        "then those of the second ...",
        default=1,
    )

    def depthwise_shape(self, in_shape: Shape) -> Shape:
        channels, _ = self.parts(in_shape)
        return (channels * self.multiplier, 1, *self.sizes("kernel_size"))

    def each_channel(self, x: Value, w: Value) -> Value:
        """Applies to each channel of x its filters; channels are on axis 1."""
        return self.convolve(x, w, w.shape[0] // self.multiplier)


@dataclass(frozen=True, kw_only=True)
class DepthwiseConv(Depthwise, abstract=True):
    """y = activation(each channel of x * its filters + b)."""

    def weight_shape(self, in_shape: Shape) -> Shape:
        return self.depthwise_shape(in_shape)

    def param_shapes(self, in_shape: Shape) -> Shapes:
        w = self.weight_shape(in_shape)
        return {"W": w} | ({"b": w[:1]} if self.bias else {})

    def fans(self, shape: Shape) -> Shape:
        return prod(shape[2:]), self.multiplier * prod(shape[2:])

    def out_shape(self, in_shape: Shape) -> Shape:
        channels, space = self.parts(in_shape)
        return self.join(channels * self.multiplier, self.places(space))

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        return self.finish(self.each_channel(self.prepare_input(x, run), params["W"]), params)


@dataclass(frozen=True, kw_only=True)
class DepthwiseConv1D(DepthwiseConv):
    """Depthwise convolution of sequences: each feature has its own filters.

    Shapes
    ------
    x (batch, T, F), y (batch, T', F multiplier), W (F multiplier, 1, kernel), b (F multiplier,)
    """

    axes: ClassVar = 1


@dataclass(frozen=True, kw_only=True)
class DepthwiseConv2D(DepthwiseConv):
    """Depthwise convolution of images: each channel has its own filters.

    Shapes
    ------
    x (batch, C, H, W), y (batch, C multiplier, H', W'), W (C multiplier, 1, rows, columns),
    b (C multiplier,)
    """

    axes: ClassVar = 2


@dataclass(frozen=True, kw_only=True)
class SeparableConv(Depthwise, Filters, abstract=True):
    """Filters D per channel, whose outputs are mixed by filters W of size 1.

    References
    ----------
    Chollet, Xception (2017), section 2: no activation between the two.
    """

    penalized: ClassVar[tuple[str, ...]] = ("D", "W")

    def weight_shape(self, in_shape: Shape) -> Shape:
        return (self.filters, self.depthwise_shape(in_shape)[0], *[1] * self.axes)

    def param_shapes(self, in_shape: Shape) -> Shapes:
        return {"D": self.depthwise_shape(in_shape)} | super().param_shapes(in_shape)

    def fans(self, shape: Shape) -> Shape:
        return shape[1], shape[0]

    def initial(self, name: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
        if name != "D":
            return super().initial(name, shape, rng)
        points = prod(shape[2:])
        return self.weights(shape, (points, self.multiplier * points), rng)

    def out_shape(self, in_shape: Shape) -> Shape:
        return self.join(self.filters, self.places(self.parts(in_shape)[1]))

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        w = params["W"]
        w = ops.reshape(w, (*w.shape[:2], *self.wide(w.shape[2:])))
        return self.finish(
            ops.conv(self.each_channel(self.prepare_input(x, run), params["D"]), w), params
        )


@dataclass(frozen=True, kw_only=True)
class SeparableConv1D(SeparableConv):
    """Depthwise separable convolution of sequences: by feature, then across features.

    Shapes
    ------
    x (batch, T, F), y (batch, T', filters), D (F multiplier, 1, kernel),
    W (filters, F multiplier, 1), b (filters,)
    """

    axes: ClassVar = 1


@dataclass(frozen=True, kw_only=True)
class SeparableConv2D(SeparableConv):
    """Depthwise separable convolution of images: by channel, then across channels.

    Shapes
    ------
    x (batch, C, H, W), y (batch, filters, H', W'), D (C multiplier, 1, rows, columns),
    W (filters, C multiplier, 1, 1), b (filters,)
    """

    axes: ClassVar = 2
