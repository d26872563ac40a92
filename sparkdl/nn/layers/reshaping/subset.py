"""A slice of the channels or features."""

from typing import ClassVar

from sparkdl.config import Integer, Size, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import ShapeError, require
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.channels import channel_axis
from sparkdl.nn.layers.core.run import Run


@dataclass(frozen=True, kw_only=True)
class Subset(Layer):
    """Slices channels, or features, from `start` up to but excluding `stop`. DL4J SubsetVertex,
    Caffe Slice.

    For steps, axis 0 of sequences, it slices the mask as well.

    Shapes
    ------
    x (batch, C, H, W), y (batch, stop - start, H, W); of rows and sequences the last axis
    """

    low_precision: ClassVar = True

    start: int = option(Size(minimum=0), "Start of the slice.")
    stop: int = option(
        Size(minimum=1),
        "End of the slice, not included, above start; DL4J's `to` is stop - 1.",
    )
    axis: int | None = option(
        Integer(minimum=0),
        "Axis of one example. None: channels of images and features of others.",
        default=None,
    )

    def validate(self) -> None:
        super().validate()
        words = f"an integer above start ({self.start})"
        require(self, "stop", self.stop > self.start, words)

    def out_shape(self, in_shape: Shape) -> Shape:
        axis = self.axis_of(in_shape)
        if axis >= len(in_shape):
            raise ShapeError(f"Subset.axis must be an axis of {in_shape}, got {axis}")
        if self.stop > in_shape[axis]:
            raise ShapeError(
                f"Subset.stop must be within axis {axis} of {in_shape}, got {self.stop}"
            )
        return (*in_shape[:axis], self.stop - self.start, *in_shape[axis + 1 :])

    def mixes_steps(self, in_shape: Shape) -> bool:
        return len(in_shape) == 2 and self.axis_of(in_shape) == 0

    def out_mask(self, mask: Value, in_shape: Shape) -> Value:
        if mask is None or len(mask.shape) > len(in_shape):
            return None
        axis = 1 + self.axis_of(in_shape)
        return self.part(mask, axis) if axis < len(mask.shape) else mask

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        return self.part(x, 1 + self.axis_of(x.shape[1:]))

    def part(self, x: Value, axis: int) -> Value:
        """Returns x from `start` to `stop` along an axis of the batch."""
        starts, stops = [0] * len(x.shape), list(x.shape)
        starts[axis], stops[axis] = self.start, self.stop
        return ops.slice(x, starts, stops)

    def axis_of(self, shape: Shape) -> int:
        return channel_axis(shape) if self.axis is None else self.axis
