"""Base of the layers with sliding windows."""

from sparkdl.config import Sizes, dataclass, option
from sparkdl.config.field_types import AmountOrWord, Axes
from sparkdl.nn.hints import Shape
from sparkdl.nn.layers.windows.geometry import (
    per_axis,
    takes_single_steps,
    window_padding,
    windows,
)
from sparkdl.nn.layers.windows.padding import Padding
from sparkdl.nn.layers.windows.spatial_layer import SpatialLayer


@dataclass(frozen=True, kw_only=True)
class WindowLayer(SpatialLayer, abstract=True):
    """A layer that sees each example through windows, none of them partial."""

    kernel_size: Axes = option(Sizes(), "Size of the window.")
    stride: Axes = option(Sizes(), "Distance between two windows.", default=1)
    padding: AmountOrWord = option(
        Padding(causal=True),
        'Zero padding of each example. "same" gives ceil(n / stride) windows along an axis of n, '
        'with the odd zero at the end; "causal", only for sequences, puts all zeros in front, so '
        "that no output sees a later step.",
        default=0,
    )
    dilation: Axes = option(Sizes(), "Distance between two points of a window.", default=1)

    @property
    def sees_other_steps(self) -> bool:  # type: ignore[override]
        options = self.kernel_size, self.stride, self.padding, self.dilation
        return self.axes == 1 and not takes_single_steps(*options)

    def sizes(self, name: str) -> Shape:
        """Returns the option `name` with one entry per axis."""
        return per_axis(getattr(self, name), self.axes)

    def padding_of(self, space: Shape) -> tuple[tuple[int, int], ...]:
        """Returns (before, after) per axis."""
        return window_padding(space, self.kernel_size, self.stride, self.padding, self.dilation)

    def places(self, space: Shape) -> Shape:
        """Returns the number of windows along each axis."""
        options = self.kernel_size, self.stride, self.padding_of(space), self.dilation
        return windows(space, *options)
