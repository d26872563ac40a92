"""Pooling to grids of 1, 2, 4 ... bins per side: rows of one length from images of any size."""

from collections.abc import Iterator
from math import ceil, prod
from typing import Any, ClassVar

from sparkdl.config import Choice, Size, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.layers.pooling.avg_pool import AvgPool2D
from sparkdl.nn.layers.pooling.max_pool import MaxPool2D
from sparkdl.nn.layers.windows.spatial_layer import SpatialLayer


@dataclass(frozen=True, kw_only=True)
class SpatialPyramidPool(SpatialLayer):
    """Pools each channel to 2^l x 2^l bins at each level l, and concatenates the levels in a row.

    Shapes
    ------
    x (batch, C, H, W), y (batch, C (4^height - 1) / 3): level by level, channel by channel, bins
    row by row

    References
    ----------
    He et al., Spatial pyramid pooling in deep convolutional networks (2014). Bins and padding are
    those of Caffe's SPP layer, and images that it cannot pool to so many bins are refused.
    """

    axes: ClassVar = 2
    low_precision: ClassVar = True

    height: int = option(Size(minimum=1), "Number of levels.")
    kind: str = option(
        Choice(of=("max", "avg")),
        "Summary of a bin; padding counts in a mean, as in Caffe.",
        default="max",
    )

    def out_shape(self, in_shape: Shape) -> Shape:
        channels, _ = self.parts(in_shape)
        for level, pool in enumerate(self.levels(in_shape)):
            if pool is None or pool.out_shape(in_shape)[1:] != (2**level, 2**level):
                raise ShapeError(
                    f"SpatialPyramidPool cannot divide {in_shape} into {2**level} bins a side"
                )
        return (channels * sum(4**level for level in range(self.height)),)

    def levels(self, in_shape: Shape) -> Iterator[Any]:
        """Yields each level's pooling layer, or None where padding would fill a whole window."""
        for level in range(self.height):
            bins = 2**level
            size = tuple(ceil(n / bins) for n in in_shape[1:])
            over = zip(in_shape[1:], size, strict=True)
            padding = tuple((k * bins - n + 1) // 2 for n, k in over)
            fits = all(p < k for p, k in zip(padding, size, strict=True))
            yield self.pool(size, padding) if fits else None

    def pool(self, size: Shape, padding: Shape) -> Layer:
        options: dict[str, Any] = {"size": size, "padding": padding, "rounding": "ceil"}
        if self.kind == "max":
            return MaxPool2D(**options)
        return AvgPool2D(**options, count_padding=True)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        pooled = [level.forward({}, x, run) for level in self.levels(tuple(x.shape[1:]))]
        return ops.concat([ops.reshape(y, (x.shape[0], prod(y.shape[1:]))) for y in pooled], axis=1)
