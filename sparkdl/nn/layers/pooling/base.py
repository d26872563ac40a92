"""Base of the pooling layers."""

from typing import Any, ClassVar

from sparkdl.config import Choice, Sizes, dataclass, option
from sparkdl.config.field_types import AmountOrWord, Axes, OptionalAxes
from sparkdl.engine import ops
from sparkdl.engine.ops.spatial.window import all_see_something
from sparkdl.errors import ShapeError, require
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.masks import fill_padding, window_mask
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.windows.geometry import (
    per_axis,
    sides,
    spans_of,
    takes_single_steps,
    window_padding,
    windows,
)
from sparkdl.nn.layers.windows.padding import Padding
from sparkdl.nn.layers.windows.spatial_layer import SpatialLayer


@dataclass(frozen=True, kw_only=True)
class Pool(SpatialLayer, abstract=True):
    """One number per window and channel.

    Shapes
    ------
    x (batch, C, H, W), y (batch, C, H', W'); sequences (batch, T, F), volumes (batch, C, D, H, W).
    A step of a masked sequence exists if its window has an existing step.
    """

    low_precision: ClassVar = True
    fill: ClassVar[float] = 0.0  # value of padding steps

    size: Axes = option(Sizes(), "Size of the window.")
    stride: OptionalAxes = option(
        Sizes(), "Distance between two windows. None: the size.", default=None
    )
    padding: AmountOrWord = option(
        Padding(),
        "Padding around each example, on each side smaller than the window. Each window must see "
        "at least one number of the example, which with a dilation also depends on the lengths "
        'of the axes. "same" gives ceil(n / stride) windows along an axis of n.',
        default=0,
    )
    dilation: Axes = option(Sizes(), "Distance between two points of a window.", default=1)
    rounding: str = option(
        Choice(of=("floor", "ceil")),
        'Rounding of the number of windows: "floor" drops a partial window at the end, "ceil" '
        "(as in Caffe) keeps it.",
        default="floor",
    )

    def validate(self) -> None:
        super().validate()
        require(self, "padding", self.padding_is_small(), f"smaller than the size ({self.size})")

    @property
    def sees_other_steps(self) -> bool:  # type: ignore[override]
        options = self.size, self.step, self.padding, self.dilation
        return self.axes == 1 and not takes_single_steps(*options)

    def padding_is_small(self) -> bool:
        """Returns whether no window can consist of padding alone."""
        if self.padding == "same":
            return True
        spans = spans_of(self.size, self.dilation, self.axes)
        return all(max(p) < k for p, k in zip(sides(self.padding, self.axes), spans, strict=True))

    def sizes(self, name: str) -> Shape:
        """Returns the option `name` with one entry per axis."""
        return per_axis(getattr(self, name), self.axes)

    @property
    def step(self) -> Shape:
        """The stride, with one entry per axis."""
        return per_axis(self.size if self.stride is None else self.stride, self.axes)

    def padding_of(self, space: Shape, rounding: str | None = None) -> tuple[tuple[int, int], ...]:
        """Returns (before, after) per axis.

        Raises
        ------
        ShapeError
            If a window would see nothing but padding.
        """
        options = self.size, self.step, self.padding, self.dilation
        padding = window_padding(space, *options, rounding or self.rounding)
        axes = zip(space, self.sizes("size"), self.step, padding, self.sizes("dilation"))
        for n, size, stride, widths, dilation in axes:
            if not all_see_something(n, size, stride, widths, dilation):
                raise ShapeError(
                    f"{type(self).__name__}.padding must leave each window a number of {space}, "
                    f"got {self.padding!r}; take a smaller padding or dilation"
                )
        return padding

    def places(self, space: Shape) -> Shape:
        """Returns the number of windows along each axis."""
        return windows(space, self.size, self.step, self.padding_of(space), self.dilation)

    def out_shape(self, in_shape: Any) -> Shape:
        channels, space = self.parts(in_shape)
        return self.join(channels, self.places(space))

    def out_mask(self, mask: Value, in_shape: Any) -> Value:
        if self.axes != 1 or mask is None:
            return super().out_mask(mask, in_shape)
        (padding,) = self.padding_of((mask.shape[1],))
        return window_mask(mask, self.size, self.step[0], padding, self.dilation)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        if self.axes > 1:
            return self.pool_windows(x, tuple(x.shape[2:]))
        y = ops.sequence_to_image(fill_padding(x, run.mask, self.fill))
        y = ops.image_to_sequence(self.pool_windows(y, (x.shape[1],)))
        return fill_padding(y, self.out_mask(run.mask, tuple(x.shape[1:])))

    def options(self, space: Shape) -> tuple[Value, Value, Value]:
        """Returns size, stride and padding for the operation."""
        padding = self.wide(self.padding_of(space), (0, 0))
        return self.wide(self.sizes("size")), self.wide(self.step), padding

    def pool_windows(self, x: Value, space: Shape) -> Value:
        """Returns x (N, C, ...), whose spatial axes have the lengths `space`, pooled."""
        raise NotImplementedError
