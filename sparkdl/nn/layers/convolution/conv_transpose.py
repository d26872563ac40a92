"""Transposed convolution: the gradient of a convolution, as a layer that enlarges its input."""

from math import prod
from typing import Any, ClassVar

import numpy as np

from sparkdl.config import Size, Sizes, dataclass, option
from sparkdl.config.field_types import AmountOrWord, Axes
from sparkdl.engine import ops
from sparkdl.errors import ShapeError, require
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.convolution.base import Convolution, GroupedFilters
from sparkdl.nn.layers.core.masks import as_image, as_mask
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.windows.geometry import same_padding, sides, spans_of
from sparkdl.nn.layers.windows.padding import Padding


@dataclass(frozen=True, kw_only=True)
class ConvTranspose(Convolution, GroupedFilters, abstract=True):
    """The transpose of a convolution with these options, from its outputs to its inputs.

    References
    ----------
    Zeiler et al., Deconvolutional networks (2010); Caffe's Deconvolution, DL4J's Deconvolution2D.
    With padding 0 and a kernel smaller than the stride, Keras' output is longer by (stride -
    kernel), as with that `output_padding`.
    """

    padding: AmountOrWord = option(
        Padding(),
        'Padding of the convolution, taken off the output. "same" gives n stride places for n.',
        default=0,
    )
    output_padding: Axes = option(
        Sizes(of=Size(minimum=0)),
        'Places added after the last window, fewer than the stride; not with "same".',
        default=0,
    )

    def validate(self) -> None:
        super().validate()
        field, padding = "output_padding", self.sizes("output_padding")
        strides = self.sizes("stride")
        holds = all(amount < stride for amount, stride in zip(padding, strides, strict=True))
        require(self, field, holds, f"at least 0, below the stride ({self.stride})")
        require(self, field, self.padding != "same" or not any(padding), "0 with 'same'")

    def weight_shape(self, in_shape: Shape) -> Shape:
        return (
            self.split_groups(in_shape),
            self.filters // self.groups,
            *self.sizes("kernel_size"),
        )

    def fans(self, shape: Shape) -> Shape:
        points = prod(shape[2:])
        return shape[0] // self.groups * points, shape[1] * points

    def incoming(self, name: str, shape: Shape) -> tuple[Shape, tuple[int, ...]]:
        grouped = (self.groups, shape[0] // self.groups, *shape[1:])
        return grouped, (1, *range(3, len(grouped)))

    def target(self, space: Shape) -> tuple[Shape, Any]:
        """Returns (lengths of the output, padding) for an input with the lengths `space`."""
        spans, strides = spans_of(self.kernel_size, self.dilation, self.axes), self.sizes("stride")
        if self.padding == "same":
            wide = tuple(n * s for n, s in zip(space, strides, strict=True))
            return wide, tuple(map(same_padding, wide, spans, strides))
        padding = sides(self.padding, self.axes)
        lengths = zip(space, spans, strides, padding, self.sizes("output_padding"), strict=True)
        return tuple((n - 1) * s + k - sum(p) + r for n, k, s, p, r in lengths), padding

    def out_shape(self, in_shape: Shape) -> Shape:
        self.weight_shape(in_shape)
        space = self.parts(in_shape)[1]
        wide, _ = self.target(space)
        if min(wide) < 1:
            kind = type(self).__name__
            raise ShapeError(f"{kind} of {in_shape} with padding {self.padding} leaves nothing")
        return self.join(self.filters, wide)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        x = self.prepare_input(x, run)
        wide, padding = self.target(tuple(x.shape[-self.axes :]))
        stride, dilation = (self.wide(self.sizes(name)) for name in ("stride", "dilation"))
        w = params["W"]
        w = ops.reshape(w, (*w.shape[:2], *self.wide(w.shape[2:])))
        options = stride, self.wide(padding, (0, 0)), dilation, self.groups
        return self.finish(ops.conv_transpose(x, w, self.wide(wide), *options), params)

    def out_mask(self, mask: Value, in_shape: Shape) -> Value:
        """Returns the mask: an output step exists if an existing input step reaches it."""
        if self.axes != 1 or mask is None:
            return None
        wide, padding = self.target((mask.shape[1],))
        ones = np.ones((1, 1, 1, *self.sizes("kernel_size")), mask.dtype)
        stride, dilation = (self.wide(self.sizes(name)) for name in ("stride", "dilation"))
        options = stride, self.wide(padding, (0, 0)), dilation
        reached = ops.conv_transpose(as_image(mask), ones, self.wide(wide), *options)
        return as_mask(ops.greater(reached, 0.0))


@dataclass(frozen=True, kw_only=True)
class Conv1DTranspose(ConvTranspose):
    """Transposed convolution over sequences.

    Shapes
    ------
    x (batch, T, F), y (batch, T', filters), W (F, filters / groups, kernel), b (filters,);
    T' = (T - 1) stride + dilation (kernel - 1) + 1 - before - after + output_padding
    """

    axes: ClassVar = 1


@dataclass(frozen=True, kw_only=True)
class Conv2DTranspose(ConvTranspose):
    """Transposed convolution over images.

    Shapes
    ------
    x (batch, C, H, W), y (batch, filters, H', W'), W (C, filters / groups, rows, columns),
    b (filters,); H' = (H - 1) stride + dilation (rows - 1) + 1 - top - bottom + output_padding
    """

    axes: ClassVar = 2


@dataclass(frozen=True, kw_only=True)
class Conv3DTranspose(ConvTranspose):
    """Transposed convolution over volumes.

    Shapes
    ------
    x (batch, C, D, H, W), y (batch, filters, D', H', W'),
    W (C, filters / groups, planes, rows, columns), b (filters,); D' as H' of Conv2DTranspose
    """

    axes: ClassVar = 3
