"""Normalization of each example by its root mean square."""

import numpy as np

from sparkdl.config import Boolean, Number, dataclass, option
from sparkdl.engine import ops
from sparkdl.errors import ShapeError
from sparkdl.nn.hints import Shape, Shapes, Value, Values
from sparkdl.nn.layers.core.channels import broadcast_channels, channel_axis, channels_of
from sparkdl.nn.layers.core.parameters import TrainableLayer
from sparkdl.nn.layers.core.run import Run


@dataclass(frozen=True, kw_only=True)
class RMSNorm(TrainableLayer):
    """y = gamma x / sqrt(mean(x^2) + epsilon), the mean over features or channels.

    Shapes
    ------
    x, y (batch, C), (batch, T, C), (batch, C, H, W) or (batch, C, D, H, W); gamma (C,)

    References
    ----------
    Zhang and Sennrich, Root mean square layer normalization (2019), eq. 4. The numbers are those of
    Keras (whose epsilon is 1e-6) and, for rows and sequences, PyTorch.
    """

    epsilon: float = option(Number(above=0), "Number added to the mean of squares.", default=1e-5)
    scale: bool = option(Boolean(), "Whether to scale by a gamma.", default=True)

    def out_shape(self, in_shape: Shape) -> Shape:
        if not in_shape:
            raise ShapeError(f"RMSNorm takes at least rows of features, got {in_shape}")
        return in_shape

    def param_shapes(self, in_shape: Shape) -> Shapes:
        return {"gamma": channels_of(in_shape)} if self.scale else {}

    def initial(self, name: str, shape: Shape, rng: np.random.Generator) -> np.ndarray:
        return np.ones(shape)

    def forward(self, params: Values, x: Value, run: Run) -> Value:
        axis = 1 + channel_axis(x.shape[1:])
        mean = ops.mean(ops.square(x), (axis,), keepdims=True)
        y = ops.div(x, ops.sqrt(ops.add(mean, self.epsilon)))
        return ops.mul(y, broadcast_channels(params["gamma"], x)) if self.scale else y
