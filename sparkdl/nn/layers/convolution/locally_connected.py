"""Filters that differ from position to position."""

from math import prod
from typing import ClassVar

from sparkdl.config import dataclass
from sparkdl.engine import ops
from sparkdl.nn.hints import Shape, Shapes, Value, Values
from sparkdl.nn.layers.convolution.base import Convolution, Filters
from sparkdl.nn.layers.core.run import Run


@dataclass(frozen=True, kw_only=True)
class LocallyConnected(Convolution, Filters, abstract=True):
    """A convolution with unshared filters and biases: each window has its own.

    References
    ----------
    Keras' and DL4J's layers of this name; as in Keras, each position has its own bias.
    """

    def weight_shape(self, in_shape: Shape) -> Shape:
        channels, space = self.parts(in_shape)
        return (prod(self.places(space)), channels * prod(self.sizes("kernel_size")), self.filters)

    def param_shapes(self, in_shape: Shape) -> Shapes:
        weight = {"W": self.weight_shape(in_shape)}
        return weight | {"b": self.out_shape(in_shape)} if self.bias else weight

    def fans(self, shape: Shape) -> Shape:
        return shape[1:]

    def incoming(self, name: str, shape: Shape) -> tuple[Shape, tuple[int, ...]]:
        return shape, (1,)

    def out_shape(self, in_shape: Shape) -> Shape:
        return self.join(self.filters, self.places(self.parts(in_shape)[1]))

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        places = self.places(self.parts(tuple(x.shape[1:]))[1])
        windows = self.windows(x, run)
        y = ops.matmul(ops.transpose(windows, (2, 0, 1)), params["W"])  # (windows, batch, filters)
        y = ops.transpose(y, (1, 0, 2) if self.axes == 1 else (1, 2, 0))
        y = ops.reshape(y, (x.shape[0], *self.join(self.filters, places)))
        return self.activate(ops.add(y, params["b"]) if self.bias else y)

    def windows(self, x: Value, run: Run) -> Value:
        """Returns (batch, channels x kernel positions, windows)."""
        x = self.prepare_input(x, run)
        padding = self.wide(self.padding_of(tuple(x.shape[-self.axes :])), (0, 0))
        size, stride, dilation = (
            self.wide(self.sizes(name)) for name in ("kernel_size", "stride", "dilation")
        )
        windows = ops.unfold(x, size, stride, padding, dilation)
        return ops.reshape(windows, (*windows.shape[:2], prod(windows.shape[2:])))


@dataclass(frozen=True, kw_only=True)
class LocallyConnected1D(LocallyConnected):
    """Locally connected layer: filters that differ at each step, for sequences of a fixed length.

    Shapes
    ------
    x (batch, T, F), y (batch, T', filters), W (T', F kernel, filters), b (T', filters); T' as
    Conv1D has it
    """

    axes: ClassVar = 1
    sees_other_steps: ClassVar = True


@dataclass(frozen=True, kw_only=True)
class LocallyConnected2D(LocallyConnected):
    """Locally connected layer: filters that differ at each place of an image.

    Shapes
    ------
    x (batch, C, H, W), y (batch, filters, H', W'), W (H' W', C rows columns, filters),
    b (filters, H', W'); H' as Conv2D has it
    """

    axes: ClassVar = 2
