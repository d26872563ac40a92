"""What the two kinds of pooling have in common."""

from dataclasses import dataclass

from sparkdl.errors import require
from sparkdl.nn.checks import is_size, pair
from sparkdl.nn.layers.base import Layer
from sparkdl.nn.layers.window import PADDING, is_padding, window_padding, windows


@dataclass(frozen=True, kw_only=True)
class Pool2D(Layer, abstract=True):
    """One number for each window of each channel.

    Parameters
    ----------
    size : int or (rows, columns)
        Of a window, at least 1.
    stride : int or (rows, columns), optional
        Distance between two windows, at least 1; the size unless given.
    padding : int, (rows, columns), ((top, bottom), (left, right)) or "same"
        Around the image, on each side smaller than the window.
    rounding : str
        What happens to rows and columns left over: "floor" leaves them out, "ceil" (as Caffe has
        it) gives them a partial window.

    Shapes
    ------
    x (batch, C, H, W), y (batch, C, H', W')
    """

    size: int | tuple[int, int]
    stride: int | tuple[int, int] | None = None
    padding: int | tuple | str = 0
    rounding: str = "floor"

    def __post_init__(self):
        super().__post_init__()
        pairs = "an integer >= 1 or a pair of them"
        require(self, "size", is_size(self.size, 1), pairs)
        require(self, "stride", self.stride is None or is_size(self.stride, 1), pairs)
        require(self, "padding", is_padding(self.padding), PADDING)
        require(self, "padding", self.padding_is_small(), f"smaller than the size ({self.size})")
        require(self, "rounding", self.rounding in ("floor", "ceil"), "'floor' or 'ceil'")

    def padding_is_small(self):
        """Whether each window sees at least one number of the image."""
        if self.padding == "same":
            return True
        sides = [pair(side) for side in pair(self.padding)]
        return all(max(side) < k for side, k in zip(sides, pair(self.size)))

    @property
    def step(self):
        """The stride, as a pair."""
        return pair(self.size if self.stride is None else self.stride)

    def padding_of(self, in_shape, rounding=None):
        image, rounding = self.images(in_shape)[1:], rounding or self.rounding
        return window_padding(image, self.size, self.step, self.padding, rounding=rounding)

    def out_shape(self, in_shape):
        padding = self.padding_of(in_shape)
        return (in_shape[0], *windows(in_shape[1:], self.size, self.step, padding))
