"""Normalization of each image to mean 0 and variance 1, without parameters."""

from sparkdl.config import Boolean, Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.nn.hints import Shape, Value, Values
from sparkdl.nn.layers.core.base import Layer
from sparkdl.nn.layers.core.run import Run

TINY = 1e-30  # a smaller variance counts as 0, without a gradient


@dataclass(frozen=True, kw_only=True)
class MVN(Layer):
    """y = (x - mean) / (standard deviation + epsilon), of each channel of each example by itself.

    Shapes
    ------
    x, y (batch, C, H, W)

    References
    ----------
    Caffe MVN.
    """

    normalize_variance: bool = option(
        Boolean(), "Whether to divide x by the standard deviation.", default=True
    )
    across_channels: bool = option(
        Boolean(),
        "Whether the statistics are of all channels of an example together.",
        default=False,
    )
    epsilon: float = option(
        Number(above=0), "Number added to the standard deviation.", default=1e-9
    )

    def out_shape(self, in_shape: Shape) -> Shape:
        return self.images(in_shape)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        axes = (1, 2, 3) if self.across_channels else (2, 3)
        centered = ops.sub(x, ops.mean(x, axes, keepdims=True))
        if not self.normalize_variance:
            return centered
        variance = ops.mean(ops.square(centered), axes, keepdims=True)
        deviation = ops.sqrt(ops.maximum(variance, TINY))
        return ops.div(centered, ops.add(deviation, self.epsilon))
