"""Bases of the convolution layers: filters, groups, windows."""

from typing import ClassVar

from sparkdl.config import Size, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import ShapeError, require
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.masks import fill_padding, window_mask
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.core.weights import ActivatedLayer, WeightedLayer
from sparkdl.nn.layers.windows.window_layer import WindowLayer


@dataclass(frozen=True, kw_only=True)
class Convolution(WindowLayer, ActivatedLayer, abstract=True):
    """Filters on the windows of each example, and an activation.

    Padding steps of a masked sequence are set to 0 before the filters see them. An output step
    exists if its window has an existing step; with stride 1 and "same" or "causal" the mask stays.
    A step that sees only the layer's own padding exists if the step nearest to it does.
    """

    low_precision: ClassVar = True
    ends_in_activation: ClassVar = True

    def convolve(self, x: Value, w: Value, groups: int) -> Value:
        """Applies filters w (O, C / groups, *kernel) to x, both with channels on axis 1."""
        space = x.shape[-self.axes :]
        stride, dilation = (self.wide(self.sizes(name)) for name in ("stride", "dilation"))
        padding = self.wide(self.padding_of(tuple(space)), (0, 0))
        w = ops.reshape(w, (*w.shape[:2], *self.wide(w.shape[2:])))
        return ops.conv(x, w, stride, padding, dilation, groups)

    def finish(self, y: Value, params: Values) -> Value:
        """Adds b, applies the activation and returns the layer's output."""
        y = ops.add_bias(y, params["b"], 1) if self.bias else y
        return self.outward(self.activate(y))

    def prepare_input(self, x: Value, run: Run) -> Value:
        """Returns the input as the filters see it, with padding zeroed."""
        return self.inward(fill_padding(x, run.mask) if self.axes == 1 else x)

    def out_mask(self, mask: Value, in_shape: Shape) -> Value:
        if self.axes != 1 or mask is None:
            return None
        if self.stride == 1 and self.padding in ("same", "causal"):
            return mask
        padding = self.padding_of((mask.shape[1],))[0]
        return window_mask(mask, self.kernel_size, self.stride, padding, self.dilation)


@dataclass(frozen=True, kw_only=True)
class Filters(WeightedLayer, abstract=True):
    """A layer with one output channel per filter."""

    filters: int = option(Size(minimum=1), "Number of output channels.")

    def outputs(self) -> int:
        return self.filters


@dataclass(frozen=True, kw_only=True)
class GroupedFilters(Filters, abstract=True):
    """Filters in groups that see a part of the channels."""

    groups: int = option(
        Size(minimum=1),
        "Number of groups: the filters of a group see only the channels of that group.",
        default=1,
    )

    def validate(self) -> None:
        super().validate()
        words = f"an integer >= 1 that divides filters ({self.filters})"
        require(self, "groups", self.filters % self.groups == 0, words)

    def split_groups(self, in_shape: Shape) -> int:
        """Returns the channels of an input, if the groups divide them."""
        channels, _ = self.parts(in_shape)  # type: ignore[attr-defined]
        if channels % self.groups:
            kind = type(self).__name__
            raise ShapeError(
                f"{kind} in {self.groups} groups needs channels that fall into them, got {in_shape}"
            )
        return channels
