"""A part of the channels or features."""

from dataclasses import dataclass
from typing import ClassVar

from sparkdl.engine import ops
from sparkdl.errors import ShapeError, require
from sparkdl.nn.checks import is_integer
from sparkdl.nn.layers.base import Layer


@dataclass(frozen=True, kw_only=True)
class Subset(Layer):
    """Channels, or features, from `start` up to and without `stop`. DL4J SubsetVertex, Caffe Slice.

    Parameters
    ----------
    start, stop : int
        0 <= start < stop; DL4J's `to` is stop - 1.

    Shapes
    ------
    x (batch, C, H, W), y (batch, stop - start, H, W); of rows and sequences the last axis
    """

    narrow: ClassVar = True

    start: int
    stop: int

    def __post_init__(self):
        super().__post_init__()
        require(self, "start", is_integer(self.start, 0), "an integer >= 0")
        above = is_integer(self.stop, self.start + 1)
        require(self, "stop", above, f"an integer above start ({self.start})")

    def out_shape(self, in_shape):
        axis = axis_of(in_shape)
        if self.stop > in_shape[axis]:
            raise ShapeError(f"Subset ends at {self.stop}, beyond axis {axis} of {in_shape}")
        return (*in_shape[:axis], self.stop - self.start, *in_shape[axis + 1 :])

    def forward(self, params, x, run):
        axis = 1 + axis_of(x.shape[1:])
        starts, stops = [0] * len(x.shape), list(x.shape)
        starts[axis], stops[axis] = self.start, self.stop
        return ops.slice(x, starts, stops)


def axis_of(shape):
    """Channels of images, features of rows and sequences."""
    return 0 if len(shape) > 2 else len(shape) - 1
