"""Base of the layers that work along the spatial axes of their input, or along time steps."""

from typing import Any, ClassVar

from sparkdl.config import dataclass
from sparkdl.engine import ops
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape, Value
from sparkdl.nn.layers.core.base import Layer

KINDS = {
    1: "sequences (steps, features)",
    2: "images (channels, height, width)",
    3: "volumes (channels, depth, height, width)",
}


@dataclass(frozen=True, kw_only=True)
class SpatialLayer(Layer, abstract=True):
    """A layer over sequences (T, F), images (C, H, W) or volumes (C, D, H, W), as told by its axes.

    A sequence is processed as an image of one row, with its features as channels.
    """

    axes: ClassVar[int] = 2

    def parts(self, in_shape: Shape) -> tuple[int, Shape]:
        """Returns (channels, spatial lengths) of a valid input."""
        if len(in_shape) != self.axes + 1:
            raise ShapeError(f"{type(self).__name__} takes {KINDS[self.axes]}, got {in_shape}")
        if self.axes == 1:
            return in_shape[1], in_shape[:1]
        return in_shape[0], tuple(in_shape[1:])

    def join(self, channels: int, space: Shape) -> Shape:
        """Returns the shape of an example with these channels and spatial lengths."""
        return (*space, channels) if self.axes == 1 else (channels, *space)

    def inward(self, x: Value) -> Value:
        """Returns x (batch, *in_shape) with channels on axis 1."""
        return ops.sequence_to_image(x) if self.axes == 1 else x

    def outward(self, y: Value) -> Value:
        """Undoes `inward`."""
        return ops.image_to_sequence(y) if self.axes == 1 else y

    def wide(self, values: Value, fill: Value = 1) -> tuple[Any, ...]:
        """Returns one entry per axis, with another in front for the single row of a sequence."""
        return (fill, *values) if self.axes == 1 else tuple(values)
